/** Random things to do with sessions. */
import * as fc from "fast-check";
import { KEYS, type CallPlan, type Op } from "./session-plan.ts";

const key = fc.constantFrom(...KEYS);
const value = fc.constantFrom(1, 2, "text", null, { deep: { list: [1, 2] }, other: true }, [1, [2]]);

const op: fc.Arbitrary<Op> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ op: fc.constantFrom("append", "append", "set"), key, value }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constantFrom("delete", "read"), key }) },
);

/** A call but for its number. A handler that throws takes its time, so that what it fails is under way. */
export type CallShape = Omit<CallPlan, "n">;

const call: fc.Arbitrary<CallShape> = fc
  .record({
    tool: fc.constantFrom("look", "flap", "note", "note", "put", "put", "pay", "pay", "gone"),
    first: fc.array(op, { maxLength: 2 }),
    ms: fc.constantFrom(0, 0, 3, 9, 22, 60, Infinity),
    last: fc.array(op, { maxLength: 2 }),
    end: fc.constantFrom<CallPlan["end"][]>("return", "return", "return", "throw"),
  })
  .map(({ end, ...shape }): CallShape => {
    // Calls whose intents become durable together start one after the other: none of them is over before all have begun.
    if (shape.tool === "note" || shape.tool === "pay") return { ...shape, end, ms: Math.max(shape.ms, 3) };
    if (shape.tool === "flap") return { ...shape, ms: Math.min(Math.max(shape.ms, 3), 9), end: "return" };
    return { ...shape, end: shape.ms === 0 || shape.tool === "look" ? "return" : end };
  });

const calls = fc.array(call, { minLength: 1, maxLength: 4 });
/** Which of the sessions there are then. */
const slot = fc.nat(5);
/** Virtual milliseconds until the next thing is done; undefined: it is done at once. */
const pause = fc.constantFrom(undefined, 0, 4, 4, 8, 20, 48);

const execute = fc.record({
  kind: fc.constant("execute"),
  slot,
  calls,
  throwOnError: fc.integer({ min: 0, max: 3 }).map((one) => one === 0),
  single: fc.integer({ min: 0, max: 3 }).map((one) => one === 0),
  /** Submitted under a key. */
  keyed: fc.integer({ min: 0, max: 2 }).map((one) => one === 0),
  abortMs: fc.constantFrom(undefined, undefined, undefined, 0, 4, 12, 24),
  pause,
});

const rest = <K extends string>(kind: K): fc.Arbitrary<{ kind: K; slot: number; pause: number | undefined }> =>
  fc.record({ kind: fc.constant(kind), slot, pause });

const command = fc.oneof(
  { weight: 12, arbitrary: execute },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("again"),
      which: fc.nat(5),
      /** With other calls under the same key, which its own session refuses. */
      wrongly: fc.integer({ min: 0, max: 2 }).map((one) => one === 0),
      /** To another session, where those calls are the first under this key. */
      elsewhere: fc.boolean(),
      slot,
      pause,
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("simulate"), slot, calls, allow: fc.boolean(), pause }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("fork"), slot, simulated: fc.boolean(), allow: fc.boolean(), pause }) },
  { weight: 3, arbitrary: rest("commit") },
  { weight: 2, arbitrary: rest("commit-simulation") },
  { weight: 2, arbitrary: rest("copy") },
  { weight: 1, arbitrary: rest("close") },
  { weight: 2, arbitrary: rest("resume") },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("crash"),
      /** How much of what waits to be written is written all the same. */
      written: fc.constantFrom(0, 0.3, 0.5, 0.7, 0.9, 1),
      /** The sessions that are taken up at once. */
      slots: fc.uniqueArray(slot, { minLength: 1, maxLength: 4 }),
      pause,
    }),
  },
);

export const scenarioArbitrary = fc.record({
  keeping: fc.constantFrom("none", "memory", "disk", "disk", "disk"),
  standIn: fc.boolean(),
  keepEvents: fc.constantFrom(4, 1_000),
  commands: fc.array(command, { minLength: 1, maxLength: 18, size: "max" }),
});

export type Command = typeof command extends fc.Arbitrary<infer T> ? T : never;
export type Scenario = typeof scenarioArbitrary extends fc.Arbitrary<infer T> ? T : never;
