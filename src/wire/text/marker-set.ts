/** Finds any of many literal markers in one pass over a text, however often they almost occur. */
import { getOrAdd } from "../../core/base/get-or-add.ts";

interface MarkerNode {
  readonly next: Map<number, MarkerNode>;
  ends: boolean;
}

export interface MarkerMatch {
  /** Of the longest marker at this place; 0 for none. */
  readonly length: number;
  /** The text ends where a longer one might still come. */
  readonly open: boolean;
}

const NONE: MarkerMatch = { length: 0, open: false };

export class MarkerSet {
  readonly #root: MarkerNode = { next: new Map(), ends: false };
  readonly #first: RegExp;

  constructor(markers: Iterable<string>) {
    for (const marker of markers) this.#add(marker);
    const first = Array.from(this.#root.next.keys(), (code) => `\\u${code.toString(16).padStart(4, "0")}`).join("");
    this.#first = new RegExp(first === "" ? "[^]$^" : `[${first}]`, "g"); // one class of characters: nothing to backtrack
  }

  /** Where a marker might begin, at or behind `from`; -1 for nowhere. */
  next(text: string, from: number): number {
    this.#first.lastIndex = from;
    return this.#first.exec(text)?.index ?? -1;
  }

  match(text: string, at: number): MarkerMatch {
    let node = this.#root;
    let length = 0;
    for (let end = at; end < text.length; end++) {
      const next = node.next.get(text.charCodeAt(end));
      if (next === undefined) return length === 0 ? NONE : { length, open: false };
      node = next;
      if (node.ends) length = end + 1 - at;
    }
    return { length, open: node.next.size > 0 };
  }

  #add(marker: string): void {
    let node = this.#root;
    for (let at = 0; at < marker.length; at++) {
      node = getOrAdd(node.next, marker.charCodeAt(at), () => ({ next: new Map(), ends: false }));
    }
    node.ends = true;
  }
}
