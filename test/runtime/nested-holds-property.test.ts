/** Random trees of calls over a tree of resources, with limits, and cancelled anywhere: all of them end, and no two that conflict overlap. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { inCI } from "../ci.ts";
import { KEPT, LEAF, World, nodes, within, type Node } from "./holds-world.ts";

/** What is waited for is held by a job that outlives the call it was lent by. */
const WRITER: Node = { ...LEAF, tool: "one", writes: ["e"], how: "session" };
const LENT_TO_A_JOB: readonly Node[] = [
  {
    ...WRITER,
    calls: [
      { ...WRITER, calls: [{ ...WRITER, writes: ["a/b", "e/f"], how: "job" }] },
      { ...WRITER, reads: ["e/f"], writes: ["a"] },
    ],
  },
];

const SLOT: Node = { ...LEAF, tool: "one", how: "session" };
/** A reader waits for the slot that a call lends to two others, one of which waits for the reader. */
const LENT_SLOT: readonly Node[] = [
  { ...SLOT, calls: [SLOT, { ...SLOT, writes: ["e/f"] }] },
  { ...SLOT, reads: ["e"] },
];

/** The same, a level deeper. */
const LENT_TWICE: readonly Node[] = [
  { ...SLOT, calls: [{ ...SLOT, calls: [SLOT, { ...SLOT, writes: ["e/f"] }] }] },
  { ...SLOT, reads: ["e"] },
];

/** A call in a turn waits for a lock that a job still borrows from a call that has ended; the code of the job waits for that turn. */
const LENT_AND_TURN: readonly Node[] = [
  SLOT,
  { ...SLOT, writes: ["e/f"], how: "first" },
  { ...WRITER, calls: [{ ...WRITER, how: "job", calls: [{ ...SLOT, how: "first" }] }] },
];

/** A leader waits for what a call holds that waits for a follower. */
const FOLLOWED: readonly (readonly Node[])[] = KEPT.map((kept) => [
  { ...LEAF, how: "session", before: 1, writes: kept.calls[0]?.reads ?? [], calls: [kept] },
  kept,
]);

/** A call waits in the turn of a session for the slot of one whose handler waits for that turn. */
const TURN: readonly Node[] = [{ ...LEAF, tool: "one", calls: [{ ...LEAF, tool: "one", calls: [SLOT] }, SLOT] }];
/** The same with a lock, whichever of the two waits first. */
const TURN_AND_LOCK: readonly (readonly Node[])[] = [1, 5].map((before) => [
  { ...LEAF, how: "first", after: 3, before: 3, calls: [{ ...LEAF, reads: ["a"] }] },
  { ...LEAF, writes: ["a"], before, calls: [{ ...LEAF, how: "first" }] },
]);

test("random trees of nested calls end, exclude conflicting calls, and leak neither lock nor slot", async () => {
  await fc.assert(
    fc.asyncProperty(nodes({ isPatient: false }), async (roots) => {
      const world = new World();
      const hasEnded = await within(
        20_000,
        world.begin(roots).then(() => world.end()),
      );
      expect([hasEnded, world.wrong]).toEqual([true, []]);
    }),
    {
      numRuns: inCI ? 350 : 20,
      examples: [
        [LENT_TO_A_JOB],
        [LENT_SLOT],
        [LENT_AND_TURN],
        [LENT_TWICE],
        [TURN],
        ...[...TURN_AND_LOCK, ...FOLLOWED].map((roots): [readonly Node[]] => [roots]),
      ],
    },
  );
});
