/** The format of a recording: the limits and the first line that writer and reader share. */

/** The version of the format that this version of Haft writes, and the only one it reads. */
export const RECORDING_VERSION = 1;
/** Maximum length of a line of a recording, in UTF-16 units. */
export const MAX_LINE_CHARS = 32 * 1024 * 1024;
/**
 * Maximum length of a text in one line; longer text is split over several lines. Even if JSON takes six characters for each, a part fits in a line.
 */
export const MAX_PART_CHARS = 4 * 1024 * 1024;

/** Maximum number of characters of an event's new bodies; each body counts as `BODY_OVERHEAD` more than its length. */
export const MAX_PENDING_CHARS = 256 * 1024 * 1024;
export const BODY_OVERHEAD = 200;

/** The first line of a recording: its session, and when it was exported. */
export interface RecordingHeader {
  readonly sessionId: string;
  /** Wall-clock milliseconds since the epoch. */
  readonly exportedAt: number;
}
