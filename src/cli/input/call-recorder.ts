/** Records the calls of a run in a file, so that they can be replayed. */
import { ToolError } from "../../core/error.ts";
import type { SessionEvent } from "../../core/event.ts";
import { writeRecording } from "../../core/recording/recording.ts";
import { systemPorts } from "../../core/system/system-ports.ts";
import { plural } from "../../core/base/wording.ts";
import type { CommandContext } from "../command.ts";
import { errorLines } from "../print/print-result.ts";
import { checkOutputPaths, type InputFile } from "./check-output-paths.ts";
import { safeText } from "../terminal/terminal-text.ts";
import { writeFileAtomically } from "./write-file.ts";

/** How long writing may take after the program was asked to stop, in milliseconds. */
const MAX_WRITE_MS = 10_000;

interface RecorderOptions {
  /** Whether to replace an existing file. */
  readonly force: boolean;
  /** Called once if recording fails, with the reason; the run continues, and later calls are not recorded. */
  readonly onFailure: (error: ToolError) => void;
}

/** Writes during the run, so that a long run does not fill memory. The file gets its name when it is complete. */
export class CallRecorder {
  readonly #path: string;
  readonly #events = new RecordedEvents();
  readonly #stop = new AbortController();
  /** Resolves when the file is complete; rejects as `writeFileAtomically` does. */
  readonly #written: Promise<void>;
  #calls = 0;
  #isEnding = false;

  private constructor(path: string, { force, onOpen, onFailure }: RecorderOptions & { readonly onOpen: () => void }) {
    this.#path = path;
    this.#written = writeFileAtomically(path, toRecordingText(this.#events, onOpen), { force, keepPart: true, signal: this.#stop.signal });
    this.#written.catch((thrown: unknown) => {
      if (!this.#isEnding) onFailure(ToolError.fromUnknown(thrown)); // `save` rejects with it as well
    });
  }

  /** Opens the file before anything runs. @throws ToolError `invalid_argument` for a file that exists already or cannot be written */
  static async open(path: string, options: RecorderOptions): Promise<CallRecorder> {
    if (path === "-")
      throw new ToolError("invalid_argument", "--record writes a file; standard output is for the answers.", {
        hint: "For example: --record travel.jsonl",
      });
    const opened = Promise.withResolvers<void>();
    let isBegun = false;
    const onFailure = (error: ToolError): void => {
      if (isBegun) options.onFailure(error);
    };
    const recorder = new CallRecorder(path, { force: options.force, onFailure, onOpen: opened.resolve });
    await Promise.race([opened.promise, recorder.#written]);
    isBegun = true;
    return recorder;
  }

  readonly add = (events: readonly SessionEvent[]): void => {
    this.#calls++;
    this.#events.push(events);
  };

  /** Completes the file, even while the program is being stopped. Resolves to a line about it. */
  async save(): Promise<string> {
    this.#isEnding = true;
    this.#events.end();
    const stop = systemPorts.clock.timer(() => this.#stop.abort(tooSlowError(this.#path)), MAX_WRITE_MS);
    try {
      await this.#written;
    } finally {
      stop();
    }
    return `recorded ${plural(this.#calls, "call")} in ${safeText(this.#path)}`;
  }

  /** Completes the file of a run that failed, or leaves no file if nothing was recorded. Never rejects. */
  async saveIfRecorded(context: CommandContext): Promise<void> {
    try {
      if (this.#calls === 0) await this.#discard();
      else printLine(context, await this.save());
    } catch (thrown: unknown) {
      context.err.print(errorLines(ToolError.fromUnknown(thrown).toJSON(), context.err));
    }
  }

  async #discard(): Promise<void> {
    this.#isEnding = true;
    this.#stop.abort();
    this.#events.end();
    await this.#written.catch(() => {});
  }
}

/** Recorded events that are not written yet. */
class RecordedEvents {
  #events: SessionEvent[] = [];
  #isEnded = false;
  #wake = Promise.withResolvers<void>();

  push(events: readonly SessionEvent[]): void {
    if (this.#isEnded) return;
    for (const event of events) this.#events.push(event);
    this.#wake.resolve();
  }

  end(): void {
    this.#isEnded = true;
    this.#wake.resolve();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<SessionEvent, void, undefined> {
    try {
      for (;;) {
        const events = this.#events;
        this.#events = [];
        yield* events;
        if (this.#events.length > 0) continue;
        if (this.#isEnded) return;
        this.#wake = Promise.withResolvers();
        await this.#wake.promise;
      }
    } finally {
      this.#isEnded = true; // no reader is left
    }
  }
}

/** Yields the text of the recording. Calls `onOpen` once the file is open. The header is written when the session of the first call is known. */
async function* toRecordingText(recordedEvents: RecordedEvents, onOpen: () => void): AsyncGenerator<string, void, undefined> {
  onOpen();
  const events = recordedEvents[Symbol.asyncIterator]();
  const first = await events.next();
  const header = { sessionId: first.value?.sessionId ?? "none", exportedAt: systemPorts.clock.wallTime() };
  yield* writeRecording(first.done === true ? [] : prependEvent(first.value, events), header);
}

async function* prependEvent(first: SessionEvent, rest: AsyncIterable<SessionEvent>): AsyncGenerator<SessionEvent, void, undefined> {
  yield first;
  yield* rest;
}

function tooSlowError(path: string): ToolError {
  return new ToolError("store_failed", `Cannot write ${path}: it takes longer than ${MAX_WRITE_MS / 1_000} s.`);
}

function printLine({ err }: CommandContext, line: string): void {
  err.print(line);
}

/** Does the work and records its live calls, and completes the file however the work ends. */
export async function withCallRecorder<T>(
  context: CommandContext,
  work: (recorder: CallRecorder | undefined) => Promise<T>,
  inputs: readonly InputFile[] = [],
): Promise<T> {
  const { record, force } = context.options;
  if (record === undefined) return await work(undefined);
  if (record !== "-") await checkOutputPaths(context, { paths: [record], named: "--record names", inputs });
  const onFailure = ({ message }: ToolError): void => printLine(context, `haft: later calls are not recorded: ${safeText(message)}`);
  const recorder = await CallRecorder.open(record, { force, onFailure });
  let value: T;
  try {
    value = await work(recorder);
  } catch (thrown: unknown) {
    await recorder.saveIfRecorded(context);
    throw thrown;
  }
  printLine(context, await recorder.save());
  return value;
}
