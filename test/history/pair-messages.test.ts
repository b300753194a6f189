import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ModelMessage } from "../../src/core/message.ts";
import { resultText } from "../../src/core/result.ts";
import { pairMessages } from "../../src/history/pair-messages.ts";
import { answered, called, outline, says } from "./model-messages.ts";

/** Deliberately other than the seeds, which remove calls without a result: docs/decisions/0059-calls-without-a-result-stay.md says why. */
describe("F1.44 F4.20 pairing", () => {
  test("F1.44 F4.20 a call without a result is kept, unlike in the seeds, and gets a result with an unknown outcome", () => {
    const call = { ...called("c1"), call: { id: "toolu_1", name: "files::write", input: {} } };
    const [first, second, ...more] = pairMessages([call]);
    expect([first, more]).toEqual([call, []]);
    expect(second).toEqual({
      role: "result",
      at: 2,
      callId: "c1",
      result: {
        callId: "c1",
        id: "toolu_1",
        name: "files::write",
        status: "error",
        error: {
          code: "outcome_unknown",
          message: "files::write has not been answered: it still runs, or it was interrupted.",
          retryable: false,
          outcome: "unknown",
          hint: "Its effect is not known. Look before you repeat it, unless it only reads.",
        },
        origin: "stub",
        attempts: 0,
        durationMs: 0,
        repairs: [],
        warnings: [],
      },
    });
    expect(second?.role === "result" ? resultText(second.result) : "").toMatch(/has not been answered/u);
  });

  test("F1.44 a result without a call is dropped, and so are a second call and a second result", () => {
    const twice = [called("c1"), called("c1"), answered("c1", "first"), answered("c1", "second")];
    expect(pairMessages([answered("none"), ...twice, called("c1"), answered("none")])).toEqual([called("c1"), answered("c1", "first")]);
  });

  test("results follow the calls of their message, in call order", () => {
    const calls = [called("c1"), called("c2"), called("c3")];
    const late = [...calls, answered("c3"), says("user", "hurry"), answered("c1"), answered("c2")];
    expect(outline(pairMessages(late))).toEqual(["call c1", "call c2", "call c3", "result c1", "result c2", "result c3", "user"]);
  });

  test("an assistant message ends with its turn, with a result of one of its calls, and with any other message", () => {
    const messages = [
      called("c1"),
      answered("c1"),
      called("c2"),
      called("c3", {}, "t2"),
      says("assistant", "and"),
      called("c4", {}, "t2"),
      answered("c1"),
      called("c5", {}, "t2"),
    ];
    const [c1, c2, c3, c45] = [["call c1"], ["call c2"], ["call c3"], ["call c4", "call c5"]];
    const answers = (calls: readonly string[] = []): readonly string[] => calls.map((call) => call.replace("call", "result"));
    const expected = [c1, answers(c1), c2, answers(c2), c3, answers(c3), ["assistant"], c45, answers(c45)].flat();
    expect(outline(pairMessages(messages))).toEqual(expected);
  });

  test("F1.44 for any messages, every call is followed by one result, the input is not modified, and a second pass changes nothing", () => {
    fc.assert(
      fc.property(fc.array(anyMessage(), { maxLength: 40 }), (messages) => {
        const before = structuredClone(messages);
        const paired = pairMessages(messages);
        expect(messages).toEqual(before);
        expect(pairMessages(paired)).toEqual(paired);
        const calls = paired.filter(({ role }) => role === "call").map(idOf);
        const results = paired.filter(({ role }) => role === "result").map(idOf);
        expect(results).toEqual(calls);
        expect(calls).toEqual([...new Set(messages.filter(({ role }) => role === "call").map(idOf))]);
        for (const id of calls) expect(position(paired, "call", id)).toBeLessThan(position(paired, "result", id));
        expect(paired.filter((message) => !("callId" in message))).toEqual(messages.filter((message) => !("callId" in message)));
      }),
    );
  });
});

function anyMessage(): fc.Arbitrary<ModelMessage> {
  const id = fc.constantFrom("c1", "c2", "c3", "c4", "c5", "c6");
  return fc.oneof(
    fc.tuple(id, fc.constantFrom("t1", "t2")).map(([callId, turn]) => called(callId, {}, turn)),
    id.map((callId) => answered(callId)),
    fc.constantFrom("user", "assistant", "system" as const).map((role) => says(role, role)),
  );
}

function idOf(message: ModelMessage): string {
  return "callId" in message ? message.callId : "";
}

function position(messages: readonly ModelMessage[], role: string, callId: string): number {
  return messages.findIndex((message) => message.role === role && idOf(message) === callId);
}
