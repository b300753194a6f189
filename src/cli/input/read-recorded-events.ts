/** Reads a recording for a command: from a file, or from standard input for `-`. */
import { ToolError } from "../../core/error.ts";
import type { SessionEvent } from "../../core/event.ts";
import { RecordingDecoder } from "../../core/recording/decoder.ts";
import { LineSplitter } from "../../core/recording/line-splitter.ts";
import { sha256 } from "../../core/recording/node-sha256.ts";
import { plural } from "../../core/base/wording.ts";
import type { CommandContext } from "../command.ts";
import { Progress } from "../terminal/progress.ts";
import { safeText } from "../terminal/terminal-text.ts";
import { readPieces } from "./read-input.ts";

/** Matches the end of a complete line of a recording. */
const WHOLE_LINE = /,"sum":"[0-9a-f]{64}"\}$/u;

export interface ReadRecordedOptions {
  /** Whether to read a recording that a full disk or a kill cut short, up to its last whole line, with a note on stderr. @default false: refused */
  readonly mayBeCut?: boolean;
}

/** Returns all events of a recording. @throws ToolError `corrupt_record` with file and line, `invalid_argument` for a file that cannot be read */
export async function readRecordedEvents(
  context: CommandContext,
  file: string,
  { mayBeCut = false }: ReadRecordedOptions = {},
): Promise<readonly SessionEvent[]> {
  const progress = new Progress(context.err);
  const events: SessionEvent[] = [];
  const decoder = new RecordingDecoder(sha256);
  const lines = new LineSplitter(decoder);
  let isBegun = false;
  const handleLine = (line: string): void => {
    const event = isBegun ? decoder.next(line) : void decoder.start(line);
    isBegun = true;
    if (event === undefined) return;
    events.push(event);
    progress.show(() => `reading: ${plural(events.length, "event")}`);
  };
  try {
    for await (const piece of readPieces(context, file)) for (const line of lines.push(piece)) handleLine(line);
    const [last] = lines.flush();
    const isTorn = mayBeCut && isBegun && !decoder.isComplete;
    if (last !== undefined && !(isTorn && !WHOLE_LINE.test(last))) handleLine(last);
    if (!isBegun) decoder.start(undefined);
    if (isTorn && !decoder.isComplete) warnAboutCut(context, file, events.length);
    else decoder.finish();
    return events;
  } catch (thrown: unknown) {
    throw withFileName(ToolError.fromUnknown(thrown), file);
  } finally {
    progress.clear();
  }
}

function warnAboutCut({ err }: CommandContext, file: string, read: number): void {
  const note = `haft: ${safeText(displayName(file))} was cut short: its complete part is used, ${plural(read, "event")}`;
  err.print(err.paint("yellow", note));
}

/** Returns the error; for a damaged recording it names the file. */
export function withFileName(error: ToolError, file: string): ToolError {
  if (error.code !== "corrupt_record") return error;
  return new ToolError(error.code, `${displayName(file)}: ${error.message}`, { ...error.toJSON(), cause: error });
}

function displayName(file: string): string {
  return file === "-" ? "standard input" : file;
}
