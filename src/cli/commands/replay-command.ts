/** `haft replay`: answers calls from a recording, and runs nothing. */
import { ToolError, type ErrorInfo } from "../../core/error.ts";
import type { EventListener, SessionEvent, RuntimeEvent } from "../../core/event.ts";
import { toolsetsOfRecording } from "../../engine/replay.ts";
import { createRuntime, type Runtime } from "../../runtime/runtime.ts";
import { recordedToolsets } from "../../testing/recorded-toolset.ts";
import type { CommandBody, CommandContext } from "../command.ts";
import { readConversation } from "../input/read-conversation.ts";
import { stderrPorts } from "../open/open-runtime.ts";
import { ConversationPlayer } from "../conversation-player.ts";
import { readInput } from "../input/read-input.ts";
import { readRecordedEvents } from "../input/read-recorded-events.ts";
import { RecordingComparison } from "./replay/recording-comparison.ts";
import { isJsonArray, isJsonObject } from "../../core/base/json.ts";
import type { ToolResult } from "../../core/result.ts";
import { plural } from "../../core/base/wording.ts";
import { recordedCalls } from "../../engine/recorded-calls.ts";
import type { EventPrinter } from "../print/print-event.ts";
import { safeText } from "../terminal/terminal-text.ts";
import { waitForDrain } from "../terminal/wait-for-drain.ts";

const EXIT_NO_MATCH = 1;

export const replayCommand: CommandBody = {
  details: [
    "The recording is one that haft sessions export wrote; - reads it from standard",
    "input. No configuration is read, and no tool, server or module is touched. One",
    "that was cut short, such as the .part file that haft run --record leaves on a",
    "full disk, is read up to its last whole line.",
    "",
    "With a conversation, as haft run takes it, its calls are answered as they were",
    "recorded. A call that was not recorded is an error that says how the nearest one",
    "differs; with --nearest it is given that one's answer, and the differences.",
    "",
    "Without a conversation the recorded calls themselves are made again, and each",
    "result that is not the recorded one is shown.",
    "",
    "Exits with 1 when a call was not in the recording, or a result differs. With",
    "--json one result per line, or without a conversation one comparison.",
  ],
  args: [1, 2],
  options: ["nearest"],
  examples: [
    "haft replay travel.jsonl",
    "haft replay travel.jsonl conversation.jsonl",
    "haft replay travel.jsonl - --nearest --json < conversation.jsonl",
  ],
  async run(context) {
    const [recording = "", conversation] = context.args;
    checkReplayArguments(context, recording, conversation);
    const events = await readRecordedEvents(context, recording, { mayBeCut: recording.endsWith(".part") });
    return conversation === undefined ? await compareRecording(context, events) : await playConversation(context, events, conversation);
  },
};

function checkReplayArguments({ options }: CommandContext, recording: string, conversation: string | undefined): void {
  if (recording === "-" && conversation === "-")
    throw new ToolError("invalid_argument", "The recording and the conversation cannot both come from standard input.");
  if (options.nearest && conversation === undefined) {
    throw new ToolError("invalid_argument", "--nearest is for the calls of a conversation; those of the recording itself all match.", {
      hint: "For example: haft replay travel.jsonl conversation.jsonl --nearest",
    });
  }
}

/** Makes the recorded calls again, one after the other, and compares the results. @throws the signal's reason, without a conclusion about a part */
async function compareRecording(context: CommandContext, events: readonly SessionEvent[]): Promise<number> {
  const { toolsets, calls, expectedResults } = recordedToolsets(events);
  const check = new RecordingComparison(context, calls.length);
  try {
    await withReplay(context, { toolsets }, async (runtime) => {
      const session = runtime.session();
      for (const [index, call] of calls.entries()) {
        await waitForDrain(context);
        const result = await session.execute(call, { signal: context.signal });
        context.signal.throwIfAborted(); // a cancelled call is not a difference
        const recorded = expectedResults[index];
        if (recorded !== undefined) check.compare({ number: index + 1, call, recorded, result });
      }
    });
  } finally {
    check.clearProgress();
  }
  return check.printConclusion() === 0 ? 0 : EXIT_NO_MATCH;
}

/** Plays a conversation; the recording answers its calls. */
async function playConversation(context: CommandContext, events: readonly SessionEvent[], file: string): Promise<number> {
  const lines = readConversation(await readInput(context, file), file === "-" ? "standard input" : file);
  const played = new ConversationPlayer(context, lines);
  const notes = new MatchCounter(events, context.options.json ? undefined : played.printer);
  const toolsets = toolsetsOfRecording(events, { match: context.options.nearest ? "nearest" : "strict" });
  const onEvent: EventListener = (event) => {
    played.handleEvent(event);
    notes.handleEvent(event);
  };
  await withReplay(context, { toolsets, onEvent }, (runtime) => played.run({ session: runtime.session(), registry: runtime.registry }));
  played.printSummary();
  context.signal.throwIfAborted(); // the conclusion is about the whole conversation
  if (!context.options.json) context.out.print(`\n${notes.formatConclusion(!context.options.nearest)}`);
  return notes.unmatched === 0 ? 0 : EXIT_NO_MATCH;
}

/** Opens a runtime with the recorded tools. Its circuits are off, since recorded failures would open them. */
async function withReplay(
  context: CommandContext,
  options: NonNullable<Parameters<typeof createRuntime>[0]>,
  work: (runtime: Runtime) => Promise<void>,
): Promise<void> {
  const runtime = createRuntime({ circuit: false, ...options, ports: stderrPorts(context) });
  try {
    await runtime.open();
    await work(runtime);
  } finally {
    await runtime.close();
  }
}

/** Finds the calls of a conversation that are not in the recording. */
class MatchCounter {
  readonly #printer: EventPrinter | undefined;
  /** The recorded `not_found` and `ambiguous` results: a call with one of them is in the recording. */
  readonly #recorded: ReadonlySet<string>;
  #calls = 0;
  unmatched = 0;

  constructor(events: readonly SessionEvent[], printer: EventPrinter | undefined) {
    this.#printer = printer;
    this.#recorded = new Set(
      recordedCalls(events).flatMap(({ result }) => (result.error === undefined ? [] : [errorKey(result, result.error)])),
    );
  }

  /** Call with every event of the runtime, after it was printed. */
  handleEvent(event: RuntimeEvent): void {
    if (event.type !== "call-end") return;
    const { result } = event;
    this.#calls++;
    if (result.error !== undefined && NO_MATCH_CODES.has(result.error.code) && !this.#recorded.has(errorKey(result, result.error)))
      this.unmatched++;
    for (const difference of listDifferences(result))
      this.#printer?.printNote(`${this.#printer.labelOf(event.callId)} ${safeText(difference)}`);
  }

  /** Returns the last line. @param isStrict whether only equal inputs were answered */
  formatConclusion(isStrict: boolean): string {
    if (this.unmatched === 0) return "Every call was answered from the recording; no tool was run.";
    const missing = `${this.unmatched} of ${plural(this.#calls, "call")} ${this.unmatched === 1 ? "is" : "are"} not in the recording`;
    return `${missing}; no tool was run.${isStrict ? " With --nearest, calls with other inputs are answered too." : ""}`;
  }
}

/** The error codes of a replay for a call that is not in the recording. */
const NO_MATCH_CODES: ReadonlySet<string> = new Set<ErrorInfo["code"]>(["not_found", "ambiguous"]);

/** Returns a key for comparing error results. Without an attempt the message is left out: it depends on which other tools there are. */
function errorKey({ name, attempts }: ToolResult, { code, message }: ErrorInfo): string {
  return JSON.stringify(attempts === 0 ? [name, code] : [name, code, message]);
}

/** Returns how the call differs from the recorded call whose answer it got. */
function listDifferences({ metadata, origin }: ToolResult): readonly string[] {
  const replay = origin === "replay" ? metadata?.["replay"] : undefined;
  const differences = isJsonObject(replay) ? replay["differences"] : undefined;
  return isJsonArray(differences) ? differences.filter((line) => typeof line === "string") : [];
}
