import { expect, test } from "vitest";
import { reasonToStop, type RoundCall, type RoundFacts } from "../../src/compose/reason-to-stop.ts";
import type { StopReason } from "../../src/compose/stop-reason.ts";

const LIMITS = { maxRounds: 5, maxPauses: 2, multiAction: true };
const FACTS: RoundFacts = {
  finish: "calls",
  calls: [],
  rounds: 1,
  pauses: 0,
  lastRound: false,
  budget: "ok",
  steered: false,
  aborted: false,
  emergency: false,
  repeated: false,
  conditionMet: false,
};
const safe: RoundCall = { category: "SAFE_CHAIN", admitted: true };
const terminal: RoundCall = { category: "TERMINAL", admitted: true };
const waiting: RoundCall = { category: "SAFE_CHAIN", admitted: true, code: "approval_required" };

const rows: readonly (readonly [string, Partial<RoundFacts>, StopReason | undefined])[] = [
  ["F3.23 a safe call goes on", { calls: [safe] }, undefined],
  ["F3.23 a safe call that failed goes on", { calls: [{ ...safe, code: "execution_failed" }] }, undefined],
  ["F3.24 a terminal call ends the turn", { calls: [terminal] }, "tool-ended-turn"],
  ["F3.24 a terminal call among others ends the turn", { calls: [safe, terminal, safe] }, "tool-ended-turn"],
  ["F3.24 a terminal call that ran and failed ends the turn", { calls: [{ ...terminal, code: "execution_failed" }] }, "tool-ended-turn"],
  ["F3.24 a terminal call with a wrong input goes on", { calls: [{ ...terminal, admitted: false, code: "invalid_input" }] }, undefined],
  ["F3.25 a dangerous call goes on", { calls: [{ category: "DANGEROUS", admitted: true }] }, undefined],
  ["F3.25 a second dangerous call goes on", { calls: [{ category: "DANGEROUS", admitted: false, code: "limit_exceeded" }] }, undefined],
  ["F3.26 an async call goes on", { calls: [{ category: "ASYNC_REQUIRED", admitted: true }] }, undefined],
  ["F3.32 no call is an answer", { finish: "stop" }, "answered"],
  ["F3.32 no call, but somebody spoke, goes on", { finish: "stop", steered: true }, undefined],
  ["F3.32 a pause goes on", { finish: "pause", pauses: 2 }, undefined],
  ["F3.32 a pause too many ends", { finish: "pause", pauses: 3 }, "max-rounds"],
  ["F3.32 the last round with calls ends", { calls: [safe], rounds: 5 }, "max-rounds"],
  ["F3.32 the last round with an answer is an answer", { finish: "stop", rounds: 5 }, "answered"],
  ["F3.32 a call that waits for approval ends, before a terminal one", { calls: [terminal, waiting] }, "approval"],
  ["F3.32 length ends", { finish: "length" }, "length"],
  ["F3.32 the filter ends", { finish: "content-filter" }, "content-filter"],
  ["F3.32 a refusal ends", { finish: "refusal" }, "refusal"],
  ["F3.32 a failed message ends", { finish: "error" }, "model-error"],
  ["F3.32 a message that is cut off ends", { finish: "truncated" }, "model-error"],
  ["F3.32 a reason nobody knows ends", { finish: "other" }, "model-error"],
  ["F1.52 a condition ends, an answer as well", { finish: "stop", conditionMet: true }, "stop-condition"],
  ["F1.51 a soft budget goes on", { calls: [safe], budget: "soft" }, undefined],
  ["F1.51 a hard budget has one more round", { calls: [safe], budget: "hard" }, undefined],
  ["F1.51 calls in that round end", { calls: [safe], budget: "hard", lastRound: true }, "budget"],
  ["F1.51 an answer in that round is an answer", { finish: "stop", budget: "hard", lastRound: true }, "answered"],
  ["F1.51 half as much again ends at once", { calls: [safe], budget: "crash" }, "budget"],
  ["B09 repeated calls end", { calls: [safe], repeated: true }, "repeated-calls"],
  ["F3.35 too many errors end, before everything but an abort", { finish: "length", calls: [waiting], emergency: true }, "emergency-stop"],
  ["an abort ends before everything", { aborted: true, emergency: true, conditionMet: true }, "cancelled"],
];

test.each(rows)("F3.32 stop decision: %s", (_what, facts, decision) => {
  expect(reasonToStop({ ...FACTS, ...facts }, LIMITS)).toBe(decision);
});

test("F3.31 multiAction: false ends the run after a round with calls, but not after a pause", () => {
  const limits = { ...LIMITS, multiAction: false };
  expect([
    reasonToStop({ ...FACTS, calls: [safe] }, limits),
    reasonToStop({ ...FACTS, finish: "pause", pauses: 1 }, limits),
    reasonToStop({ ...FACTS, finish: "stop" }, limits),
  ]).toEqual(["one-action", undefined, "answered"]);
});
