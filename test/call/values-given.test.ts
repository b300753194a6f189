/** A value that a program gives is made JSON by one rule, wherever it gives it, and the call that it belongs to has one recorded end. */
import { describe, expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import type { ToolResult } from "../../src/core/result.ts";
import { ToolOutput } from "../../src/core/content.ts";
import { pure } from "../../src/core/resources/effects.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";

class Point {
  readonly x = 1;
  readonly #y = 2;
  get length(): number {
    return this.#y;
  }
}

const sparse: unknown[] = [1];
sparse[2] = 3;
const circular: Record<string, unknown> = {};
circular["self"] = circular;

function nested(depth: number): object {
  let value = {};
  for (let level = 0; level < depth; level++) value = { value };
  return value;
}

const throwing = {
  get a(): never {
    throw new Error("no");
  },
};
const proxy = new Proxy({ q: 1 }, {});
const throwingProxy = new Proxy({ q: 1 }, { get: () => expect.fail("a trap that throws") });

/** What is given as `value` of an object, and what becomes of it there: JSON, or the place and the reason for which it is none. */
const kept: readonly (readonly [string, unknown, unknown])[] = [
  ["an undefined property", { a: undefined, b: 1 }, { b: 1 }],
  ["an undefined item", [{ a: 1 }, undefined, { b: undefined }], [{ a: 1 }, null, {}]],
  ["a hole", sparse, [1, null, 3]],
  ["-0", [-0, { a: -0 }], [0, { a: 0 }]],
  ["a date", new Date(0), "1970-01-01T00:00:00.000Z"],
  ["an address", new URL("http://example.com/"), "http://example.com/"],
  ["a toJSON()", { toJSON: () => [5] }, [5]],
  ["a property whose toJSON() returns undefined", { a: { toJSON: () => undefined }, b: 1 }, { b: 1 }],
  ["an item whose toJSON() returns undefined", [{ toJSON: () => undefined }, new Date(0)], [null, "1970-01-01T00:00:00.000Z"]],
  ["an instance", new Point(), { x: 1 }],
  ["a symbol as a key", { [Symbol("s")]: 1, a: 1 }, { a: 1 }],
  ["no prototype", Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
  ["a key to the prototype", JSON.parse('{"__proto__":{"a":1},"b":1}'), { b: 1 }],
  ["a proxy", proxy, { q: 1 }],
];

const refused: readonly (readonly [string, unknown, string])[] = [
  ["NaN", Number.NaN, "$.value: NaN is not a JSON number"],
  ["Infinity", [-Infinity], "$.value[0]: -Infinity is not a JSON number"],
  ["a bigint", { id: 1n }, "$.value.id: a bigint is not JSON"],
  ["a symbol", Symbol("s"), "$.value: a symbol is not JSON"],
  ["a function", [() => 1], "$.value[0]: a function is not JSON"],
  ["a Map", new Map([[1, 2]]), "$.value: a Map is not JSON"],
  ["a Set", new Set([1]), "$.value: a Set is not JSON"],
  ["bytes", new Uint8Array(2), "$.value: an Uint8Array is not JSON"],
  ["an invalid date", new Date(Number.NaN), "$.value: a Date is not JSON"],
  ["a promise", Promise.resolve(1), "$.value: a Promise is not JSON"],
  ["a toJSON() that throws", { toJSON: () => expect.fail("no") }, "$.value: its toJSON() threw"],
  ["a getter that throws", throwing, '$.value: reading "a" threw'],
  ["a proxy that throws", throwingProxy, '$.value: reading "toJSON" threw'],
  ["a cycle", circular, "$.value.self: is circular: it contains itself"],
];

const places = [
  "an answer",
  "the output of a ToolOutput",
  "an input",
  "an input changed by a hook",
  "an output changed by a hook",
  "the state",
] as const;
type Place = (typeof places)[number];

/** Gives `value` in a place, and returns what was made of it there and the result of the call. */
async function giveIn(
  place: Place,
  value: unknown,
): Promise<{ readonly result: ToolResult; readonly made: unknown; readonly ends: number }> {
  const given = { value };
  let made: unknown;
  let ends = 0;
  const logged: string[] = [];
  const tool = defineTool({
    name: "take",
    description: "Takes a value.",
    effects: pure,
    maxAttempts: 1,
    execute: (input, context) => {
      if (place === "an answer") return given;
      if (place === "the output of a ToolOutput") return new ToolOutput({ output: given });
      if (place === "the state") {
        context.state.update("k", () => given as never);
        made = context.state.get("k");
      } else made = input;
      return null;
    },
  });
  const runtime = createRuntime({
    tools: [tool],
    ports: { log: { debug: () => undefined, warn: (text) => void logged.push(text) } },
    hooks: [
      {
        name: "hook",
        ...(place === "an input changed by a hook" ? { beforeCall: (call) => ({ ...call, input: given }) } : {}),
        ...(place === "an output changed by a hook" ? { afterCall: (result) => ({ ...result, output: given as never }) } : {}),
      },
    ],
  });
  runtime.subscribe(({ type }) => void (ends += type === "call-end" ? 1 : 0));
  const result = await runtime.execute({ name: "take", input: place === "an input" ? given : {} });
  await runtime.close();
  const isAnswer = place !== "an input" && place !== "an input changed by a hook" && place !== "the state";
  if (isAnswer) made = result.output;
  return { result: logged.length > 0 ? { ...result, error: { ...result.error, message: logged.join() } as never } : result, made, ends };
}

describe.each(places)("%s", (place) => {
  test.each(kept)("keeps %s as JSON writes it", async (_, value, expected) => {
    const { result, made, ends } = await giveIn(place, value);
    expect({ status: result.status, made, ends }).toStrictEqual({ status: "ok", made: { value: expected }, ends: 1 });
  });

  test.each(refused)("rejects %s, and names its place", async (_, value, reason) => {
    const { result, ends } = await giveIn(place, value);
    expect(result.error?.message).toContain(reason);
    expect(ends).toBe(1);
  });

  test("is not walked deeper than the limit", async () => {
    const { result, ends } = await giveIn(place, nested(10_000));
    expect(result.error?.message).toMatch(/nesting deeper than 64 levels|is too large/u);
    expect(ends).toBe(1);
  });
});

class RemoteError extends Error {
  toJSON(): object {
    return { message: this.message, config: { headers: { authorization: "Bearer hunter2" } } };
  }
}

test.each([
  ["a ToolError", new ToolError("not_found", "No such user."), "a ToolError"],
  ["an error with a toJSON() of its own", new RemoteError("bad"), "a RemoteError"],
  ["an error in a ToolOutput", new ToolOutput({ output: new RemoteError("bad") }), "a RemoteError"],
])("F1.2 %s that a handler returns is not taken for a good answer", async (_, returned, named) => {
  const runtime = createRuntime({
    tools: [defineTool({ name: "take", description: "", effects: pure, execute: () => returned as never })],
  });
  const { status, output, error } = await runtime.execute({ name: "take" });
  await runtime.close();
  expect({ status, output, code: error?.code }).toEqual({ status: "error", output: undefined, code: "not_json" });
  expect(error?.message).toContain(`${named} is not JSON`);
});
