/** Finds any of many literal markers in one pass over a text, even if it has many partial matches. */
import { getOrAdd } from "../../core/base/get-or-add.ts";

interface MarkerNode {
  readonly next: Map<number, MarkerNode>;
  ends: boolean;
}

export interface MarkerMatch {
  /** Length of the longest marker at this position; 0 for none. */
  readonly length: number;
  /** Whether the text ends where a longer marker might still continue. */
  readonly mayContinue: boolean;
}

const NONE: MarkerMatch = { length: 0, mayContinue: false };

export class MarkerSet {
  readonly #root: MarkerNode = { next: new Map(), ends: false };
  readonly #first: RegExp;

  constructor(markers: Iterable<string>) {
    for (const marker of markers) this.#add(marker);
    const first = Array.from(this.#root.next.keys(), (code) => `\\u${code.toString(16).padStart(4, "0")}`).join("");
    this.#first = new RegExp(first === "" ? "[^]$^" : `[${first}]`, "g"); // a single character class, so that there is no backtracking
  }

  /** Returns the first position, from `from` on, at which a marker might begin; -1 if there is none. */
  findNext(text: string, from: number): number {
    this.#first.lastIndex = from;
    return this.#first.exec(text)?.index ?? -1;
  }

  matchAt(text: string, at: number): MarkerMatch {
    let node = this.#root;
    let length = 0;
    for (let end = at; end < text.length; end++) {
      const next = node.next.get(text.charCodeAt(end));
      if (next === undefined) return length === 0 ? NONE : { length, mayContinue: false };
      node = next;
      if (node.ends) length = end + 1 - at;
    }
    return { length, mayContinue: node.next.size > 0 };
  }

  #add(marker: string): void {
    let node = this.#root;
    for (let at = 0; at < marker.length; at++) {
      node = getOrAdd(node.next, marker.charCodeAt(at), () => ({ next: new Map(), ends: false }));
    }
    node.ends = true;
  }
}
