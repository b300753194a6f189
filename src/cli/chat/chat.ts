/** A chat with a model over one session: what is said goes to its loop, and what happens is shown. */
import { createLoop, type Loop } from "../../compose/loop.ts";
import type { LoopEvent } from "../../compose/loop-event.ts";
import type { LoopResult } from "../../compose/loop-result.ts";
import { configuredLoop } from "../../config/build-model.ts";
import type { LoadedConfig } from "../../config/load-config.ts";
import type { ApprovalAnswer, Approver } from "../../core/ask.ts";
import { ToolError } from "../../core/error.ts";
import type { RuntimeEvent } from "../../core/event.ts";
import { plural } from "../../core/base/wording.ts";
import type { ModelTotals } from "../../model/usage-meter.ts";
import type { RuntimeSession } from "../../runtime/runtime-session.ts";
import type { CommandContext } from "../command.ts";
import { shellWord } from "../open-store.ts";
import type { EventPrinter } from "../print-event.ts";
import { safeJson, safeText } from "../terminal-text.ts";
import type { ChosenModel } from "./chosen-model.ts";
import { ChatPrinter } from "./chat-printer.ts";
import { buildPrompt } from "../../compose/prompt/build-prompt.ts";
import type { RegisteredTool } from "../../registry/registered-tool.ts";
import type { Registry } from "../../registry/registry.ts";
import { MANUAL_TOOLSET } from "../../call/manual-reading.ts";
import { infoToolset } from "../../toolsets/info.ts";
import { providerName } from "../../wire/provider-name.ts";

export interface ChatOptions {
  readonly context: CommandContext;
  readonly chosen: ChosenModel;
  readonly config: LoadedConfig;
  readonly session: RuntimeSession;
  readonly events: EventPrinter;
  /** Called with the events of a simulation when a round is over: they are not sent while it runs. */
  readonly notice: (event: RuntimeEvent) => void;
  /** The session is in a store, where a later command finds it. */
  readonly isKept: boolean;
  /** Takes a Ctrl-C for the end of what the model does, and not of the program. */
  readonly onInterrupt?: CommandContext["onInterrupt"];
}

/** For a person at the prompt. */
const REMEDIES: { readonly [Reason in LoopResult["reason"]]?: string } = {
  "emergency-stop": "/clear lets things run again.",
  "max-rounds": "/go lets it go on.",
  budget: "/go lets it go on.",
  "repeated-calls": "/go lets it go on.",
};

export class Chat {
  readonly session: RuntimeSession;
  readonly #context: CommandContext;
  readonly #chosen: ChosenModel;
  readonly #loop: Loop;
  readonly #printer: ChatPrinter;
  readonly #notice: (event: RuntimeEvent) => void;
  readonly #isKept: boolean;
  readonly #onInterrupt: CommandContext["onInterrupt"];
  /** What happened at the prompt: told when the next message begins. */
  readonly #late: RuntimeEvent[] = [];
  /** How much of the session's log has been told, of a simulation. */
  #seen = 0;

  constructor({ context, chosen, config: { config }, session, events, notice, isKept, onInterrupt }: ChatOptions) {
    const { registry } = session;
    addManual(registry);
    const system = chatPrompt(registry, context.options.system ?? config.loop.system);
    this.session = session;
    this.#context = context;
    this.#chosen = chosen;
    this.#notice = notice;
    this.#isKept = isKept;
    this.#onInterrupt = onInterrupt;
    this.#printer = new ChatPrinter(context.out, events);
    this.#loop = createLoop({
      model: chosen.model,
      session,
      ...configuredLoop(chosen.config, config.loop),
      ...(system() === "" ? {} : { system }),
      onEvent: (event) => this.#hear(event),
    });
  }

  /** Call with every event of the runtime while the chat goes on. */
  notice(event: RuntimeEvent): void {
    if (this.#context.options.json) return;
    // A person who can stop a message is at the prompt between two of them, and writes there.
    if (this.#onInterrupt === undefined || this.#loop.running) this.#printer.notice(event);
    else this.#late.push(event);
  }

  /** What the model has been asked so far. */
  get spent(): string {
    return this.#chosen.meter.toString();
  }

  /** Why nothing runs any more; undefined while it does. */
  get stopped(): string | undefined {
    return this.#loop.emergencyStop?.why;
  }

  /** Lets things run again after an emergency stop. */
  clear(): void {
    this.#loop.emergencyStop?.clear();
  }

  /** Says something to the model and plays what comes of it. A Ctrl-C meanwhile ends this, and not the program. */
  say(text: string | undefined): Promise<LoopResult> {
    return this.#run((signal) => this.#loop.run(text, { signal }));
  }

  /** Asks a person about the calls that wait for a yes since an earlier run, and goes on. Undefined when there are none. */
  async settle(approve: Approver): Promise<LoopResult | undefined> {
    const pending = this.#loop.pending();
    if (pending.length === 0) return undefined;
    const { signal } = this.#context;
    const decisions = new Map<string, ApprovalAnswer>();
    for (const { callId, name, input, digest, reason } of pending) {
      if (decisions.has(digest)) continue; // the answer holds for every call that is the same
      const description = this.session.registry.get(name)?.tool.description ?? "";
      const request = { callId, sessionId: this.session.id, toolName: name, description, input, digest, reason, simulated: false, signal };
      decisions.set(digest, await approve(request));
    }
    return this.#run((runSignal) => this.#loop.resume({ decisions: Object.fromEntries(decisions) }, { signal: runSignal }));
  }

  async #run(play: (signal: AbortSignal) => Promise<LoopResult>): Promise<LoopResult> {
    const { signal } = this.#context;
    const own = new AbortController();
    const forget = this.#onInterrupt?.(() => own.abort(new ToolError("cancelled", "Stopped by Ctrl-C.")));
    for (const event of this.#late.splice(0)) this.#printer.notice(event);
    this.#seen = this.session.ownLog.length;
    const before = this.#chosen.meter.total;
    try {
      const result = await play(AbortSignal.any([signal, own.signal]));
      this.#tell(result, spentSince(before, this.#chosen.meter.total, this.#chosen.config.currency ?? "USD"));
      return result;
    } finally {
      forget?.();
    }
  }

  #hear(event: LoopEvent): void {
    if (event.type === "round-end" && this.session.simulated) this.#noticeSimulated();
    if (!this.#context.options.json) this.#printer.hear(event);
  }

  /** Listeners are not called for the calls of a simulation while they run. */
  #noticeSimulated(): void {
    const events = this.session.ownLog.slice(this.#seen);
    this.#seen += events.length;
    for (const event of events) this.#notice(event);
  }

  #tell(result: LoopResult, spent: string): void {
    if (this.#context.options.json) this.#context.out.write(`${safeJson(result)}\n`);
    else this.#printer.end(result, { spent, remedy: this.#remedy(result) });
  }

  /** What a person can do about a run that was stopped. */
  #remedy({ reason }: LoopResult): string | undefined {
    if (reason !== "approval") return this.#onInterrupt === undefined ? undefined : REMEDIES[reason];
    const { options } = this.#context;
    const store = options.store === undefined ? "" : ` --store ${shellWord(options.store)}`;
    return this.#isKept
      ? `At a terminal this asks you and goes on: haft chat --session ${shellWord(this.session.id)}${store}`
      : "Approval needs a terminal. With --store the calls wait for one; --yes allows everything.";
  }
}

function spentSince(before: ModelTotals, after: ModelTotals, currency: string): string {
  if (after.inputTokens + after.outputTokens === before.inputTokens + before.outputTokens) return "";
  const tokens = `${plural(after.inputTokens - before.inputTokens, "token")} in, ${after.outputTokens - before.outputTokens} out`;
  return after.cost === undefined ? tokens : `${tokens}, ${(after.cost - (before.cost ?? 0)).toFixed(4)} ${safeText(currency)}`;
}

/** Adds the tool `info` where any tool has more to read than its description, unless the configuration has a toolset of that name. */
function addManual(registry: Registry): void {
  const tools = registry.list();
  const hasOwn = tools.some(({ toolset }) => toolset.name === MANUAL_TOOLSET);
  if (!hasOwn && tools.some(({ tool }) => (tool.documentation ?? "") !== "" || tool.requiresReading === true))
    registry.addToolset(infoToolset());
}

/**
 * What stands before the conversation: the introduction and, where tools have hints or are to be read about first, what the tools say of
 * themselves. Worked out again only when the tools have changed.
 */
function chatPrompt(registry: Registry, introduction: string | undefined): () => string {
  let made = { version: -1, text: "" };
  return () => {
    const { version } = registry;
    if (made.version !== version) made = { version, text: textFor(registry, introduction) };
    return made.text;
  };
}

function textFor(registry: Registry, introduction = ""): string {
  if (!registry.list().some(hasSomethingToSay)) return introduction;
  return buildPrompt(registry, { introduction, toolName: (name) => providerName(name) });
}

function hasSomethingToSay({ tool, toolset }: RegisteredTool): boolean {
  return tool.promptContribution !== undefined || toolset.promptContribution !== undefined || tool.requiresReading === true;
}
