/** Records when each resource was last written, counted in writes, to find out whether an earlier read is out of date. */

/** Maximum number of segments of a key. A deeper key counts as its ancestor at this depth, as for locks: that covers more, never less. */
const MAX_DEPTH = 64;
const DEFAULT_MAX_KEYS = 16_384;

interface Mark {
  /** The last write of the key itself. */
  self: number;
  /** The last write of the key or of anything inside it. */
  below: number;
}

/**
 * The last writes of resources whose keys are paths, as `isSameOrInside` understands them.
 *
 * A read of a key is out of date once the key, anything inside it or anything around it was written. A write marks its key and every ancestor
 * of it, so both questions are answered along the path of one key. When there are more than `maxKeys` marks, all are dropped, and every
 * earlier read counts as out of date.
 */
export class ResourceVersions {
  readonly #maxKeys: number;
  readonly #marks = new Map<string, Mark>();
  /** How many writes may go on, although they count as ended: of a key itself, and of the key or anything inside it. */
  readonly #unfinished = new Map<string, Mark>();
  #now = 0;
  /** Reads before this write may be out of date: the marks were dropped. */
  #floor = 0;

  constructor(options: { readonly maxKeys?: number } = {}) {
    this.#maxKeys = options.maxKeys ?? DEFAULT_MAX_KEYS;
  }

  /** The number of writes so far. Taken before a read, it is the version of that read. */
  get now(): number {
    return this.#now;
  }

  /** Number of keys with a mark. */
  get size(): number {
    return this.#marks.size;
  }

  /** Counts one write of all these keys. */
  recordWrite(keys: readonly string[]): void {
    if (keys.length === 0) return;
    const now = ++this.#now;
    for (const key of keys) this.#markPath(key, now);
    if (this.#marks.size <= this.#maxKeys) return;
    this.#marks.clear();
    this.#floor = now;
  }

  /** Notes a write whose end nothing waits for: until the returned function is called, every read of these keys counts as out of date. */
  recordUnfinishedWrite(keys: readonly string[]): () => void {
    for (const key of keys) this.#countUnfinished(key, 1);
    return () => {
      for (const key of keys) this.#countUnfinished(key, -1);
      this.recordWrite(keys);
    };
  }

  /** False if one of these keys was written after `since`, or a write of it is unfinished. Always true for no keys. */
  isUnchangedSince(since: number, keys: readonly string[]): boolean {
    if (this.#unfinished.size > 0 && keys.some((key) => lastOf(this.#unfinished, key) > 0)) return false;
    if (since === this.#now || keys.length === 0) return true;
    return since >= this.#floor && keys.every((key) => lastOf(this.#marks, key) <= since);
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

  #countUnfinished(key: string, change: 1 | -1): void {
    const own = key.slice(0, lengthOfPath(key));
    for (const path of pathsOf(key)) {
      const { self, below } = this.#unfinished.get(path) ?? { self: 0, below: 0 };
      const counts = { self: self + (path === own ? change : 0), below: below + change };
      if (counts.below === 0) this.#unfinished.delete(path);
      else this.#unfinished.set(path, counts);
    }
  }
}

/** Returns the largest mark of the key, of anything inside it or of anything around it. */
function lastOf(marks: ReadonlyMap<string, Mark>, key: string): number {
  const end = lengthOfPath(key);
  let last = marks.get(key.slice(0, end))?.below ?? 0;
  for (let slash = key.indexOf("/"); slash >= 0 && slash < end; slash = key.indexOf("/", slash + 1))
    last = Math.max(last, marks.get(key.slice(0, slash))?.self ?? 0);
  return last;
}

/** The key and every key around it, the outermost first. */
function pathsOf(key: string): readonly string[] {
  const end = lengthOfPath(key);
  const paths: string[] = [];
  for (let slash = key.indexOf("/"); slash >= 0 && slash < end; slash = key.indexOf("/", slash + 1)) paths.push(key.slice(0, slash));
  return [...paths, key.slice(0, end)];
}

/** Returns the length of the part of a key that counts: without a trailing slash, and no deeper than the limit. */
function lengthOfPath(key: string): number {
  const end = key.endsWith("/") ? key.length - 1 : key.length;
  let depth = 1;
  for (let slash = key.indexOf("/"); slash >= 0 && slash < end; slash = key.indexOf("/", slash + 1))
    if (depth++ === MAX_DEPTH) return slash;
  return end;
}
