import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ModelMessage } from "../../src/core/message.ts";
import { resultText } from "../../src/core/result.ts";
import type { PastCall, Supersedes, Tool } from "../../src/core/tool.ts";
import { supersedesAt } from "../../src/history/supersede.ts";
import { type TrimOptions, trimResults } from "../../src/history/trim-results.ts";
import { answered, called, historyBytes, outline, round, says } from "./model-messages.ts";

const samePath: Supersedes = (newer, older) => newer.input["path"] === older.input["path"];
const atPath = supersedesAt(({ input }) => (typeof input["path"] === "string" ? input["path"] : undefined));
const asyncRule: unknown = async () => true;
const TOOLS: Readonly<Record<string, Pick<Tool, "supersedes">>> = {
  "files::read": { supersedes: samePath },
  "files::write": { supersedes: samePath },
  "files::read_at": { supersedes: atPath },
  "files::edit": {},
  "notes::read": { supersedes: samePath },
  "files::broken": {
    supersedes: () => {
      throw new Error("broken rule");
    },
  },
  "files::async": { supersedes: asyncRule as Supersedes }, // as a program without types may have it
};

function trim(messages: readonly ModelMessage[], options: Partial<TrimOptions> = {}): readonly ModelMessage[] {
  return trimResults(messages, { budgetBytes: 0, toolOf: (name) => TOOLS[name], ...options });
}

const a = { path: "a" };
const b = { path: "b" };
const error = { code: "execution_failed", message: "no", retryable: false, outcome: "failed" } as const;
const NOTE_FOR_C3 = "[left out: superseded by files::read, call c3]";

describe("F4.39 the threshold", () => {
  const twice = [...round("c1", a, { output: "x".repeat(100) }), ...round("c2", a, { output: "x".repeat(100) })];
  const inputs = 2 * '{"path":"a"}'.length;

  test.each([
    [{ budgetBytes: -1 }, "budgetBytes is -1; it takes a number of bytes from 0."],
    [{ budgetBytes: Number.NaN }, "budgetBytes is NaN; it takes a number of bytes from 0."],
    [{ threshold: 75 }, "The threshold of trimming is 75; it takes a number from 0 to 1."],
    [{ threshold: Number.NaN }, "The threshold of trimming is NaN; it takes a number from 0 to 1."],
  ])("F4.39 %j is rejected", (options, message) => {
    expect(() => trim(twice, options)).toThrow(message);
  });

  test("F4.39 below the threshold nothing is trimmed, and no rule is called", () => {
    const toolOf = (): never => expect.fail("asked");
    expect(trim(twice, { budgetBytes: (200 + inputs) / 0.75, toolOf })).toEqual(twice);
    expect(trim(twice, { budgetBytes: 200 + inputs, threshold: 1, toolOf })).toEqual(twice);
    expect(trim(twice, { budgetBytes: Infinity, toolOf })).toEqual(twice);
  });

  test("F4.39 one byte above the threshold every superseded result is removed at once", () => {
    const messages = [...twice, ...round("c3", b), ...round("c4", b)];
    const budgetBytes = (historyBytes(messages) - 1) / 0.75;
    expect(outline(trim(messages, { budgetBytes }))).toEqual(["call c2", "result c2", "call c4", "result c4"]);
  });

  test("F4.39 results superseded after a trim are kept until the history exceeds the threshold again", () => {
    const messages = Array.from({ length: 7 }, (_none, index) => round(`c${index + 1}`, a, { output: "x".repeat(100) })).flat();
    const left = [3, 4, 5, 6, 7].map((count) => outline(trim(messages.slice(0, count * 2), { budgetBytes: 400, threshold: 0.75 })));
    const rounds = (...ids: readonly number[]): readonly string[] => ids.flatMap((id) => [`call c${id}`, `result c${id}`]);
    expect(left).toEqual([rounds(3), rounds(3, 4), rounds(5), rounds(5, 6), rounds(7)]);
  });

  test("F4.39 a growing history keeps its beginning, except for one trim in many rounds", () => {
    const reads = Array.from({ length: 200 }, (_none, index) => round(`c${index}`, { path: `f${index % 5}` }, { output: "x".repeat(100) }));
    const views = reads.map((_none, index) => trim(reads.slice(0, index + 1).flat(), { budgetBytes: 4_000 }).map(textOfEntry));
    const breaks = views.flatMap((view, index) =>
      (views[index - 1] ?? []).every((text, place) => text === view[place]) ? [] : [index + 1],
    );
    // A round takes 113 bytes of 3,000, and a trim leaves 5 of them: the 27th is too much, and then every 22nd.
    expect(breaks).toEqual([27, 49, 71, 93, 115, 137, 159, 181]);
  });
});

describe("F4.36 F4.37 superseded results", () => {
  test("F4.36 F4.37 a newer read removes the older read, and lists it", () => {
    const messages = [says("user", "look"), ...round("c1", a), ...round("c2", b), says("assistant", "again"), ...round("c3", a)];
    expect(trim(messages)).toEqual([
      says("user", "look"),
      ...round("c2", b),
      says("assistant", "again"),
      called("c3", a, "turn of c3"),
      { ...answered("c3"), supersedes: ["c1"] },
    ]);
  });

  test("F4.36 F4.37 a partly superseded message keeps its calls, and a line names the newer call", () => {
    const messages = [called("c1", a), called("c2", b), answered("c1", "old"), answered("c2", "current"), ...round("c3", a)];
    const trimmed = trim(messages);
    expect(trimmed).toEqual([
      called("c1", a),
      called("c2", b),
      { ...answered("c1"), result: lineOf("c1", NOTE_FOR_C3) },
      answered("c2", "current"),
      called("c3", a, "turn of c3"),
      { ...answered("c3"), supersedes: ["c1"] },
    ]);
    expect(trimmed.flatMap((entry) => (entry.role === "result" ? [resultText(entry.result)] : []))).toEqual([
      NOTE_FOR_C3,
      "current",
      "result of c3",
    ]);
  });

  test("F4.36 the line names the call by the provider's id, which the model knows", () => {
    const messages = [
      called("c1", a),
      called("c2", b),
      answered("c1"),
      answered("c2"),
      called("c3", a),
      answered("c3", "new", { id: "toolu_7" }),
    ];
    const line = trim(messages)[2];
    expect(line?.role === "result" && resultText(line.result)).toBe("[left out: superseded by files::read, call toolu_7]");
  });

  test("F4.37 when its last call is superseded, the whole message is removed with its results", () => {
    const messages = [called("c1", a), called("c2", b), answered("c1"), answered("c2"), ...round("c3", a), ...round("c4", b)];
    expect(trim(messages)).toEqual([
      called("c3", a, "turn of c3"),
      { ...answered("c3"), supersedes: ["c1"] },
      called("c4", b, "turn of c4"),
      { ...answered("c4"), supersedes: ["c2"] },
    ]);
  });

  test("F4.37 the newest of many supersedes all earlier ones", () => {
    const trimmed = trim([
      ...round("c1", a),
      ...round("c2", a),
      called("c3", a),
      called("c4", b),
      answered("c3"),
      answered("c4"),
      ...round("c5", a),
    ]);
    expect(trimmed).toEqual([
      called("c3", a),
      called("c4", b),
      { ...answered("c3"), result: lineOf("c3", "[left out: superseded by files::read, call c5]") },
      answered("c4"),
      called("c5", a, "turn of c5"),
      { ...answered("c5"), supersedes: ["c1", "c2", "c3"] },
    ]);
  });

  test("F4.37 of two calls in one message the later one is the newer", () => {
    const messages = [called("c1", a), called("c2", a), answered("c1"), answered("c2")];
    expect(trim(messages).map((entry) => (entry.role === "result" ? resultText(entry.result) : entry.role))).toEqual([
      "call",
      "call",
      "[left out: superseded by files::read, call c2]",
      "result of c2",
    ]);
  });

  test("F4.37 pinned results are kept, and supersede others", () => {
    const messages = [...round("c1", a), ...round("c2", a), ...round("c3", a)];
    const pinned = (callId: string): boolean => callId === "c2";
    expect(outline(trim(messages, { pinned }))).toEqual(["call c2", "result c2", "call c3", "result c3"]);
  });
});

describe("F4.37 calls that are not superseded", () => {
  test.each([
    ["unknown tools", "files::unknown", "files::unknown"],
    ["tools without a rule", "files::edit", "files::edit"],
    ["tools without a rule, whatever comes later", "files::edit", "files::read"],
    ["calls before one without a rule", "files::read", "files::edit"],
    ["calls of another toolset", "files::read", "notes::read"],
    ["calls before one whose rule throws", "files::read", "files::broken"],
    ["calls before one whose rule gives a promise", "files::read", "files::async"],
    ["calls of another location", "files::read", "files::read_at"],
  ])("F4.37 %s", (_what, older, newer) => {
    const messages = [...round("c1", a, { name: older }), ...round("c2", a, { name: newer })];
    expect(trim(messages)).toEqual(messages);
  });

  test("F4.36 a failed result that an earlier message names as superseded keeps its error in the line", () => {
    const messages = [
      called("c1", a),
      called("c0", b),
      answered("c1", "", { status: "error", error }),
      answered("c0"),
      called("c2", a, "turn of c2"),
      { ...answered("c2"), supersedes: ["c1"] },
      ...round("c3", a),
    ];
    const line = trim(messages).find((entry) => entry.role === "result" && entry.callId === "c1");
    expect(line).toMatchObject({ result: { status: "error", error, content: [{ text: NOTE_FOR_C3 }] } });
  });

  test.each(["error", "cancelled", "skipped", "partial"] as const)(
    "F4.37 a call that ended %s neither supersedes nor is superseded",
    (status) => {
      const messages = [
        called("c1", a),
        answered("c1", "", { status, error }),
        ...round("c2", a),
        called("c3", a),
        answered("c3", "", { status, error }),
      ];
      expect(trim(messages)).toEqual(messages);
    },
  );

  test("F4.37 calls without a result, and calls with an input that is not an object", () => {
    const messages = [...round("c1", '{"path":"a"}'), ...round("c2", [a]), called("c3", a), ...round("c4", a)];
    expect(trim(messages)).toEqual(messages);
  });
});

describe("a supersede rule is called", () => {
  test("with two calls with unqualified names, inputs and outputs, the newest first", () => {
    const asked: (readonly [PastCall, PastCall])[] = [];
    const supersedes: Supersedes = (newer, older) => asked.push([newer, older]) === 0;
    const messages = [
      ...round("c1", a, { output: 1 }),
      called("c2", undefined),
      answered("c2", [2]),
      ...round("c3", b, { output: { n: 3 } }),
    ];
    expect(trim(messages, { toolOf: () => ({ supersedes }) })).toEqual(messages);
    const [c1, c2, c3] = [
      { name: "read", input: a, output: 1 },
      { name: "read", input: {}, output: [2] },
      { name: "read", input: b, output: { n: 3 } },
    ];
    expect(asked).toEqual([
      [c2, c1],
      [c3, c2],
      [c3, c1],
    ]);
  });

  test("with the input that ran, if it is known", () => {
    const messages = [...round("c1", a), ...round("c2", '{"path":"a"}')];
    const inputOf = (callId: string): typeof a | undefined => (callId === "c2" ? a : undefined);
    expect(outline(trim(messages, { inputOf }))).toEqual(["call c2", "result c2"]);
  });

  test("for at most 100 calls that it does not supersede, or if it has locations, only for calls at the same location", () => {
    let asked = 0;
    const counting =
      (rule: Supersedes): Supersedes =>
      (newer, older) => {
        asked++;
        return rule(newer, older);
      };
    const distinct = Array.from({ length: 1_000 }, (_none, index) => round(`c${index}`, { path: `f${index}` })).flat();
    const messages = [...distinct, ...round("near", { path: "f999" }), ...round("far", { path: "f0" })];
    const plain = trim(messages, { toolOf: () => ({ supersedes: counting(samePath) }) });
    expect([plain.length, asked]).toEqual([messages.length - 2, (99 * 100) / 2 + 900 * 100 + 101 + 100]);
    asked = 0;
    const located = Object.assign(counting(atPath), { locationOf: atPath.locationOf });
    expect([trim(messages, { toolOf: () => ({ supersedes: located }) }).length, asked]).toEqual([messages.length - 4, 2]);
  });

  test("for no call whose location is undefined or throws", () => {
    const locationOf = ({ input }: PastCall): string | undefined => {
      if (input["path"] === "b") throw new Error("no location");
      return undefined;
    };
    const supersedes = Object.assign(() => true, { locationOf });
    const messages = [...round("c1", a), ...round("c2", b), ...round("c3", a), ...round("c4", b)];
    expect(trim(messages, { toolOf: () => ({ supersedes }) })).toEqual(messages);
  });
});

describe("F4.37 any history", () => {
  test("F4.37 keeps its pairs and the newest result of everything, is not modified, and is trimmed once", () => {
    fc.assert(
      fc.property(anyHistory(), fc.integer({ min: 0, max: 1_500 }), (messages, budgetBytes) => {
        const before = structuredClone(messages);
        const trimmed = trim(messages, { budgetBytes });
        expect(messages).toEqual(before);
        expect(ids(trimmed, "result")).toEqual(ids(trimmed, "call"));
        const again = trim(trimmed, { budgetBytes });
        expect(again.every((entry, index) => entry === trimmed[index]) && again.length === trimmed.length).toBe(true);
        if (historyBytes(messages) <= budgetBytes * 0.75) expect(trimmed).toEqual(messages);
        expect(lastReads(trimmed)).toEqual(lastReads(messages));
      }),
    );
  });

  test("F4.37 is the same when an earlier trimmed history is trimmed again with later messages", () => {
    fc.assert(
      fc.property(anyHistory(), anyHistory("later"), fc.integer({ min: 0, max: 1_500 }), (first, later, budgetBytes) => {
        const stepwise = trim([...trim(first, { budgetBytes }), ...later], { budgetBytes });
        expect(stepwise.map(withoutOrder)).toEqual(trim([...first, ...later], { budgetBytes }).map(withoutOrder));
      }),
    );
  });

  test("F4.37 and is so at every budget, to the byte", () => {
    const batch = (turn: string, ...paths: readonly string[]): readonly ModelMessage[] => [
      ...paths.map((path) => called(turn + path, { path }, turn)),
      ...paths.map((path) => answered(turn + path, path.repeat(100))),
    ];
    const soonGone = ["s1", "s2", "s3", "s4", "s5"].flatMap((turn) => batch(turn, "a"));
    const first = [...soonGone, ...batch("t1", "a", "b", "c"), ...batch("t2", "a", "d"), ...batch("t3", "b")];
    const later = [...batch("t4", "a"), ...batch("t5", "b"), ...batch("t6", "a")];
    const unequal = Array.from({ length: 2_000 }, (_none, budgetBytes) => budgetBytes).filter((budgetBytes) => {
      const options = { budgetBytes, threshold: 1 };
      const stepwise = trim([...trim(first, options), ...later], options);
      return JSON.stringify(stepwise.map(withoutOrder)) !== JSON.stringify(trim([...first, ...later], options).map(withoutOrder));
    });
    expect(unequal).toEqual([]);
  });

  test("F4.37 terminates and keeps all pairs when ids repeat and lists of superseded calls are forged", () => {
    const id = fc.constantFrom("c1", "c2", "c3", "c4");
    const entry = fc.oneof(
      fc.tuple(id, fc.constantFrom(a, b)).map(([callId, input]) => called(callId, input)),
      fc.tuple(id, fc.array(id, { maxLength: 3 })).map(([callId, supersedes]) => ({ ...answered(callId), supersedes })),
    );
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 20 }), (messages) => {
        const trimmed = trim(messages);
        const lost = (role: "call" | "result"): readonly string[] =>
          [...new Set(ids(messages, role))].filter((callId) => !ids(trimmed, role).includes(callId));
        for (const callId of lost("call")) expect(ids(trimmed, "result")).not.toContain(callId);
        for (const callId of lost("result")) expect(ids(trimmed, "call")).not.toContain(callId);
      }),
    );
  });
});

function lineOf(callId: string, text: string): object {
  const content = [{ type: "text", text }];
  return { callId, name: "files::read", status: "ok", content, origin: "live", attempts: 1, durationMs: 5, repairs: [], warnings: [] };
}

function textOfEntry(entry: ModelMessage): string {
  return entry.role === "result" ? resultText(entry.result) : JSON.stringify(entry);
}

/** Batches of reads of a few files, some of them failing, of one turn each. */
function anyHistory(prefix = "c"): fc.Arbitrary<readonly ModelMessage[]> {
  const read = fc.record({ path: fc.constantFrom("a", "b", "c"), ok: fc.boolean(), size: fc.integer({ min: 0, max: 200 }) });
  const part = fc.oneof(fc.constant("user" as const), fc.array(read, { minLength: 1, maxLength: 3 }));
  return fc.array(part, { maxLength: 15 }).map((parts) =>
    parts.flatMap((reads, turn): readonly ModelMessage[] => {
      if (reads === "user") return [says("user", "go on")];
      const calls = reads.map(({ path }, index) => called(`${prefix}${turn}.${index}`, { path }, `${prefix}${turn}`));
      const results = reads.map(({ ok, size }, index) =>
        answered(`${prefix}${turn}.${index}`, "x".repeat(size), ok ? {} : { status: "error", error }),
      );
      return [...calls, ...results];
    }),
  );
}

/** The call that last told of each file. */
function lastReads(messages: readonly ModelMessage[]): Readonly<Record<string, string>> {
  const paths = new Map(messages.flatMap((entry) => (entry.role === "call" ? [[entry.callId, JSON.stringify(entry.call.input)]] : [])));
  const last: Record<string, string> = {};
  for (const entry of messages)
    if (entry.role === "result" && entry.result.status === "ok") last[paths.get(entry.callId) ?? ""] = entry.callId;
  return last;
}

function withoutOrder(entry: ModelMessage): unknown {
  return entry.role === "result" && entry.supersedes !== undefined ? { ...entry, supersedes: entry.supersedes.toSorted() } : entry;
}

function ids(messages: readonly ModelMessage[], role: "call" | "result"): readonly string[] {
  return messages.flatMap((message) => (message.role === role ? [message.callId] : [])).sort();
}
