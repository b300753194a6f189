/** The entries of a log as rows of a tree: nested calls come below their callers. */
import type { TimelineEntry } from "./timeline-entry.ts";

/** An entry at its place in the tree. */
export interface Row {
  readonly entry: TimelineEntry;
  readonly depth: number;
}

interface Node extends Row {
  /** The index of the root that it is below, or is. */
  readonly root: number;
  children?: Node[];
}

/** Grows with its log: only rows from the first changed root on are placed again. */
export class RowTree {
  readonly #roots: Node[] = [];
  readonly #calls = new Map<string, Node>();
  readonly #rows: Row[] = [];
  /** The index of the row of each placed root. */
  readonly #starts: number[] = [];
  /** Number of roots that are placed with everything below them. */
  #placedRoots = 0;

  /** Adds an entry. A call whose parent was not added before it becomes a root: the parent is missing, or is the call itself. */
  add(entry: TimelineEntry): void {
    const parent = entry.kind === "call" && entry.parentId !== undefined ? this.#calls.get(entry.parentId) : undefined;
    const node: Node = { entry, depth: parent === undefined ? 0 : parent.depth + 1, root: parent?.root ?? this.#roots.length };
    if (parent === undefined) this.#roots.push(node);
    else {
      (parent.children ??= []).push(node);
      this.#placedRoots = Math.min(this.#placedRoots, node.root);
    }
    if (entry.kind === "call") this.#calls.set(entry.id, node);
  }

  /** Returns the rows. It is always the same array, which changes when entries are added. */
  rows(): readonly Row[] {
    if (this.#placedRoots < this.#roots.length) this.#rows.length = this.#starts[this.#placedRoots] ?? this.#rows.length;
    for (; this.#placedRoots < this.#roots.length; this.#placedRoots++) {
      this.#starts[this.#placedRoots] = this.#rows.length;
      this.#placeRows(this.#roots[this.#placedRoots]);
    }
    return this.#rows;
  }

  #placeRows(root: Node | undefined): void {
    const open = [root];
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      this.#rows.push(node);
      for (let index = (node.children?.length ?? 0) - 1; index >= 0; index--) open.push(node.children?.[index]);
    }
  }
}
