import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ModelMessage } from "../../src/core/message.ts";
import { limitTurns } from "../../src/history/limit-turns.ts";
import { answered, called, outline, round, says } from "./model-messages.ts";

const turn = (number: number): readonly ModelMessage[] => [
  says("user", `question ${number}`),
  ...round(`c${number}`, {}),
  says("assistant", `answer ${number}`),
];
const turns = (count: number): readonly ModelMessage[] => Array.from({ length: count }, (_none, index) => turn(index + 1)).flat();

describe("F3.40 the newest turns", () => {
  test.each([-1, 1.5, Number.NaN, Infinity])("F3.40 maxTurns %d is rejected", (maxTurns) => {
    expect(() => limitTurns([], maxTurns)).toThrow(`maxTurns is ${maxTurns}; it takes an integer from 0 (0 = no limit).`);
  });

  test("F3.40 the 51st turn drops the oldest, with its call and result", () => {
    expect(limitTurns(turns(50))).toEqual(turns(50));
    expect(limitTurns(turns(51))).toEqual(turns(51).slice(4));
  });

  test("F3.40 without a limit all turns are kept", () => {
    expect(limitTurns(turns(200), 0)).toEqual(turns(200));
  });

  test("F3.40 system messages are kept, and other messages before the first turn are dropped with it", () => {
    const messages = [says("system", "be brief"), says("document", "terms"), ...turn(1), says("system", "be polite"), ...turn(2)];
    expect(limitTurns(messages, 1)).toEqual([says("system", "be brief"), says("system", "be polite"), ...turn(2)]);
  });

  test("F3.40 a result that arrived after its turn is dropped with its call", () => {
    const messages = [says("user", "one"), called("c1"), says("user", "two"), answered("c1"), ...round("c2", {})];
    expect(outline(limitTurns(messages, 1))).toEqual(["user", "call c2", "result c2"]);
  });

  test("F3.40 without user messages every turn id counts as a turn", () => {
    const messages = [
      ...round("c1", {}, { turn: "t1" }),
      ...round("c2", {}, { turn: "t1" }),
      says("assistant", "done"),
      says("system", "go on"),
      says("assistant", "I look"),
      ...round("c3", {}, { turn: "t2" }),
      ...round("c4", {}, { turn: "t3" }),
    ];
    expect(outline(limitTurns(messages, 2))).toEqual(["system", "assistant", "call c3", "result c3", "call c4", "result c4"]);
  });

  test("F3.40 for any messages, calls and results stay paired, and the input is not modified", () => {
    const part = fc.constantFrom("user", "assistant", "system", "document", "call", "call", "call in the next turn" as const);
    fc.assert(
      fc.property(fc.array(part, { maxLength: 40 }), fc.integer({ min: 1, max: 5 }), fc.nat(), (parts, maxTurns, seed) => {
        let turnCount = 1;
        const messages = parts.flatMap((role, index) => {
          if (role === "call in the next turn") turnCount++;
          return role.startsWith("call") ? round(`c${index}`, {}, { turn: `t${turnCount}` }) : [says(role as "user", role)]; // no call
        });
        const results = messages.filter(({ role }) => role === "result");
        const late = results[seed % Math.max(1, results.length)];
        if (late !== undefined) messages.push(...messages.splice(messages.indexOf(late), 1));
        const before = [...messages];
        const kept = limitTurns(messages, maxTurns);
        expect(messages).toEqual(before);
        expect(ids(kept, "result")).toEqual(ids(kept, "call"));
        expect(kept.filter(({ role }) => role === "user").length).toBeLessThanOrEqual(maxTurns);
        expect(limitTurns(kept, maxTurns)).toEqual(kept);
      }),
    );
  });
});

function ids(messages: readonly ModelMessage[], role: "call" | "result"): readonly string[] {
  return messages.flatMap((message) => (message.role === role ? [message.callId] : [])).sort();
}
