import { expect, test } from "vitest";
import { ResourceTree, type Claim } from "../../../src/core/resources/resource-tree.ts";

let sequence = 0;

function claim(...writes: readonly string[]): Claim {
  return {
    owner: "call",
    reads: ["toolset:x/reads"],
    writes,
    commutative: false,
    sequence: sequence++,
    onUnblocked() {},
    blockedHolds: 0,
    firstHold: undefined,
  };
}

test("a single claim needs no node", () => {
  const tree = new ResourceTree();
  const alone = claim("file:/a/b/c");
  tree.add(alone);
  expect([tree.claims, tree.places]).toEqual([1, 0]);
  tree.remove(alone);
  expect([tree.claims, tree.places]).toEqual([0, 0]);
});

test("an idle tree keeps no nodes, whatever claims it had", () => {
  const tree = new ResourceTree();
  const claims = Array.from({ length: 10_000 }, (_, index) => claim(`file:/${index % 100}/${index}`));
  for (const one of claims) tree.add(one);
  expect(tree.places).toBe(2 + 1 + 100 + 10_000);
  for (const one of claims) tree.remove(one);
  expect([tree.claims, tree.places]).toEqual([0, 0]);
});

test("a tree that is never idle keeps at most as many empty nodes as held ones, plus 64", () => {
  const tree = new ResourceTree();
  const held = [claim("a:"), claim("b:")];
  for (const one of held) tree.add(one);
  let most = 0;
  for (let count = 0; count < 10_000; count++) {
    const passing = claim(`file:/${count}/x`);
    tree.add(passing);
    tree.remove(passing);
    most = Math.max(most, tree.places);
  }
  expect(most).toBeGreaterThan(4);
  expect(most).toBeLessThanOrEqual(2 * 4 + 64);
  for (const one of held) tree.remove(one);
  expect([tree.claims, tree.places]).toEqual([0, 0]);
});

test("each claim that a release unblocks is notified once, in sequence", () => {
  const tree = new ResourceTree();
  const told: number[] = [];
  const telling = (key: string): Claim => {
    const own = sequence;
    return { ...claim(key), onUnblocked: () => told.push(own) };
  };
  const first = telling("file:/");
  const waiting = [telling("file:/b"), telling("file:/a"), telling("file:/c/d"), telling("file:/c")];
  for (const one of [first, ...waiting]) tree.add(one);
  tree.remove(first);
  expect(told).toEqual(waiting.slice(0, 3).map((one) => one.sequence));
});
