import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ToolCall } from "../../src/core/call.ts";
import type { JsonSchema } from "../../src/core/tool.ts";
import { Registry } from "../../src/registry/registry.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { validateInput, validateOutput } from "../../src/schema/validation-result.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";
import { repeated } from "../ci.ts";

const trap = (): never => {
  throw new Error("a trap");
};

/** Makes a value that the generator itself must not touch. */
class Odd {
  readonly make: () => unknown;

  constructor(make: () => unknown) {
    this.make = make;
  }
}

/** The value that was generated, with the odd ones in it made, as deep as the generators below put them. */
function real(value: unknown): unknown {
  if (value instanceof Odd) return value.make();
  if (typeof value !== "object" || value === null || ![Object.prototype, null].includes(Object.getPrototypeOf(value))) return value;
  const odd = Object.entries(value).filter(([, field]) => field instanceof Odd);
  return odd.length === 0 ? value : { ...value, ...Object.fromEntries(odd.map(([key, field]) => [key, real(field)])) };
}

/** Whatever a program without types may hold, objects that throw when they are touched among them. */
const anything = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withNullPrototype: true,
      withSparseArray: true,
    }),
  },
  fc.constantFrom<unknown>(
    undefined,
    null,
    Symbol("x"),
    new Odd(() => () => trap()),
    new Odd(() => new Proxy({}, { get: trap, has: trap, ownKeys: trap, getPrototypeOf: trap })),
    new Odd(() => new Proxy([], { get: trap })),
    new Odd(() => Object.defineProperty({}, "name", { get: trap, enumerable: true })),
    new Odd(() => Object.defineProperty({}, "then", { get: trap })),
    new Odd(() => ({ then: trap })),
    new Odd(() => ({ toJSON: trap })),
    new Odd(() => {
      const self: unknown[] = [];
      self.push(self);
      return self;
    }),
  ),
);

const names = fc.constantFrom("press", "default::press", "fail", "odd", "strict", "press:", "::", "constructor", "__proto__", "");
const call = fc.oneof(
  { weight: 1, arbitrary: anything },
  {
    weight: 3,
    arbitrary: fc.record(
      { id: anything, name: fc.oneof(names, anything), input: anything, arguments: anything },
      { requiredKeys: ["name"] },
    ),
  },
  { weight: 2, arbitrary: fc.record({ name: names, input: fc.oneof(fc.object(), fc.json(), fc.string()) }) },
);

const schema = fc.oneof(
  anything,
  fc.object(),
  fc.record(
    {
      type: fc.constantFrom("object", "array", "string", "nothing", 5),
      properties: fc.dictionary(fc.string(), anything),
      required: anything,
      items: anything,
      minimum: anything,
      pattern: fc.oneof(fc.string(), anything),
      enum: anything,
      $ref: fc.oneof(fc.string(), anything),
    },
    { requiredKeys: [] },
  ),
);

describe("F2.30 only a duplicate name throws", () => {
  test("F2.30 any calls, in any order and with any handlers, give one result each and never reject", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(call, { maxLength: 6 }), anything, anything, fc.boolean(), async (calls, answer, thrown, validate) => {
        const ports = fakePorts();
        const ended: string[] = [];
        const tool = (name: string, execute: () => unknown, inputSchema: JsonSchema = {}) => ({
          name,
          description: "",
          inputSchema,
          execute,
          maxAttempts: 1,
        });
        const runtime = createRuntime({
          ports,
          onEvent: (event) => void (event.type === "call-end" && ended.push(event.callId)),
          tools: [
            tool("press", () => "oil"),
            tool("odd", () => real(answer)),
            tool("fail", () => {
              throw real(thrown);
            }),
            tool("strict", () => "never mind", { type: "object", required: ["olives"], additionalProperties: false }),
          ],
        });
        const results = await runtime.execute(calls.map(real) as readonly ToolCall[], { validate });
        expect(results).toHaveLength(calls.length);
        expect(new Set(ended)).toEqual(new Set(results.map(({ callId }) => callId)));
        expect(ended).toHaveLength(calls.length);
        for (const result of results) {
          expect(["ok", "partial", "error"]).toContain(result.status);
          expect(result.error === undefined).toBe(result.status === "ok");
          expect(JSON.parse(JSON.stringify(result))).toEqual(result);
        }
      }),
      { numRuns: repeated(300) },
    );
  });

  test("F2.30 validating any value against any schema gives a verdict with its reasons", () => {
    fc.assert(
      fc.property(anything, schema, (data, rules) => {
        for (const { valid, errors } of [validateInput(real(data), real(rules)), validateOutput(real(data), real(rules))]) {
          expect(valid).toBe(errors.length === 0);
          expect(errors.every((error) => typeof error === "string")).toBe(true);
        }
      }),
      { numRuns: repeated(1_000) },
    );
  });

  test("F2.30 F2.9 a registry throws for a duplicate name, and for nothing else in complete tools", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ minLength: 1, maxLength: 9 }).filter((name) => /^[a-z0-9_]+$/u.test(name))), (unique) => {
        const registry = new Registry();
        for (const name of unique) registry.register({ name, description: "" });
        for (const name of unique)
          expect(() => registry.register({ name, description: "" })).toThrow(expect.objectContaining({ code: "duplicate" }));
        expect(registry.size).toBe(unique.length);
      }),
    );
  });
});
