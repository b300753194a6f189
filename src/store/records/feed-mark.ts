/** Marks of a feed: a number that only increases, and a seal that identifies the store. */
import { ToolError } from "../../core/error.ts";

export interface FeedMark {
  readonly sequence: number;
  /** Undefined at the beginning of the feed. */
  readonly seal: string | undefined;
}

const MARK = /^(?:0|(?<sequence>[1-9]\d{0,14})-(?<seal>[0-9a-z]{1,16}))$/u;

export function formatMark({ sequence, seal }: FeedMark): string {
  return seal === undefined ? "0" : `${sequence}-${seal}`;
}

/** @throws ToolError `invalid_argument` */
export function parseMark(text: string): FeedMark {
  const found = typeof text === "string" ? MARK.exec(text) : null;
  if (found === null) {
    throw new ToolError("invalid_argument", `${JSON.stringify(text)?.slice(0, 60)} is not a cursor from which events can be read.`, {
      hint: "Pass the cursor that came with an event, unchanged, or 0 for the first event.",
    });
  }
  const { sequence, seal } = found.groups ?? {};
  return { sequence: Number(sequence ?? 0), seal };
}

export function unknownMarkError(text: string): ToolError {
  return new ToolError("gone", `Events cannot be read from the cursor ${text}: it is not known here.`, {
    hint: "Read the sessions from the beginning, then continue from now on.",
  });
}
