/** Reads a recording for a command: from a file, or from standard input for `-`. */
import { ToolError } from "../../core/error.ts";
import type { SessionEvent } from "../../core/event.ts";
import { readRecording } from "../../core/recording/recording.ts";
import { plural } from "../../core/base/wording.ts";
import type { CommandContext } from "../command.ts";
import { Progress } from "../terminal/progress.ts";
import { readPieces } from "./read-input.ts";

/** All events of a recording. @throws ToolError `corrupt_record` with file and line, `invalid_argument` for a file that cannot be read */
export async function readRecordedEvents(context: CommandContext, file: string): Promise<readonly SessionEvent[]> {
  const progress = new Progress(context.err);
  const events: SessionEvent[] = [];
  try {
    const recording = await readRecording(readPieces(context, file));
    for await (const event of recording.events) {
      events.push(event);
      progress.tell(() => `reading: ${plural(events.length, "event")}`);
    }
    return events;
  } catch (thrown: unknown) {
    throw inFile(ToolError.fromUnknown(thrown), file);
  } finally {
    progress.clear();
  }
}

/** The same error; of a damaged recording, with the file that it is in. */
export function inFile(error: ToolError, file: string): ToolError {
  if (error.code !== "corrupt_record") return error;
  const place = file === "-" ? "standard input" : file;
  return new ToolError(error.code, `${place}: ${error.message}`, { ...error.toJSON(), cause: error });
}
