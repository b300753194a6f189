import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ModelMessage } from "../../src/core/message.ts";
import { modelHistory } from "../../src/history/model-history.ts";
import { supersedesSameInput } from "../../src/history/supersede.ts";
import { answered, called, historyBytes, outline, round, says } from "./model-messages.ts";

const toolOf = () => ({ supersedes: supersedesSameInput });
const system = says("system", "be brief");
/** 100 bytes: a question of 10, a call of 20, a result of 70. */
const turn = (number: number, path = `file ${number}`): readonly ModelMessage[] => [
  says("user", `question ${number}`),
  ...round(`c${number}`, { path: path.padEnd(9).slice(0, 9) }, { output: "x".repeat(70) }),
];
const turns = (count: number): readonly ModelMessage[] => Array.from({ length: count }, (_none, index) => turn(index + 1)).flat();
const note = (content: string): ModelMessage => ({ role: "system", at: 1, content });

describe("F4.29 the messages for a model", () => {
  test.each([
    [{ maxBytes: -1 }, "maxBytes is -1; it takes a number of bytes from 0 (0 = no limit)."],
    [{ maxBytes: Number.NaN }, "maxBytes is NaN; it takes a number of bytes from 0 (0 = no limit)."],
    [{ maxTurns: -1 }, "maxTurns is -1; it takes an integer from 0 (0 = no limit)."],
    [{ trim: { toolOf } }, "Trimming needs a budget: set budgetBytes of trim, or maxBytes."],
  ])("F4.29 options %j are rejected", (options, message) => {
    expect(() => modelHistory([], options)).toThrow(message);
  });

  test("F4.29 an empty history has no messages", () => {
    expect(modelHistory([], { maxTurns: 1, maxBytes: 1, trim: { toolOf } })).toEqual([]);
  });

  test("F4.29 all six kinds of messages are shown unchanged while they fit", () => {
    const messages = [system, says("document", "terms"), ...turns(50), says("assistant", "done")];
    const shown = modelHistory(messages, { maxBytes: historyBytes(messages), trim: { toolOf, threshold: 1 } });
    expect(shown).toEqual(messages);
    expect(shown.every((entry, index) => entry === messages[index])).toBe(true);
  });

  test("F4.29 calls are paired even without options", () => {
    expect(outline(modelHistory([answered("none"), called("c1"), called("c2"), answered("c2")]))).toEqual([
      "call c1",
      "call c2",
      "result c1",
      "result c2",
    ]);
  });
});

describe("F3.40 the newest turns", () => {
  test("F3.40 the 51st turn drops the oldest, and a note after the system messages tells the model", () => {
    const shown = modelHistory([system, ...turns(51)]);
    expect(shown).toEqual([system, note("The oldest turn of this conversation is left out."), ...turns(51).slice(3)]);
  });

  test("F3.40 the note states how many turns were left out", () => {
    expect(modelHistory(turns(9), { maxTurns: 2 })).toEqual([
      note("The 7 oldest turns of this conversation are left out."),
      ...turns(9).slice(-6),
    ]);
  });
});

describe("F4.39 the limit of maxBytes", () => {
  test("F4.39 a result that refers to a superseded one is restated once, although the superseded call is still shown", () => {
    const messages = [
      says("user", "question"),
      called("c1", { path: "a" }),
      called("other", { path: "b" }),
      answered("c1", "precious"),
      answered("other"),
      ...round("c2", { path: "a" }, { output: "x".repeat(200) }),
      called("c3", { path: "c" }),
      answered("c3", "unchanged", { sameAs: "c1" }),
    ];
    const shown = modelHistory(messages, { maxBytes: 100, trim: { toolOf, threshold: 0 } });
    expect(shown.find(({ role }) => role === "result")).toMatchObject({
      callId: "c1",
      result: { content: [{ text: "[left out: superseded by files::read, call c2]" }] },
    });
    expect(shown.at(-1)).toMatchObject({ callId: "c3", result: { output: "precious", sameAs: "c1" } });
  });

  const messages = [system, ...turns(10)];

  test("F4.39 drops the oldest turns whole until the rest and the note fit", () => {
    const shown = modelHistory(messages, { maxBytes: 600 });
    expect(shown).toEqual([system, note("The 6 oldest turns of this conversation are left out."), ...turns(10).slice(-12)]);
    expect(historyBytes(shown)).toBeLessThanOrEqual(600);
  });

  test("F4.39 retains the beginning of a growing history, except when several turns are dropped at once", () => {
    let [before, changes]: [readonly ModelMessage[], number] = [[], 0];
    for (let count = 1; count <= 40; count++) {
      const shown = modelHistory([system, ...turns(count)], { maxTurns: 0, maxBytes: 3_000 });
      expect(historyBytes(shown)).toBeLessThanOrEqual(3_000);
      if (!isDeepStrictEqual(shown.slice(0, before.length), before)) changes++;
      before = shown;
    }
    expect([changes > 0, changes < 8]).toEqual([true, true]);
  });

  test("F4.39 keeps the newest turn, however large", () => {
    expect(modelHistory(messages, { maxBytes: 1 })).toEqual([
      system,
      note("The 9 oldest turns of this conversation are left out."),
      ...turn(10),
    ]);
    const single = [says("user", "go"), ...turn(1).slice(1), ...turn(2).slice(1)];
    expect(modelHistory(single, { maxBytes: 1 })).toEqual(single);
    expect(modelHistory([says("document", "long"), says("assistant", "text")], { maxBytes: 1 })).toHaveLength(2);
  });

  test("F4.39 removes superseded results before turns", () => {
    const rereads = [system, ...turn(1, "a"), ...turn(2, "a"), ...turn(3, "b"), ...turn(4, "a")];
    const shown = modelHistory(rereads, { maxBytes: 400, trim: { toolOf } });
    const told = note("Earlier calls whose results newer calls supersede are left out.");
    expect(outline(shown)).toEqual(["system", "system", "user", "user", "user", "call c3", "result c3", "user", "call c4", "result c4"]);
    expect(shown[1]).toEqual(told);
    expect(shown.at(-1)).toMatchObject({ supersedes: ["c1", "c2"] });
  });

  test("F4.39 may be larger than the budget of trimming", () => {
    const rereads = [...turn(1, "a"), ...turn(2, "a")];
    expect(modelHistory(rereads, { maxBytes: 10_000, trim: { toolOf } })).toEqual(rereads);
    expect(outline(modelHistory(rereads, { maxBytes: 10_000, trim: { toolOf, budgetBytes: 200 } }))).toEqual([
      "system",
      "user",
      "user",
      "call c2",
      "result c2",
    ]);
  });

  test("F4.39 reports turns dropped for both reasons in one message", () => {
    const rereads = [...turns(3), ...turn(4, "a"), ...turn(5, "a")];
    const shown = modelHistory(rereads, { maxTurns: 2, trim: { toolOf, budgetBytes: 0 } });
    expect(shown[0]).toEqual(
      note("The 3 oldest turns of this conversation are left out. Earlier calls whose results newer calls supersede are left out."),
    );
    expect(outline(shown)).toEqual(["system", "user", "user", "call c5", "result c5"]);
  });

  test("F4.39 for any history, holds unless only the newest turn is left, with calls paired and the input unmodified", () => {
    const part = fc.constantFrom("user", "user", "assistant", "system", "call", "call", "late call" as const);
    fc.assert(
      fc.property(fc.array(part, { maxLength: 40 }), fc.nat({ max: 2_000 }), fc.nat({ max: 6 }), (parts, maxBytes, maxTurns) => {
        const messages = parts.flatMap((role, index) => {
          if (role === "late call") return [called(`c${index}`)];
          return role === "call"
            ? round(`c${index}`, { path: index % 3 }, { output: "x".repeat(index * 5) })
            : [says(role, role.repeat(index))];
        });
        const before = structuredClone(messages);
        const shown = modelHistory(messages, { maxTurns, maxBytes, trim: { toolOf, budgetBytes: maxBytes / 2 } });
        expect(messages).toEqual(before);
        expect(idsOf(shown, "result")).toEqual(idsOf(shown, "call"));
        const users = shown.filter(({ role }) => role === "user");
        if (maxBytes > 0 && users.length > 1) expect(historyBytes(shown)).toBeLessThanOrEqual(maxBytes);
        if (maxTurns > 0) expect(users.length).toBeLessThanOrEqual(maxTurns);
        expect(users.at(-1)).toEqual(messages.findLast(({ role }) => role === "user"));
        const systems = messages.filter(({ role }) => role === "system");
        expect(shown.filter((entry) => entry.role === "system" && systems.includes(entry))).toEqual(systems);
      }),
    );
  });
});

function idsOf(messages: readonly ModelMessage[], role: "call" | "result"): readonly string[] {
  return messages.flatMap((message) => (message.role === role ? [message.callId] : []));
}
