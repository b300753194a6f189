/** The entries of a log as rows of a tree: calls that other calls made stand below those. */
import type { Entry } from "./entry.ts";

/** An entry in its place in the tree. */
export interface Row {
  readonly entry: Entry;
  readonly depth: number;
}

interface Node extends Row {
  /** Which of the rows at the top it stands below, or is. */
  readonly root: number;
  children?: Node[];
}

/** Grows with its log: only rows from the first changed one at the top on are placed again. */
export class RowTree {
  readonly #roots: Node[] = [];
  readonly #calls = new Map<string, Node>();
  readonly #rows: Row[] = [];
  /** The index of the row of each root that is placed. */
  readonly #starts: number[] = [];
  /** How many of the roots are placed with all that is below them. */
  #placed = 0;

  /** A call whose parent was not entered before it is at the top: it is missing, or it is the call itself. */
  add(entry: Entry): void {
    const parent = entry.kind === "call" && entry.parentId !== undefined ? this.#calls.get(entry.parentId) : undefined;
    const node: Node = { entry, depth: parent === undefined ? 0 : parent.depth + 1, root: parent?.root ?? this.#roots.length };
    if (parent === undefined) this.#roots.push(node);
    else {
      (parent.children ??= []).push(node);
      this.#placed = Math.min(this.#placed, node.root);
    }
    if (entry.kind === "call") this.#calls.set(entry.id, node);
  }

  /** Always the same array, which changes when entries are added. */
  rows(): readonly Row[] {
    if (this.#placed < this.#roots.length) this.#rows.length = this.#starts[this.#placed] ?? this.#rows.length;
    for (; this.#placed < this.#roots.length; this.#placed++) {
      this.#starts[this.#placed] = this.#rows.length;
      this.#place(this.#roots[this.#placed]);
    }
    return this.#rows;
  }

  #place(root: Node | undefined): void {
    const open = [root];
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      this.#rows.push(node);
      for (let index = (node.children?.length ?? 0) - 1; index >= 0; index--) open.push(node.children?.[index]);
    }
  }
}
