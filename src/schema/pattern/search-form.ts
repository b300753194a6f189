/** Shortens a pattern that is searched for. */
import type { PatternNode } from "./pattern-syntax.ts";

/** Returns a pattern that matches in the same texts. A repeat at either end needs no more than its minimum: `a.{1,500}` is found wherever `a.` is. */
export function searchForm(tree: PatternNode): PatternNode {
  return cutEnd(cutEnd(tree, "first"), "last");
}

const EMPTY: PatternNode = { type: "sequence", items: [] };

function cutEnd(tree: PatternNode, end: "first" | "last"): PatternNode {
  if (tree.type === "choice") return { type: "choice", branches: tree.branches.map((branch) => cutEnd(branch, end)) };
  if (tree.type === "repeat") {
    if (tree.min === 0) return EMPTY;
    return tree.min === 1 ? cutEnd(tree.body, end) : { ...tree, max: tree.min };
  }
  if (tree.type !== "sequence") return tree;
  const items = [...tree.items];
  while (items.length > 0) {
    const item = end === "first" ? items.shift() : items.pop();
    const cut = item === undefined ? EMPTY : cutEnd(item, end);
    if (cut === EMPTY) continue;
    return { type: "sequence", items: end === "first" ? [cut, ...items] : [...items, cut] };
  }
  return EMPTY;
}
