/** The clients of other projects, without a network: AI SDK's chat and AG-UI's agent. Each answers what it is asked, and keeps what it could not read. */
import { HttpAgent } from "@ag-ui/client";
import type { BaseEvent, Interrupt } from "@ag-ui/core";
import { AbstractChat, DefaultChatTransport, type ChatState, type ChatStatus, type DynamicToolUIPart, type UIMessage } from "ai";

/** Answers requests: `uiChatHandler` or `agUiHandler`. */
export type Handler = (request: Request) => Promise<Response>;
/** A yes or no to what a person is shown. */
export type Decide = (shown: { readonly toolName: string; readonly input: unknown }) => boolean;

class PlainState implements ChatState<UIMessage> {
  status: ChatStatus = "ready";
  error: Error | undefined;
  messages: UIMessage[] = [];
  pushMessage(message: UIMessage): void {
    this.messages = [...this.messages, message];
  }
  popMessage(): void {
    this.messages = this.messages.slice(0, -1);
  }
  replaceMessage(index: number, message: UIMessage): void {
    this.messages = this.messages.with(index, message);
  }
  snapshot<T>(thing: T): T {
    return structuredClone(thing);
  }
}

export class Chat extends AbstractChat<UIMessage> {
  constructor(handler: Handler, id = "chat") {
    const transport = new DefaultChatTransport({ fetch: (url, init) => handler(new Request(new URL(String(url), "http://chat/"), init)) });
    super({ id, transport, state: new PlainState(), generateId: () => String(++ids) });
  }

  /** The calls of the last message. */
  get calls(): readonly DynamicToolUIPart[] {
    return this.lastMessage?.role === "assistant" ? this.lastMessage.parts.filter((part) => part.type === "dynamic-tool") : [];
  }

  get asked(): readonly DynamicToolUIPart[] {
    return this.calls.filter(({ state }) => state === "approval-requested");
  }

  /** Sends the text, and answers until nothing is asked any more. */
  async say(text: string, decide: Decide): Promise<void> {
    await this.sendMessage({ text });
    while (this.error === undefined && this.asked.length > 0) {
      for (const part of this.asked)
        if (part.approval !== undefined) await this.addToolApprovalResponse({ id: part.approval.id, approved: decide(part) });
      await this.sendMessage();
    }
  }
}
let ids = 0;

export interface AgUiClient {
  readonly agent: HttpAgent;
  readonly events: readonly BaseEvent[];
  say(decide: Decide): Promise<void>;
}

export function agUiClient(handler: Handler, threadId = "thread"): AgUiClient {
  const events: BaseEvent[] = [];
  const agent = new HttpAgent({ url: "http://agent/", threadId, fetch: (url, init) => handler(new Request(url, init)) });
  const run = async (parameters: Parameters<HttpAgent["runAgent"]>[0]): Promise<readonly Interrupt[]> => {
    await agent.runAgent(parameters, { onEvent: ({ event }) => void events.push(event) });
    const { outcome } = events.at(-1) as { readonly outcome?: { readonly interrupts?: readonly Interrupt[] } };
    return outcome?.interrupts ?? [];
  };
  return {
    agent,
    events,
    async say(decide) {
      let open = await run({});
      while (open.length > 0)
        open = await run({
          resume: open.map(({ id, metadata }) => ({
            interruptId: id,
            status: "resolved" as const,
            payload: { approved: decide({ toolName: String(metadata?.["toolName"]), input: metadata?.["input"] }) },
          })),
        });
    },
  };
}
