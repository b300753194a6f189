import { describe, expect, test } from "vitest";
import { type ElicitationForm, readForm } from "../../../src/engine/mcp/elicitation-form.ts";
import type { JsonObject } from "../../../src/core/base/json.ts";

const formOf = (properties: JsonObject, more: JsonObject = {}): ElicitationForm => {
  const form = readForm({ type: "object", properties, ...more });
  if (typeof form === "string") throw new Error(form);
  return form;
};

describe("a form is rejected", () => {
  test.each([
    ["not an object", { type: "string" }, "its form is not an object schema"],
    ["without fields", { type: "object" }, "its form has no fields"],
    ["with an object inside", { type: "object", properties: { a: { type: "object" } } }, 'its field "a" is not of a simple type'],
    ["with a reference", { type: "object", properties: { a: { type: "string", $ref: "#/x" } } }, 'its field "a" is not of a simple type'],
    [
      "with a list of anything",
      { type: "object", properties: { a: { type: "array", items: {} } } },
      'its field "a" is not of a simple type',
    ],
    [
      "with a broken schema",
      { type: "object", properties: { a: { type: "string", minLength: -1 } } },
      "its form is not a JSON Schema that can be used",
    ],
  ])("if it is %s", (_what, schema, problem) => {
    expect(readForm(schema)).toBe(problem);
  });

  test("if it has more than 50,000 characters", () => {
    const properties = { a: { type: "string", description: "x".repeat(60_000) } };

    expect(readForm({ type: "object", properties })).toBe("its form has more than 50000 characters");
  });

  test("if it has more than a hundred fields", () => {
    const properties = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`f${index}`, { type: "string" }]));

    expect(readForm({ type: "object", properties })).toBe("its form has more than 100 fields");
  });
});

describe("fields for secrets", () => {
  test.each([
    [{ pw: { type: "string", title: "Password" } }, "pw"],
    [{ value: { type: "string", description: "Your API key" } }, "value"],
    [{ x: { type: "string", format: "password" } }, "x"],
    [{ githubToken: { type: "string" } }, "githubToken"],
    [{ card_number: { type: "string" } }, "card_number"],
    [{ ok: { type: "string" }, ssh_key: { type: "string" } }, "ssh_key"],
  ])("D13 %j asks for a secret", (properties, field) => {
    expect(formOf(properties).secret).toBe(field);
  });

  test.each([
    [{ note: { type: "string", description: "Do not enter your password here" } }],
    [{ keyboard: { type: "string" } }],
    [{ opinion: { type: "string" } }],
    [{ tokenizer: { type: "string" } }],
    [{ kind: { type: "string", title: "Token kind", enum: ["bearer", "basic"] } }],
    [{ keepSecret: { type: "boolean" } }],
    [{ max_tokens: { type: "integer", title: "How many tokens may it have?" } }],
    [{ message: { type: "string", description: "Which message shall I pin?" } }],
  ])("%j does not ask for a secret", (properties) => {
    expect(formOf(properties).secret).toBeUndefined();
  });
});

describe("the answer to a form", () => {
  const fields = {
    name: { type: "string", default: "Ann" },
    count: { type: "integer", minimum: 1, default: 2 },
    kinds: { type: "array", items: { type: "string", enum: ["a", "b"] }, default: ["a"] },
  };

  test("SEP-1034 gets defaults for omitted fields and loses unknown fields", () => {
    expect(formOf(fields).complete({ count: 5, extra: true })).toEqual({ content: { name: "Ann", count: 5, kinds: ["a"] } });
  });

  test.each([
    [{ count: 0 }, "$.count"],
    [{ kinds: ["c"] }, "$.kinds[0]"],
    [{ name: null }, "$.name"],
  ])("%j is rejected", (content, path) => {
    expect(formOf(fields).complete(content)).toEqual({ problem: expect.stringContaining(path) });
  });

  test("does not satisfy a required field with an inherited property of the same name", () => {
    expect(formOf({ constructor: { type: "string" } }, { required: ["constructor"] }).complete({})).toEqual({
      problem: expect.stringContaining("constructor"),
    });
  });
});
