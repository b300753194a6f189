/** `haft sessions import`: imports a recording as a session that can be continued. */
import { ToolError } from "../../../core/error.ts";
import { plural } from "../../../core/base/wording.ts";
import { importRecording } from "../../../runtime/import-recording.ts";
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
    const { id } = context.options;
    const done = await withStore(context, { readOnly: false, create: true }, (store) =>
      importRecording(store, readWithProgress(context, file), id === undefined ? {} : { id }).catch((thrown: unknown) =>
        rethrowWithFile(thrown, file),
      ),
    );
    const name = safeName(done.sessionId);
    const text = done.isNew
      ? `session ${name}: ${plural(done.events, "event")}`
      : `session ${name} is there already, with the same ${plural(done.events, "event")}`;
    context.out.write(`${context.options.json ? safeJson(done) : text}\n`);
    return 0;
  },
};

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

/** Rethrows an error with its file, or with a hint. @throws ToolError in any case */
function rethrowWithFile(thrown: unknown, file: string): never {
  const error = ToolError.fromUnknown(thrown);
  if (error.code !== "duplicate") throw withFileName(error, file);
  throw new ToolError(error.code, error.message, { hint: "Import it under another id with --id.", cause: error });
}
