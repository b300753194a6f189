import fc from "fast-check";
import { expect, test, vi } from "vitest";
import type { ModelCall, ModelEvent } from "../../src/core/model.ts";
import { tool } from "../runtime/bench-runtime.ts";
import { replyEnd, saidBy, testLoop } from "./bench-loop.ts";
import { repeated } from "../ci.ts";

const made = fc.record({
  name: fc.constantFrom("leaf", "outer", "wipe", "nowhere"),
  input: fc.constantFrom({}, "{", null),
  id: fc.constantFrom("a", "b"),
});
const message = fc.record({
  text: fc.constantFrom("", "Well."),
  calls: fc.array(made, { maxLength: 3 }),
  sealed: fc.boolean(),
  before: fc.constantFrom("nothing", "voided", "steered"),
  finish: fc.constantFrom("stop", "stop", "stop", "pause", "length"),
  native: fc.boolean(),
} as const);
const plan = fc.record({
  messages: fc.array(message, { maxLength: 16 }),
  runs: fc.array(fc.constantFrom("said", "silent", "decided", "interjected"), { minLength: 1, maxLength: 6 }),
  maxTurns: fc.constantFrom(0, 1, 2, 3, 50),
} as const);

test("F3.40 the messages of each request equal those of the session, for any mix of runs, voided messages and maxTurns", async () => {
  await fc.assert(
    fc.asyncProperty(plan, async ({ messages, runs, maxTurns }) => {
      const seen: (readonly [unknown, unknown])[] = [];
      const model = saidBy((request, index) => {
        seen.push([request.messages, work.session.messages({ maxTurns })]);
        const one = messages[index];
        if (one === undefined) return [replyEnd({ text: "Done." })];
        const calls = one.calls as readonly ModelCall[];
        const seals = calls.map((call, at): ModelEvent => ({ type: "call-seal", index: at, call }));
        if (one.before === "steered") work.loop.steer("Faster.");
        const native = one.native ? { native: { format: "x", blocks: [1] } } : {};
        const isWhole = one.finish === "stop";
        return [
          ...(one.before === "voided" ? [...seals, { type: "reply-void", reason: "lost" } as const] : []),
          ...(one.sealed ? seals : []),
          replyEnd({ text: one.text, calls: isWhole ? calls : [], finish: one.finish, ...native }),
        ];
      });
      const work = testLoop({
        script: [],
        model,
        history: { maxTurns },
        emergencyStop: false,
        limits: { repeat: false, maxRounds: 5, budget: { calls: { soft: 4 } } },
        tools: [
          tool("leaf", () => "leaf"),
          tool("wipe", () => "wiped", { effects: { reads: [], writes: ["d"], destructive: true } }),
          tool("outer", async () => {
            await work.session.addMessage({ role: "document", content: "Found." });
            return (await work.session.execute({ name: "leaf" })).output;
          }),
        ],
      });
      for (const run of runs) {
        if (run === "interjected") await work.session.execute([{ name: "leaf" }, { name: "outer" }]);
        if (run === "decided") {
          const decisions = Object.fromEntries(work.loop.pending().map(({ digest }) => [digest, "allow-once"] as const));
          await work.loop.resume({ decisions });
        } else await work.loop.run(run === "said" ? "Go." : undefined);
      }
      for (const [grown, shown] of seen) expect(grown).toEqual(shown);
    }),
    { numRuns: repeated(300) },
  );
});

test("the log of a session is copied once for a loop, however many calls it makes", async () => {
  const rounds = 6;
  const calls = (round: number): ModelCall[] =>
    [1, 2, 3].map((n) => ({ id: `c${round}-${n}`, name: "leaf", input: { n: round * 10 + n } }));
  const model = saidBy((_, round) => [replyEnd(round === rounds ? { text: "Done." } : { calls: calls(round), finish: "calls" })]);
  const { loop, session } = testLoop({ script: [], model, tools: [tool("leaf", () => "leaf")] });
  const copies = vi.spyOn(session, "log", "get");
  const { reason, results } = await loop.run("Go.");
  expect([reason, results.length, copies.mock.calls.length]).toEqual(["answered", 18, 1]);
});
