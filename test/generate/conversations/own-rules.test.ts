/** Sampled calls keep the rules of their tools that no schema says. */
import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../src/core/base/json.ts";
import type { ParsedInput, Tool } from "../../../src/core/tool.ts";
import { exampleEngine } from "../../../src/engine/example.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { filesToolset } from "../../../src/toolsets/files.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { generated } from "./generated.ts";
import { collectUnhandledRejections } from "../../unhandled-rejections.ts";

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

test("no generated call is rejected by validate() or parseInput() of its tool", async () => {
  const { summary } = await generated({ plan: PLAN, runtime: hotel(RULED) });
  expect(Object.keys(summary.dataset.tools).sort()).toEqual(["hotel::close_rooms", "hotel::find_guest", "hotel::list_rooms"]);
  expect(summary.statuses).toEqual({ ok: 240 });
});

test("generated edits of files are complete", async () => {
  const runtime = createRuntime({
    toolsets: [filesToolset({ root: temporaryFolder() })],
    answers: { engines: { example: exampleEngine() }, rules: [{ tools: "*", from: "example" }] },
  });
  const { summary } = await generated({ plan: PLAN, runtime, allow: { allow: ["*::edit", "*::multi_edit", "*::read"] } });
  expect(Object.keys(summary.dataset.tools)).toContainEqual(expect.stringContaining("::edit"));
  expect(summary.errors).toEqual({});
});

const LEFT_OUT = "Left out, since their own rules refuse every generated input: ";
const NO_PARAMETERS = { type: "object" } as const;
// oxlint-disable-next-line typescript/no-explicit-any -- rules of programs without types
const broken = (rules: any): Tool => ({ name: "broken", description: "Broken.", inputSchema: FROM_TO, ...rules });

test.for<readonly [what: string, tool: Tool]>([
  ["refuses every input", broken({ validate: () => ["never"] })],
  ["refuses every input later in a chain of rules", broken({ validate: () => [], parseInput: () => ({ issues: ["never"] }) })],
  ["refuses the only input of a schema without properties", broken({ inputSchema: NO_PARAMETERS, validate: () => ["never"] })],
  ["throws", broken({ validate: () => JSON.parse("{") })],
  ["answers validate() with a promise, which rejects", broken({ validate: async () => JSON.parse("{") })],
  ["answers validate() with nothing", broken({ validate: () => undefined })],
  ["answers parseInput() with nothing", broken({ parseInput: () => undefined })],
  ["changes its input, which is frozen in a call", broken({ validate: (input: JsonValue[]) => (Object.assign(input, { from: 0 }), []) })],
])("a tool that %s is not called, and a note says so", async ([, tool]) => {
  const unhandled = collectUnhandledRejections();
  const free: Tool = { name: "list_guests", description: "List guests.", inputSchema: EITHER };
  const { summary } = await generated({ plan: { ...PLAN, calls: 2 }, runtime: hotel([tool, free]) });
  await new Promise((resolve) => setImmediate(resolve));
  expect([summary.dataset.tools, summary.failed, unhandled]).toEqual([{ "hotel::list_guests": 80 }, 0, []]);
  expect(summary.notes).toContain(`${LEFT_OUT}hotel::broken.`);
});

test("when every tool's validation rejects everything, nothing is generated, and the error names the tools", async () => {
  const never = broken({ validate: () => ["never"] });
  await expect(generated({ plan: PLAN, runtime: hotel([never]) })).rejects.toMatchObject({
    code: "invalid_argument",
    details: [`${LEFT_OUT}hotel::broken.`],
  });
});

test("asynchronous validation does not run before the call, and a note says so", async () => {
  const later = broken({ parseInput: async (input: JsonValue) => ({ value: input }) });
  const { summary } = await generated({ plan: { ...PLAN, calls: 2 }, runtime: hotel([later]) });
  expect([summary.dataset.tools, summary.notes.filter((note) => note.startsWith("Left out"))]).toEqual([{ "hotel::broken": 80 }, []]);
  expect(summary.notes).toContain("Inputs may be refused by rules that answer later, which were not checked: hotel::broken.");
});

test("a value from an earlier result for which validation throws is left out, and the conversation continues", async () => {
  const order = { type: "object", properties: { order_id: { type: "string" } }, required: ["order_id"] } as const;
  const create: Tool = { name: "create_order", description: "Create an order.", inputSchema: EITHER, outputSchema: order };
  let asked = 0;
  const validate = ({ order_id: id }: JsonObject): readonly string[] =>
    asked++ > 8 && /[02468]$/u.test(String(id)) ? JSON.parse("{") : [];
  const get: Tool = { name: "get_order", description: "Get an order.", inputSchema: order, validate };
  const { summary } = await generated({ plan: { ...PLAN, sample: "chain" }, runtime: hotel([create, get]) });
  expect([summary.failed, summary.errors, Object.keys(summary.dataset.tools).length]).toEqual([0, {}, 2]);
});

test("a tool is used if its validation accepts one input in twenty", async () => {
  const sum = (text: string): number => Array.from(text).reduce((total, letter) => (total * 31 + letter.charCodeAt(0)) % 1_009, 7);
  const rare: Tool = {
    name: "get_order",
    description: "Get an order.",
    inputSchema: { type: "object", properties: { order_id: { type: "string" } }, required: ["order_id"] },
    validate: ({ order_id: id }) => (sum(String(id)) % 20 === 0 ? [] : ["no"]),
  };
  const { summary } = await generated({ plan: { ...PLAN, count: 100, calls: 2 }, runtime: hotel([rare]) });
  expect([summary.failed, summary.statuses]).toEqual([0, { ok: 200 }]);
});

test("a schema without properties but with minProperties gets a valid input", async () => {
  const note: Tool = { name: "add_labels", description: "Add labels.", inputSchema: { type: "object", minProperties: 1 } };
  const { summary } = await generated({ plan: PLAN, runtime: hotel([note]) });
  expect(summary.statuses).toEqual({ ok: 240 });
});

test("F0.25 L22 inputs have the formats that calls are checked for, and optional ones that cannot have them are left out", async () => {
  const contact: Tool = {
    name: "add_contact",
    description: "Adds a contact.",
    inputSchema: {
      type: "object",
      properties: { day: { type: "string", format: "date" }, note: { type: "string", format: "date", pattern: "^[0-9]{4}-$" } },
      required: ["day"],
    },
  };
  const never: Tool = { ...contact, name: "add_note", inputSchema: { ...Object(contact.inputSchema), required: ["note"] } };
  const { summary, lines } = await generated({
    runtime: createRuntime({
      toolsets: [{ name: "book", tools: [contact, never] }],
      answers: { engines: { example: exampleEngine({ seed: 1 }) }, rules: [{ tools: "*", from: "example" }] },
    }),
    plan: { kind: "sampled", count: 12, calls: 2, sample: "random" },
  });

  expect([summary.errors, summary.calls > 0]).toEqual([{}, true]);
  expect(lines.some((line) => line.includes('"note":"'))).toBe(false);
});
