/** Cuts lists into pages with cursors. */
import { Buffer } from "node:buffer";

export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor?: string;
}

/**
 * Returns the page after a cursor, or the first page. undefined for an invalid cursor, or one whose entry is gone.
 *
 * A cursor names the last entry that the client has seen, so that entries added or removed elsewhere cause neither repeats nor gaps.
 */
export function pageOf<T>(
  list: readonly T[],
  { cursor, size, key }: { readonly cursor: string | undefined; readonly size: number; readonly key: (item: T) => string },
): Page<T> | undefined {
  let start = 0;
  if (cursor !== undefined) {
    const last = decodeCursor(cursor);
    start = last === undefined ? 0 : list.findIndex((item) => key(item) === last) + 1;
    if (start === 0) return undefined;
  }
  const items = list.slice(start, start + size);
  const last = items.at(-1);
  return last === undefined || start + size >= list.length
    ? { items }
    : { items, nextCursor: Buffer.from(`after ${key(last)}`, "utf8").toString("base64url") };
}

function decodeCursor(cursor: string): string | undefined {
  const text = Buffer.from(cursor, "base64url").toString("utf8");
  return text.startsWith("after ") ? text.slice("after ".length) : undefined;
}
