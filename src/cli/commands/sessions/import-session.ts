/** `haft sessions import`: imports a recording as a session that can be continued. */
import { ToolError } from "../../../core/error.ts";
import { RecordingDecoder } from "../../../core/recording/decoder.ts";
import { LineSplitter } from "../../../core/recording/line-splitter.ts";
import { sha256 } from "../../../core/recording/node-sha256.ts";
import { plural } from "../../../core/base/wording.ts";
import { importRecording, type ImportedRecording } from "../../../runtime/import-recording.ts";
import type { Command, CommandContext } from "../../command.ts";
import { withStore } from "../../open/open-store.ts";
import { Progress } from "../../terminal/progress.ts";
import { readPieces } from "../../input/read-input.ts";
import { withFileName } from "../../input/read-recorded-events.ts";
import { safeJson, safeName } from "../../terminal/terminal-text.ts";

export const importSession: Command = {
  name: "sessions import",
  usage: "<file | ->",
  summary: "Import a recording into the store as a session.",
  details: [
    "The recording is one that haft sessions export wrote. All of it is imported, or",
    "nothing: one that is damaged, cut short or of another version is refused, with",
    "the line. Doing it again changes nothing.",
  ],
  args: [1, 1],
  options: ["store", "config", "id"],
  examples: [
    "haft sessions import travel.jsonl",
    "haft sessions import - --id travel-2 < travel.jsonl",
    "haft sessions import travel.jsonl --store copy.db",
  ],
  async run(context) {
    const [file = ""] = context.args;
    const source = new CheckedSource(readWithProgress(context, file));
    const done = await importFrom(context, source, file);
    const name = safeName(done.sessionId);
    const text = done.isNew
      ? `session ${name}: ${plural(done.events, "event")}`
      : `session ${name} is there already, with the same ${plural(done.events, "event")}`;
    context.out.write(`${context.options.json ? safeJson(done) : text}\n`);
    return 0;
  },
};

async function importFrom(context: CommandContext, source: CheckedSource, file: string): Promise<ImportedRecording> {
  const { id } = context.options;
  const beforeCreate = (): Promise<void> => source.checkStart().catch((thrown: unknown) => rethrowWithFile(thrown, file));
  try {
    return await withStore(context, { readOnly: false, create: true, beforeCreate }, (store) =>
      importRecording(store, source, id === undefined ? {} : { id }).catch((thrown: unknown) => rethrowWithFile(thrown, file)),
    );
  } finally {
    await source.close();
  }
}

async function* readWithProgress(context: CommandContext, file: string): AsyncGenerator<string, void, undefined> {
  const progress = new Progress(context.err);
  let chars = 0;
  try {
    for await (const piece of readPieces(context, file)) {
      chars += piece.length;
      progress.show(() => `importing: ${(chars / 1_000_000).toFixed(1)} MB`);
      yield piece;
    }
  } finally {
    progress.clear();
  }
}

/** The text of a recording, whose first line can be checked before the rest is read. */
class CheckedSource implements AsyncIterable<string> {
  readonly #pieces: AsyncGenerator<string, void, undefined>;
  /** The pieces that were read for the check. */
  readonly #first: string[] = [];

  constructor(pieces: AsyncGenerator<string, void, undefined>) {
    this.#pieces = pieces;
  }

  /** Reads the first line. @throws ToolError `corrupt_record` if it does not begin a recording, as a rejection; as reading does */
  async checkStart(): Promise<void> {
    const decoder = new RecordingDecoder(sha256);
    const lines = new LineSplitter(decoder);
    let line: string | undefined;
    while (line === undefined) {
      const next = await this.#pieces.next();
      if (next.done === true) break;
      this.#first.push(next.value);
      [line] = lines.push(next.value);
    }
    decoder.start(line ?? lines.flush().next().value ?? undefined);
  }

  /** Closes the file, also if it was not read to its end. */
  async close(): Promise<void> {
    await this.#pieces.return();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string, void, undefined> {
    yield* this.#first.splice(0);
    yield* this.#pieces;
  }
}

/** Rethrows an error with its file, or with a hint. @throws ToolError in any case */
function rethrowWithFile(thrown: unknown, file: string): never {
  const error = ToolError.fromUnknown(thrown);
  if (error.code !== "duplicate") throw withFileName(error, file);
  throw new ToolError(error.code, error.message, { hint: "Import it under another id with --id.", cause: error });
}
