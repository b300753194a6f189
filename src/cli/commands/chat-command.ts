/** `haft chat`: a person chats with a model that has the tools. */
import type { UsageMeter } from "../../model/usage-meter.ts";
import type { Approver } from "../../core/approvals/ask.ts";
import type { Store } from "../../core/store/store.ts";
import { plural } from "../../core/base/wording.ts";
import { openStoredSession } from "../open/open-session.ts";
import { hasOpenQuestion } from "../terminal/question-queue.ts";
import { createPersonApprover } from "../terminal/ask-person.ts";
import { printBlockedNote } from "../open/blocked-tools.ts";
import type { CommandBody, CommandContext } from "../command.ts";
import { withRuntime, type OpenRuntime } from "../open/open-runtime.ts";
import { findStore } from "../open/open-store.ts";
import { waitForDrain } from "../terminal/wait-for-drain.ts";
import { EventPrinter } from "../print/print-event.ts";
import { printMessage } from "../print/print-message.ts";
import { chooseModel, type ChosenModel } from "./chat/choose-model.ts";
import { SLASH_HELP, runSlashCommand } from "./chat/slash-commands.ts";
import { exitCodeForResult } from "./chat/chat-exit.ts";
import { Chat } from "./chat/chat.ts";
import { safeText } from "../terminal/terminal-text.ts";
import { setTimeout as pause } from "node:timers/promises";
import { StringDecoder } from "node:string_decoder";
import { ToolError } from "../../core/error.ts";
import type { RuntimeEvent } from "../../core/event.ts";
import { rejectOnAbort } from "../../core/base/reject-on-abort.ts";

export const chatCommand: CommandBody = {
  details: [
    "The model is that of --model, else that of the configuration: a provider and a",
    "model, such as anthropic/claude-sonnet-5 or ollama/qwen3. Its key is looked up",
    "in the variable that the provider names, such as ANTHROPIC_API_KEY. With",
    "--model no configuration is needed: the model then has no tools.",
    "",
    "The model's text is shown as it arrives. Reads start while it still writes its",
    "message, everything else when the message is complete. Calls that must be",
    "approved are shown and asked about: yes, no, or always in this session.",
    "",
    "Ctrl-C stops the model and what it runs; what was done stays, and the chat",
    "continues. At the prompt Ctrl-C and Ctrl-D end it. The model may send calls to",
    "the background: their output and results appear above the prompt, and the model",
    "gets the results. Jobs that run when the chat ends are cancelled; without a",
    "terminal they are waited for. Triggers of the session and of the configuration",
    "wake the model while the chat runs. Lines that begin with a slash are for haft",
    "itself:",
    "",
    ...SLASH_HELP,
    "",
    "Where a store is named, by --store or in the configuration, the chat is kept",
    "there as a session, under the id of --session or a new one, and can be",
    "continued later. When standard input is not a terminal, each line of it is one",
    "message, and the exit code is that of the last one. With --json each outcome is",
    "one line.",
  ],
  args: [0, 0],
  options: ["config", "model", "no-background", "reasoning-effort", "system", "session", "store", "watch", "yes"],
  examples: [
    "haft chat --model anthropic/claude-sonnet-5",
    "haft chat --model ollama/qwen3 --session travel --store haft.db",
    'echo "What do the notes say?" | haft chat --json',
  ],
  async run(context) {
    const events = new EventPrinter(context.out);
    let store: Store | undefined;
    let chat: Chat | undefined;
    let chosen: ChosenModel | undefined;
    const otherMeters: UsageMeter[] = [];
    const approve = createPersonApprover(context);
    const options = {
      mayLackConfig: context.options.model !== undefined, // a chat needs only a model
      onEvent: (event: RuntimeEvent) =>
        chat === undefined ? printInterruptedCall(context, events, event) : chat.handleRuntimeEvent(event),
      approve,
      manual: true,
      // fails before anything is started if a name is wrong or a key is missing
      onConfig: (config: OpenRuntime["config"]) => void (chosen = chooseModel(context, config)),
      model: () => chosen,
      onMeter: (meter: UsageMeter) => void otherMeters.push(meter),
      store: (config: OpenRuntime["config"]) => (store = findStore(context, config)),
    };
    return withRuntime(context, options, async (open) => {
      chosen ??= chooseModel(context, open.config);
      const printer = context.options.json ? undefined : events;
      const session = await openStoredSession(context, { open, store, printer });
      printGreeting(context, { chosen, open, events });
      chat = new Chat({
        context,
        chosen,
        otherMeters,
        config: open.config,
        session,
        runtime: open.runtime,
        isStored: store !== undefined,
        triggers: open.triggers,
        events,
        onSimulatedEvent: (event) => chat?.handleRuntimeEvent(event),
        ...interruptOptions(context),
      });
      printBlockedNote(context, open.runtime.registry);
      return converseUntilExit(context, { chat, open, events }, approve);
    });
  },
};

/** Shows how the interrupted calls of an earlier chat end, before this chat exists. */
function printInterruptedCall({ options }: CommandContext, events: EventPrinter, event: RuntimeEvent): void {
  if (!options.json && "callId" in event) events.print(event);
}

/** Without a terminal, Ctrl-C ends the program. */
function interruptOptions({ ask, onInterrupt }: CommandContext): Pick<CommandContext, "onInterrupt"> {
  return ask === undefined || onInterrupt === undefined ? {} : { onInterrupt };
}

function printGreeting(
  { options, ask }: CommandContext,
  { chosen, open, events }: { readonly chosen: ChosenModel; readonly open: OpenRuntime; readonly events: EventPrinter },
): void {
  if (options.json) return;
  const tools = plural(open.runtime.registry.list().length, "tool");
  events.printAside(`${safeText(chosen.model.name)}, ${tools}${ask === undefined ? "" : ". /help says more; Ctrl-D ends"}`);
}

interface ConversationContext {
  readonly chat: Chat;
  readonly open: OpenRuntime;
  readonly events: EventPrinter;
}

async function converseUntilExit(
  context: CommandContext,
  conversation: ConversationContext,
  approve: Approver | undefined,
): Promise<number> {
  try {
    if (approve !== undefined) await conversation.chat.decidePendingCalls(approve);
    if (context.ask !== undefined && !context.options.json && conversation.chat.isUnanswered)
      conversation.events.printAside("The model has not answered yet: /go lets it continue.");
    return await converse(context, conversation);
  } finally {
    await conversation.chat.close();
  }
}

/** Resolves to the exit code: without a terminal, that of the last message. */
async function converse(context: CommandContext, conversation: ConversationContext): Promise<number> {
  const isTerminal = context.ask !== undefined;
  let exitCode = 0;
  let failure: { readonly thrown: unknown } | undefined;
  for await (const line of readLines(context, "\nyou     ")) {
    const text = line.trim();
    if (text === "/exit" || text === "/quit") break;
    if (text === "") continue;
    if (line.startsWith("/") && text !== "/go") await printSlashAnswer(context, conversation, text);
    else {
      const message = text === "/go" ? undefined : text;
      if (message !== undefined && !isTerminal && !context.options.json)
        printMessage({ screen: context.out, width: conversation.events.width }, { role: "user", content: message });
      if (isTerminal) await sendFromTerminal(context, conversation.chat, { message, onLateFailure: (thrown) => (failure = { thrown }) });
      else {
        const result = await conversation.chat.sendMessage(message);
        exitCode = exitCodeForResult(result);
        if (result.reason === "approval") break; // another message would skip the calls that wait
      }
    }
    await waitForDrain(context);
    context.signal.throwIfAborted();
    if (failure !== undefined) throw failure.thrown;
  }
  if (isTerminal) return exitCode;
  const last = await conversation.chat.finish();
  return last === undefined ? exitCode : exitCodeForResult(last);
}

/** How long a run may hold the prompt, in milliseconds, if it waits for a call or triggers keep the model busy. */
const MAX_PROMPT_WAIT_MS = 2_000;

/** Resolves when the run is over, or after `MAX_PROMPT_WAIT_MS` if it waits for a call or triggers keep it going. */
async function sendFromTerminal(
  { ask }: CommandContext,
  chat: Chat,
  { message, onLateFailure }: { readonly message: string | undefined; readonly onLateFailure: (thrown: unknown) => void },
): Promise<void> {
  const sent = chat.sendMessage(message).then(() => true);
  const ended = new AbortController();
  const { signal } = ended;
  try {
    while (!(await Promise.race([sent, pause(MAX_PROMPT_WAIT_MS, false, { signal }).catch(() => false)]))) {
      if (!chat.mayShowPrompt || (ask !== undefined && hasOpenQuestion(ask))) continue;
      sent.catch(onLateFailure);
      return;
    }
  } finally {
    ended.abort();
  }
}

async function printSlashAnswer(
  { out, err, options }: CommandContext,
  { chat, open: { runtime } }: ConversationContext,
  text: string,
): Promise<void> {
  const screen = options.json ? err : out;
  for (const line of await runSlashCommand(text, { chat, registry: runtime.registry, screen })) screen.print(line);
}

const MAX_LINE_LENGTH = 16 * 1024 * 1024;

/**
 * Yields the lines that a person types, or that another program sends, one at a time.
 *
 * At a terminal each line is asked for with `prompt` when it is needed. Ends with the input, and at Ctrl-D.
 *
 * @throws ToolError the reason of the signal; `too_large` for a line that is too long
 */
async function* readLines(context: CommandContext, prompt: string): AsyncGenerator<string, void, undefined> {
  const { ask, signal } = context;
  if (ask === undefined) return yield* readPipedLines(context);
  for (;;) {
    const line = await ask(prompt, signal, { isPrompt: true });
    if (line === undefined) return;
    const lines = line.split("\n");
    const isCommands = lines.every((each) => each.startsWith("/") || each.trim() === "");
    if (isCommands) yield* lines; // typed ahead, or pasted with blank lines between them
    else yield line;
  }
}

async function* readPipedLines({ stdin, signal }: CommandContext): AsyncGenerator<string, void, undefined> {
  const decoder = new StringDecoder("utf8");
  const pieces = stdin[Symbol.asyncIterator]();
  let rest = "";
  let isStart = true;
  for (;;) {
    const step = await rejectOnAbort(pieces.next(), signal);
    const read = step.done === true ? decoder.end() : decoder.write(Buffer.from(step.value));
    const text = isStart ? read.replace(/^\uFEFF/u, "") : read; // a byte order mark, which Windows shells send
    isStart &&= read === "";
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > MAX_LINE_LENGTH)
      throw new ToolError("too_large", `A line of standard input has more than ${MAX_LINE_LENGTH} characters.`);
    yield* lines;
    if (step.done === true) {
      if (rest !== "") yield rest;
      return;
    }
  }
}
