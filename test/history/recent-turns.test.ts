import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ModelMessage } from "../../src/core/message.ts";
import { modelHistory } from "../../src/history/model-history.ts";
import { pairMessages } from "../../src/history/pair-messages.ts";
import { RecentTurns } from "../../src/history/recent-turns.ts";
import { repeated } from "../ci.ts";
import { answered, called, outline, round, says } from "./model-messages.ts";

const step = fc.record({
  kind: fc.constantFrom("user", "assistant", "system", "document", "call", "call", "call of the model", "reference", "reference"),
  turn: fc.nat(6),
  /** Which earlier call the result refers to. */
  source: fc.nat(),
});
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** The messages of one step, which are complete: calls with their results. */
function toMessages({ kind, turn, source }: Step, index: number): readonly ModelMessage[] {
  const callId = `c${index}`;
  const turnId = `t${Math.floor(index / 3) + turn}`; // the calls of concurrent turns alternate
  if (kind === "call") return [...round(callId, {}, { turn: turnId })];
  if (kind === "call of the model") return [says("assistant", `reads ${index}`), ...round(callId, {}, { turn: turnId })];
  const sameAs = `c${Math.max(0, index - (source % 8))}`; // may be missing, itself a reference, or the result itself
  if (kind === "reference") return [called(callId, {}, turnId), answered(callId, "unchanged", { sameAs })];
  return [says(kind, `${kind} ${index}`)];
}

/** The messages that `parts` add one after the other, with a full rebuild wherever adding is refused. */
function growing(parts: readonly (readonly ModelMessage[])[], options: { readonly maxTurns: number; readonly maxBytes?: number }): void {
  const messages: ModelMessage[] = [];
  let turns = new RecentTurns([], options);
  for (const part of parts) {
    messages.push(...part);
    const startsWithCall = part[0]?.role === "call" && turns.kept.at(-1)?.role === "assistant";
    if (startsWithCall || !turns.add(part)) turns = new RecentTurns(pairMessages(messages), options);
    expect(turns.messages).toEqual(modelHistory(messages, options));
  }
}

describe("F3.40 the newest turns of a conversation that grows", () => {
  test("F3.40 equal those of the whole conversation, whatever is added", () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 60 }),
        fc.constantFrom(0, 1, 2, 3, 7),
        fc.constantFrom(0, 0, 300, 900),
        (steps, maxTurns, maxBytes) => growing(steps.map(toMessages), { maxTurns, maxBytes }),
      ),
      { numRuns: repeated(500) },
    );
  });

  test("F3.40 a result keeps its content over any number of dropped turns if later ones refer to it", () => {
    const turns = Array.from({ length: 20 }, (_none, index) => [
      says("user", `question ${index}`),
      called(`c${index}`),
      answered(`c${index}`, "unchanged", index === 0 ? { output: "precious" } : { sameAs: `c${index - 1}` }),
    ]);
    growing(turns, { maxTurns: 3 });
    const [first = [], ...later] = turns;
    const recent = new RecentTurns(first, { maxTurns: 3 });
    expect(later.every((turn) => recent.add(turn))).toBe(true); // none needs the whole conversation
    const outputs = recent.messages.map((message) => (message.role === "result" ? message.result.output : undefined));
    expect(outputs.filter((output) => output !== undefined)).toEqual(["precious", "unchanged", "unchanged"]);
  });

  test("F3.40 a result that refers to a dropped one gets its content, also if another kept result has it over a second reference", () => {
    const refersTo = (callId: string, sameAs: string) => [called(callId), answered(callId, "unchanged", { sameAs })];
    const [first, second] = [round("c1", {}, { output: "precious" }), refersTo("c2", "c1")];
    const parts = [
      [says("user", "1"), ...first],
      [says("user", "2"), ...second],
      [says("user", "3"), ...refersTo("c3", "c2")],
    ];
    const turns = new RecentTurns(parts.flat(), { maxTurns: 1 });
    expect(outline(turns.messages)).toEqual(["system", "user", "call c3", "result c3"]);
    expect(turns.add(refersTo("c4", "c1"))).toBe(true);
    expect(turns.messages.flatMap((message) => (message.role === "result" ? message.result.output : []))).toEqual(["precious", "precious"]);
    growing([...parts, refersTo("c4", "c1"), refersTo("c5", "c2")], { maxTurns: 1 });
  });

  test("F3.40 any number of messages can be added at once", () => {
    const turns = new RecentTurns([says("user", "begin")], { maxTurns: 1 });
    const before = turns.messages.length;
    const added = Array.from({ length: 200_000 }, () => says("document", "page"));
    expect([before, turns.add(added), turns.messages.length]).toEqual([1, true, 200_001]);
  });

  test("F3.40 without user messages, turns whose calls alternate are counted once each", () => {
    const messages = [...round("a1", {}, { turn: "a" }), ...round("b1", {}, { turn: "b" }), ...round("a2", {}, { turn: "a" })];
    const shown = modelHistory([...messages, ...round("c1", {}, { turn: "c" })], { maxTurns: 2 });
    expect(outline(shown)).toEqual(["system", "call b1", "result b1", "call a2", "result a2", "call c1", "result c1"]);
    expect(shown[0]).toEqual({ role: "system", at: 2, content: "The oldest turn of this conversation is left out." });
  });

  test("F3.40 the first user message after dropped turns needs the whole conversation", () => {
    const calls = [1, 2, 3].flatMap((number) => round(`c${number}`, {}));
    const turns = new RecentTurns(calls, { maxTurns: 2 });
    const before = turns.messages;
    expect(turns.add([says("user", "hello")])).toBe(false);
    expect(turns.messages).toBe(before);
  });

  test("F3.40 a wrong maxTurns is rejected", () => {
    expect(() => new RecentTurns([], { maxTurns: -1 })).toThrow("maxTurns is -1; it takes an integer from 0 (0 = no limit).");
  });
});
