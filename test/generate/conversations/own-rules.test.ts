/** Sampled calls keep the rules of their tools that no schema says. */
import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../src/core/base/json.ts";
import type { ParsedInput, Tool } from "../../../src/core/tool.ts";
import { exampleEngine } from "../../../src/engine/example.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { filesToolset } from "../../../src/toolsets/files.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { generated } from "./generated.ts";

const INTEGER = { type: "integer", minimum: 1, maximum: 9 } as const;
const FROM_TO = { type: "object", properties: { from: INTEGER, to: INTEGER }, required: ["from", "to"] } as const;
const EITHER = { type: "object", properties: { name: { type: "string" }, number: { type: "integer" }, limit: INTEGER } } as const;

const isRange = ({ from, to }: JsonObject): boolean => Number(from) < Number(to);
const parse = (input: JsonValue): ParsedInput => (isRange(input as JsonObject) ? { value: input } : { issues: ["to is not after from"] });

const RULED: readonly Tool[] = [
  {
    name: "find_guest",
    description: "Find a guest by name or number.",
    inputSchema: EITHER,
    validate: ({ name, number }) => ((name === undefined) === (number === undefined) ? ["give either name or number"] : []),
  },
  { name: "list_rooms", description: "List rooms in a range.", inputSchema: FROM_TO, parseInput: parse },
  {
    name: "close_rooms",
    description: "Close rooms in a range.",
    inputSchema: FROM_TO,
    validate: (input) => (isRange(input) ? [] : ["no"]),
  },
];

function hotel(tools: readonly Tool[]) {
  return createRuntime({
    toolsets: [{ name: "hotel", tools }],
    answers: { engines: { example: exampleEngine() }, rules: [{ tools: "*", from: "example" }] },
  });
}

const PLAN = { kind: "sampled", count: 40, calls: 6, sample: "random" } as const;

test("no call is refused by validate() or parseInput() of its tool", async () => {
  const { summary } = await generated({ plan: PLAN, runtime: hotel(RULED) });
  expect(Object.keys(summary.dataset.tools).sort()).toEqual(["hotel::close_rooms", "hotel::find_guest", "hotel::list_rooms"]);
  expect(summary.statuses).toEqual({ ok: 240 });
});

test("the edits of files that are drawn are whole", async () => {
  const runtime = createRuntime({
    toolsets: [filesToolset({ root: temporaryFolder() })],
    answers: { engines: { example: exampleEngine() }, rules: [{ tools: "*", from: "example" }] },
  });
  const { summary } = await generated({ plan: PLAN, runtime, allow: { allow: ["*::edit", "*::multi_edit", "*::read"] } });
  expect(Object.keys(summary.dataset.tools)).toContainEqual(expect.stringContaining("::edit"));
  expect(summary.errors).toEqual({});
});

test("a tool whose rules refuse every input, or are broken, is not called; one whose rules answer later is", async () => {
  const never: Tool = { name: "never", description: "Never.", inputSchema: FROM_TO, validate: () => ["never"] };
  const broken: Tool = {
    name: "broken",
    description: "Broken.",
    inputSchema: FROM_TO,
    validate: () => {
      throw new Error("broken");
    },
  };
  const later: Tool = { name: "later", description: "Later.", inputSchema: FROM_TO, parseInput: async (input) => ({ value: input }) };
  const { summary } = await generated({ plan: { ...PLAN, calls: 2 }, runtime: hotel([never, broken, later]) });
  expect(summary.dataset.tools).toEqual({ "hotel::later": 80 });
});
