/** Random trees of nested calls: a wait is refused as a deadlock only if some call would wait forever without the refusal. */
import fc from "fast-check";
import { beforeAll, expect, test, vi } from "vitest";
import { deadlocks } from "../../src/session/turn-waits.ts";
import { inCI } from "../ci.ts";
import { LEAF, World, nodes, within, type Node } from "./holds-world.ts";

/** Refuses waits only while it is on. */
const detector = vi.hoisted(() => {
  let [isOn, refused] = [true, 0];
  const refuse = (isDeadlock: boolean): boolean => {
    if (!isOn || !isDeadlock) return false;
    refused++;
    return true;
  };
  const reset = (on: boolean): void => {
    [isOn, refused] = [on, 0];
  };
  return { refuse, reset, refusedCount: () => refused };
});

vi.mock(import("../../src/call/attempt/deadlock.ts"), async (original) => {
  const { wouldDeadlock, ...others } = await original();
  return { ...others, wouldDeadlock: (run) => detector.refuse(wouldDeadlock(run)) };
});

beforeAll(() => {
  const { isClosedBy } = deadlocks;
  deadlocks.isClosedBy = (wait) => detector.refuse(isClosedBy(wait));
});

/** Whether all calls end; if not, they are left waiting. */
async function allEnd(roots: readonly Node[]): Promise<boolean> {
  const world = new World();
  return within(
    2_000,
    world.begin(roots).then(() => world.end()),
  );
}

const CALL: Node = { ...LEAF, tool: "one", how: "session" };
/** While a job waits in the session that began it, another call waits for a turn of this session. */
const BESIDE_A_JOB: readonly Node[] = [
  { ...CALL, calls: [{ ...CALL, calls: [{ ...CALL, tool: "two", how: "job", calls: [{ ...CALL, writes: ["a/d"] }] }] }] },
  {
    ...CALL,
    calls: [
      {
        ...CALL,
        calls: [
          { ...CALL, how: "first" },
          { ...CALL, how: "first" },
        ],
      },
    ],
  },
  { ...CALL, writes: ["a/d"] },
  CALL,
];

test("no wait is refused that would have ended, and none is left that cannot end", async () => {
  await fc.assert(
    fc.asyncProperty(nodes({ isPatient: true }), async (roots) => {
      detector.reset(true);
      expect(await allEnd(roots)).toBe(true);
      if (detector.refusedCount() === 0) return;
      detector.reset(false);
      expect(await allEnd(roots)).toBe(false);
    }),
    { numRuns: inCI ? 3_000 : 100, examples: [[BESIDE_A_JOB]] },
  );
});
