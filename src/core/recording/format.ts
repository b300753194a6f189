/** The format of a recording: the numbers and the first line that its writer and its reader agree on. */

/** The version of the format that this version of Haft writes, and the only one it reads. */
export const RECORDING_VERSION = 1;
/** Longest line of a recording, in UTF-16 units. */
export const MAX_LINE_CHARS = 32 * 1024 * 1024;
/** Longer text is split over several lines; written as JSON, where a character may take six, a part still fits its line. */
export const MAX_PART_CHARS = 4 * 1024 * 1024;

/** Most characters of the bodies that one event is the first to need; each counts for `BODY_OVERHEAD` more than it has. */
export const MAX_WAITING_CHARS = 256 * 1024 * 1024;
export const BODY_OVERHEAD = 200;

/** The session of the recording. */
export interface RecordingHeader {
  readonly sessionId: string;
  /** Wall-clock milliseconds since the epoch. */
  readonly exportedAt: number;
}
