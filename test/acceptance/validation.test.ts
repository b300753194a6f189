/** Validation of parameters by itself (seed 003, part 3). */
import { expect, test } from "vitest";
import { Registry } from "../../src/registry/registry.ts";
import { ValidationResult } from "../../src/schema/validation-result.ts";

const TRAVEL = {
  name: "travel",
  description: "Goes somewhere.",
  inputSchema: {
    type: "object",
    properties: {
      place: { type: "string", pattern: "^[a-z]+$" },
      speed: { type: "integer", minimum: 1, maximum: 9 },
      mode: { enum: ["walk", "ride"] },
      horse: { type: "string" },
      coins: { type: "integer" },
      ticket: { type: "string" },
      fast: { type: "boolean", default: false },
    },
    required: ["place"],
    additionalProperties: false,
    allOf: [
      { if: { properties: { mode: { const: "ride" } }, required: ["mode"] }, then: { required: ["horse"] } },
      { not: { required: ["coins", "ticket"] } },
    ],
  },
  effects: { reads: [], writes: [] },
  validate: ({ place }: { readonly place?: unknown }) => (place === "nowhere" ? ["$.place: there is no such place"] : []),
  execute: () => {
    throw new Error("it ran");
  },
} as const;

const travel = new Registry().register(TRAVEL);

test("F3.7 F3.10 a check by itself gives the cleaned input and a warning for each repair, and runs nothing", async () => {
  const checked = await travel.validate({ place: "inn", speed: "5", Mode: "walk", hat: 1 });

  expect(checked).toBeInstanceOf(ValidationResult);
  expect(checked).toMatchObject({ valid: true, errors: [], input: { place: "inn", speed: 5, mode: "walk", fast: false } });
  expect(checked.warnings).toEqual([
    expect.stringMatching(/^\$\.speed: /u),
    expect.stringMatching(/^\$\.(?:Mode|mode): /u),
    expect.stringMatching(/^\$\.hat: /u),
    expect.stringMatching(/^\$\.fast: /u),
  ]);
});

test("F3.7 an input that fits as it is has no warnings and comes back equal", async () => {
  const input = { place: "inn", fast: true };
  expect(await travel.validate(input)).toMatchObject({ valid: true, warnings: [], input });
});

test("F3.7 F3.9 the rules of the tool itself are part of the check; an input with errors has no cleaned form", async () => {
  const checked = await travel.validate({ place: "nowhere" });

  expect([checked.valid, checked.errors, checked.input]).toEqual([false, ["$.place: there is no such place"], undefined]);
});

test("F3.8 faults of all four stages are told together: required, type, constraint, dependency", async () => {
  const { errors } = await travel.validate({ speed: "quick", mode: "fly", coins: 1, ticket: "x" });
  expect(errors).toEqual([
    "$.place: required field missing",
    expect.stringMatching(/^\$\.speed: expected type integer, got string/u),
    expect.stringMatching(/^\$\.mode: /u),
    expect.stringMatching(/^\$: /u),
  ]);

  const riding = await travel.validate({ place: "INN", speed: 12, mode: "ride" });
  expect(riding.errors).toEqual([
    expect.stringMatching(/^\$\.place: /u),
    expect.stringMatching(/^\$\.speed: /u),
    "$.horse: required field missing",
  ]);
});

test("F3.8 a value that would be repaired is not told as a fault beside one that cannot be", async () => {
  const checked = await travel.validate({ place: "inn", speed: "5", mode: "ride", fast: "true" });

  expect(checked.errors).toEqual(["$.horse: required field missing"]);
});
