/** `haft sessions export`: writes a session to a file. */
import { ToolError } from "../../../core/error.ts";
import type { SessionEvent } from "../../../core/event.ts";
import { writeRecording } from "../../../core/recording/recording.ts";
import type { Store } from "../../../core/store/store.ts";
import { storedEvents } from "../../../session/read-events.ts";
import { CONVERSATION_EVENTS, buildConversation } from "../../../runtime/session-messages.ts";
import { systemPorts } from "../../../core/system/system-ports.ts";
import { plural } from "../../../core/base/wording.ts";
import { toAnthropicMessages } from "../../../wire/anthropic-conversation.ts";
import { toGeminiContents } from "../../../wire/gemini-conversation.ts";
import { toOpenAiMessages } from "../../../wire/openai-conversation.ts";
import type { Command, CommandContext } from "../../command.ts";
import { parseChoice } from "../../command-line.ts";
import { waitForDrain } from "../../terminal/wait-for-drain.ts";
import { warn } from "../../open/open-runtime.ts";
import { withSession, withStore } from "../../open/open-store.ts";
import { Progress, withProgress } from "../../terminal/progress.ts";
import { checkOutputPaths } from "../../input/check-output-paths.ts";
import { jsonPieces } from "../../print/json-pieces.ts";
import { safeJson, safeJsonText, safeName, safeText } from "../../terminal/terminal-text.ts";
import { writeFileAtomically } from "../../input/write-file.ts";

const FORMATS = ["recording", "openai", "anthropic", "gemini"] as const;
type Format = (typeof FORMATS)[number];

export const exportSession: Command = {
  name: "sessions export",
  usage: "<id> [<file> | -]",
  summary: "Write a session to a file, or to standard output.",
  details: [
    "A recording, unless --as says otherwise, is JSON Lines with a checksum on every",
    "line; haft sessions import and haft replay read it. As openai, anthropic or",
    "gemini it is the messages of a request to that provider, as one JSON object.",
    "",
    "An existing file is only replaced with --force. It is written under another",
    "name and renamed when it is complete. Of a damaged session everything before",
    "the damage is written, then the error is printed, and the exit code is 3.",
  ],
  args: [1, 2],
  options: ["store", "config", "as", "force"],
  examples: [
    "haft sessions export travel travel.jsonl",
    "haft sessions export travel --as openai | jq .messages",
    "haft sessions export travel - | gzip > travel.jsonl.gz",
  ],
  async run(context) {
    const [id = "", file = "-"] = context.args;
    const format = parseChoice("as", context.options.as ?? "recording", FORMATS);
    await checkOutputPaths(context, { paths: [file], named: "<file> is" });
    await withStore(context, { readOnly: true }, (store) => withSession(store, id, () => exportTo(context, store, { id, file, format })));
    return 0;
  },
};

interface Export {
  readonly id: string;
  readonly file: string;
  readonly format: Format;
}

async function exportTo(context: CommandContext, store: Store, { id, file, format }: Export): Promise<void> {
  await store.read(id, { limit: 1 }); // fails before a file is made if the session does not exist
  const progress = new Progress(context.err);
  const source = new UndamagedEvents(withProgress(storedEvents(store, id), progress, (count) => `exporting: ${plural(count, "event")}`));
  const header = { sessionId: id, exportedAt: systemPorts.clock.wallTime() };
  const text = format === "recording" ? writeRecording(source, header) : formatMessages(source, format, context.signal);
  try {
    if (file === "-") await writeToStdout(context, text);
    else await writeFileAtomically(file, text, { force: context.options.force, allowsStdout: true, signal: context.signal });
  } finally {
    progress.clear();
  }
  if (file !== "-") printExported(context, source, { id, file });
  if (source.unended > 0 && format === "recording") warn(context, unendedText(source.unended));
  if (source.damage !== undefined) throw source.damage;
}

function printExported({ options, out }: CommandContext, { count }: UndamagedEvents, { id, file }: Pick<Export, "id" | "file">): void {
  const text = `${safeText(file)}: ${plural(count, "event")} of session ${safeName(id)}`;
  out.write(`${options.json ? safeJson({ file, sessionId: id, events: count }) : text}\n`);
}

/** Returns a warning: a reader of the recording cannot know whether those calls had an effect. */
function unendedText(count: number): string {
  const calls = count === 1 ? "1 call of it has no result and may have run" : `${count} calls of it have no result and may have run`;
  return `${calls}: where it is imported, ${count === 1 ? "it ends" : "they end"} as outcome_unknown.`;
}

/** Yields the events before any damage, which is reported after all of them are written. */
class UndamagedEvents implements AsyncIterable<SessionEvent> {
  readonly #events: AsyncIterable<SessionEvent>;
  readonly #open = new Set<string>();
  count = 0;
  damage: ToolError | undefined;

  constructor(events: AsyncIterable<SessionEvent>) {
    this.#events = events;
  }

  /** Number of its calls that have no result. */
  get unended(): number {
    return this.#open.size;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<SessionEvent, void, undefined> {
    try {
      for await (const event of this.#events) {
        this.count++;
        if (event.type === "call-start") this.#open.add(event.callId);
        else if (event.type === "call-end") this.#open.delete(event.callId);
        yield event;
      }
    } catch (thrown: unknown) {
      const error = ToolError.fromUnknown(thrown);
      if (error.code !== "corrupt_record") throw thrown;
      this.damage = error;
    }
  }
}

/** Yields one JSON object in a provider's format, in pieces. Its events are collected in memory. @throws the signal's reason */
async function* formatMessages(
  source: AsyncIterable<SessionEvent>,
  format: Exclude<Format, "recording">,
  signal: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  const events: SessionEvent[] = [];
  for await (const event of source) {
    signal.throwIfAborted();
    if (CONVERSATION_EVENTS.has(event.type) && (event.type !== "job-output" || event.asks === true)) events.push(event);
  }
  const { toolNames: _toolNames, ...body } = PROVIDERS[format](buildConversation(events));
  yield* jsonPieces(body);
  yield "\n";
}

const PROVIDERS = {
  openai: toOpenAiMessages,
  anthropic: toAnthropicMessages,
  gemini: (messages) => toGeminiContents(messages),
} as const satisfies Record<Exclude<Format, "recording">, (messages: ReturnType<typeof buildConversation>) => object>;

/** Writes to standard output: unchanged to a pipe, escaped on a terminal. */
async function writeToStdout(context: CommandContext, text: AsyncIterable<string>): Promise<void> {
  const { out, signal } = context;
  for await (const piece of text) {
    signal.throwIfAborted();
    await waitForDrain(context);
    out.write(out.isTerminal ? safeJsonText(piece) : piece);
  }
}
