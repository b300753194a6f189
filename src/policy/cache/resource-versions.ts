/** When each resource was last written, counted in writes: how a result that was read earlier is found to be out of date. */

/** A longer key counts as its ancestor at this depth, as it does for locks: wider than asked, never narrower. */
const MAX_DEPTH = 64;
const DEFAULT_MAX_KEYS = 16_384;

interface Mark {
  /** Of the key itself. */
  self: number;
  /** Of the key or anything inside it. */
  below: number;
}

/**
 * The last writes of resources whose keys are paths, as `isInside` understands them.
 *
 * A read of a key is out of date once the key, something inside it or something around it was written. A write leaves a mark
 * on its key and on every key around it, so both questions are answered along the path of one key. When there are more marks
 * than `maxKeys`, all are dropped, and with them everything that was read before.
 */
export class ResourceVersions {
  readonly #maxKeys: number;
  readonly #marks = new Map<string, Mark>();
  #now = 0;
  /** Reads older than this write may be out of date: it is not known any more. */
  #floor = 0;

  constructor(options: { readonly maxKeys?: number } = {}) {
    this.#maxKeys = options.maxKeys ?? DEFAULT_MAX_KEYS;
  }

  /** How many writes there were; taken before a read, it dates the read. */
  get now(): number {
    return this.#now;
  }

  /** How many keys have a mark. */
  get size(): number {
    return this.#marks.size;
  }

  /** Counts one write of all these keys. */
  write(keys: readonly string[]): void {
    if (keys.length === 0) return;
    const now = ++this.#now;
    for (const key of keys) this.#markPath(key, now);
    if (this.#marks.size <= this.#maxKeys) return;
    this.#marks.clear();
    this.#floor = now;
  }

  /** False once one of these keys was written after `since`; no keys never change. */
  unchangedSince(since: number, keys: readonly string[]): boolean {
    if (since === this.#now || keys.length === 0) return true;
    return since >= this.#floor && keys.every((key) => this.#lastWrite(key) <= since);
  }

  #markPath(key: string, now: number): void {
    const end = lengthOfPath(key);
    for (let slash = key.indexOf("/"); slash >= 0 && slash < end; slash = key.indexOf("/", slash + 1))
      this.#mark(key.slice(0, slash)).below = now;
    const own = this.#mark(key.slice(0, end));
    own.self = now;
    own.below = now;
  }

  #mark(path: string): Mark {
    let mark = this.#marks.get(path);
    if (mark === undefined) this.#marks.set(path, (mark = { self: 0, below: 0 }));
    return mark;
  }

  /** The last write of the key, of anything inside it and of anything around it. */
  #lastWrite(key: string): number {
    const end = lengthOfPath(key);
    let last = this.#marks.get(key.slice(0, end))?.below ?? 0;
    for (let slash = key.indexOf("/"); slash >= 0 && slash < end; slash = key.indexOf("/", slash + 1))
      last = Math.max(last, this.#marks.get(key.slice(0, slash))?.self ?? 0);
    return last;
  }
}

/** Where the path of a key ends: one slash at the end says nothing, and no path is deeper than the limit. */
function lengthOfPath(key: string): number {
  const end = key.endsWith("/") ? key.length - 1 : key.length;
  let depth = 1;
  for (let slash = key.indexOf("/"); slash >= 0 && slash < end; slash = key.indexOf("/", slash + 1))
    if (depth++ === MAX_DEPTH) return slash;
  return end;
}
