import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../src/core/base/json.ts";
import { pure } from "../../src/core/resources/effects.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { compileSchema } from "../../src/schema/compile-schema.ts";
import { inlineReferences } from "../../src/server/mcp/inline-references.ts";
import { repeated } from "../ci.ts";
import { arbitrarySchema } from "../schema/arbitrary-schema.ts";
import { ERAS, openRuntime, overStdio } from "./mcp-clients.ts";

const colour = { type: "string", enum: ["red", "green"] };
const node = { type: "object", properties: { name: { type: "string" }, next: { $ref: "#/$defs/node" } } };

function inputOf(properties: JsonObject, rest: JsonObject = {}): JsonObject {
  return { type: "object", properties, ...rest };
}

describe("a schema with references", () => {
  test.each<readonly [string, JsonObject, JsonObject]>([
    [
      "has them written out, one within another as well, and loses its definitions",
      inputOf({ coat: { $ref: "#/$defs/coat" } }, { $defs: { colour, coat: { type: "array", items: { $ref: "#/$defs/colour" } } } }),
      inputOf({ coat: { type: "array", items: colour } }),
    ],
    [
      "keeps what describes the place of a reference, over what describes its definition",
      inputOf(
        { coat: { $ref: "#/$defs/colour", description: "Of the coat.", default: "red" } },
        { $defs: { colour: { ...colour, description: "One." } } },
      ),
      inputOf({ coat: { ...colour, description: "Of the coat.", default: "red" } }),
    ],
    [
      "has those to another place than a definition written out",
      inputOf({ coat: { $ref: "#/properties/hat" }, hat: colour }),
      inputOf({ coat: colour, hat: colour }),
    ],
    [
      "has those of older drafts written out",
      inputOf({ coat: { $ref: "#/definitions/colour" } }, { definitions: { colour } }),
      inputOf({ coat: colour }),
    ],
    [
      "keeps one to what holds itself, with its definition, and what this refers to is written out in it",
      inputOf(
        { first: { $ref: "#/$defs/link" } },
        { $defs: { colour, link: inputOf({ is: { $ref: "#/$defs/colour" }, next: { $ref: "#/$defs/link" } }) } },
      ),
      inputOf({ first: { $ref: "#/$defs/link" } }, { $defs: { link: inputOf({ is: colour, next: { $ref: "#/$defs/link" } }) } }),
    ],
    ["has one at the root written out, though it holds itself", { $ref: "#/$defs/node", $defs: { node } }, { ...node, $defs: { node } }],
    [
      "keeps one with a constraint beside it",
      inputOf({ coat: { $ref: "#/$defs/colour", minLength: 4 } }, { $defs: { colour } }),
      inputOf({ coat: { $ref: "#/$defs/colour", minLength: 4 } }, { $defs: { colour } }),
    ],
    [
      "keeps what its other definitions refer to, used or not",
      inputOf({ a: { ...inputOf({}), $defs: { own: { $ref: "#/$defs/node" } } } }, { $defs: { node } }),
      inputOf({ a: { ...inputOf({}), $defs: { own: { $ref: "#/$defs/node" } } } }, { $defs: { node } }),
    ],
    [
      "keeps a definition that is referred to in part with all that it refers to",
      inputOf(
        { a: { $ref: "#/$defs/part/properties/is", minLength: 1 } },
        { $defs: { part: inputOf({ is: colour, in: { $ref: "#/$defs/node" } }), node } },
      ),
      inputOf(
        { a: { $ref: "#/$defs/part/properties/is", minLength: 1 } },
        { $defs: { part: inputOf({ is: colour, in: { $ref: "#/$defs/node" } }), node } },
      ),
    ],
    [
      "keeps a definition whose name is encoded",
      inputOf({ a: { $ref: "#/$defs/n~1%25%20o", minLength: 1 } }, { $defs: { "n/% o": colour, colour } }),
      inputOf({ a: { $ref: "#/$defs/n~1%25%20o", minLength: 1 } }, { $defs: { "n/% o": colour } }),
    ],
    [
      "keeps all definitions where they are referred to together",
      inputOf({ a: { $ref: "#/definitions", minLength: 1 } }, { definitions: { colour } }),
      inputOf({ a: { $ref: "#/definitions", minLength: 1 } }, { definitions: { colour } }),
    ],
    [
      "keeps those to an argument that is mirrored in a header, whose name may be there once",
      inputOf({ here: { ...colour, "x-mcp-header": "Place" }, there: { $ref: "#/properties/here" } }),
      inputOf({ here: { ...colour, "x-mcp-header": "Place" }, there: { $ref: "#/properties/here" } }),
    ],
    ["keeps one that leads nowhere", inputOf({ coat: { $ref: "#/$defs/colour" } }), inputOf({ coat: { $ref: "#/$defs/colour" } })],
    [
      "keeps data and properties that look like one",
      inputOf({ $ref: colour, a: { const: { $ref: "#/$defs/colour" } }, b: { $ref: "#/$defs/colour" } }, { $defs: { colour } }),
      inputOf({ $ref: colour, a: { const: { $ref: "#/$defs/colour" } }, b: colour }),
    ],
  ])("%s", (_, schema, expected) => {
    expect(inlineReferences(schema)).toEqual(expected);
  });

  test("is unchanged where names depend on their place, or where it would become too large", () => {
    const scoped = inputOf({ coat: { $ref: "#/$defs/colour" } }, { $defs: { colour: { ...colour, $id: "https://example.org/colour" } } });
    const definitions = Object.fromEntries(
      Array.from({ length: 30 }, (_, at) => [`d${at}`, inputOf({ a: { $ref: `#/$defs/d${at + 1}` }, b: { $ref: `#/$defs/d${at + 1}` } })]),
    );
    const forked = inputOf({ a: { $ref: "#/$defs/d0" } }, { $defs: { ...definitions, d30: colour } });
    let deep: JsonObject = { $ref: "#/$defs/colour" };
    for (let depth = 0; depth < 500; depth++) deep = { type: "array", items: deep };
    const nested = inputOf({ deep }, { $defs: { colour } });
    const long = inputOf({ coat: { $ref: "#/$defs/colour" } }, { $defs: { colour: { ...colour, description: "x".repeat(100_000) } } });
    const often = Object.fromEntries(Array.from({ length: 400 }, (_, at) => [`p${at}`, { $ref: "#/$defs/colour" }]));
    const swollen = inputOf(often, { $defs: { colour: { ...colour, description: "x".repeat(10_000) } } });
    const wide = inputOf(often, {
      $defs: { colour: inputOf(Object.fromEntries(Array.from({ length: 4_000 }, (_, at) => [`q${at}`, true]))) },
    });
    const links = Array.from({ length: 500 }, (_, at) => [`d${at}`, { items: { $ref: `#/$defs/d${(at + 1) % 500}` } }]);
    const circle = inputOf(
      { link: { $ref: "#/$defs/d0" }, coat: { $ref: "#/$defs/colour" } },
      { $defs: { ...Object.fromEntries(links), colour } },
    );
    for (const schema of [scoped, forked, nested, long, swollen, wide, circle]) expect(inlineReferences(schema)).toBe(schema);
  });

  test("accepts the same values as before", () => {
    const values = fc.jsonValue({ maxDepth: 3 }).map((value) => value as JsonValue); // fast-check names the same type in its own words
    const input = fc.dictionary(fc.constantFrom("x", "y", "z"), values, { maxKeys: 3 });
    fc.assert(
      fc.property(arbitrarySchema, arbitrarySchema, fc.array(input, { minLength: 5, maxLength: 10 }), (one, other, inputs) => {
        const chain = inputOf({ a: { $ref: "#/$defs/chain" }, b: { $ref: "#/$defs/two" } });
        const two = { anyOf: [other, { type: "array", items: { $ref: "#/$defs/one" } }] };
        const schema = inputOf(
          { x: { $ref: "#/$defs/one", description: "x" }, y: { allOf: [{ $ref: "#/$defs/two" }] }, z: { $ref: "#/$defs/chain" } },
          { $defs: { one, two, chain } },
        );
        const inlined = inlineReferences(schema);
        expect(inlineReferences(inlined)).toEqual(inlined);
        const [before, after] = [compileSchema(schema), compileSchema(inlined)];
        for (const value of inputs) expect(after.check(value)).toBe(before.check(value));
      }),
      { numRuns: repeated(500) },
    );
  });
});

describe.each(ERAS)("a client of the %s era that drops definitions from schemas", (era) => {
  test("gets inputs with properties and without references", async () => {
    const paint = defineTool({
      name: "paint",
      description: "Paints.",
      inputSchema: inputOf({ coat: { $ref: "#/$defs/colour" } }, { $defs: { colour } }),
      effects: pure,
      execute: () => "done",
    });
    const rest = defineTool({ name: "rest", description: "Rests.", inputSchema: { type: "object" }, effects: pure, execute: () => "done" });
    const { runtime } = await openRuntime({ tools: [paint, rest] });
    const { client } = await overStdio(runtime, { era, session: "none" });
    const { tools } = await client.listTools();
    expect(tools.map(({ inputSchema }) => inputSchema)).toEqual([inputOf({ coat: colour }), inputOf({})]);
  });
});
