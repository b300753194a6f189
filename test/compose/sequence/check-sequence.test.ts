import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { pure, readOnly } from "../../../src/core/resources/effects.ts";
import type { JsonSchema } from "../../../src/core/tool.ts";
import { checkSequence, type CheckSequenceOptions } from "../../../src/compose/sequence/check-sequence.ts";
import { SEQUENCE_REASONS, type SequenceProblem } from "../../../src/compose/sequence/sequence-problem.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";

const object = (properties: Readonly<Record<string, JsonSchema>>, more: object = {}): JsonSchema => ({
  type: "object",
  properties,
  ...more,
});

const TOOLS = [
  { name: "find", inputSchema: object({ query: { type: "string" }, limit: { type: "integer" } }, { required: ["query"] }) },
  {
    name: "open",
    inputSchema: object(
      { id: { type: "integer" }, tags: { type: "array", items: { type: "string", minLength: 2 } } },
      { required: ["id"], additionalProperties: false },
    ),
  },
  { name: "sum", inputSchema: object({ numbers: { type: "array", items: { type: "number" }, minItems: 2 }, to: { enum: ["a", "b"] } }) },
  { name: "broken", inputSchema: { type: "nonsense" } as JsonSchema },
];

const find = { id: "$1", name: "find", arguments: { query: "x" } };

function problemsOf(calls: unknown, options: CheckSequenceOptions = {}): readonly SequenceProblem[] {
  const checked = checkSequence(calls, { tools: TOOLS, ...options });
  return checked.valid ? [] : checked.problems;
}

const reasons = (problems: readonly SequenceProblem[]): readonly string[] => problems.map(({ reason, index }) => `${index} ${reason}`);

describe("F0.61 each defect has a reason of its own", () => {
  const throwing = {
    get name(): string {
      throw new Error("no");
    },
  };
  const cases: readonly {
    readonly reason: string;
    readonly calls: unknown;
    readonly options?: CheckSequenceOptions;
    readonly found: readonly string[];
  }[] = [
    { reason: "malformed: no list", calls: { name: "find" }, found: ["-1 malformed"] },
    { reason: "malformed: too many", calls: Array.from({ length: 1_001 }, () => find), found: ["-1 malformed"] },
    { reason: "malformed: no object", calls: ["find", null, [find]], found: ["0 malformed", "1 malformed", "2 malformed"] },
    { reason: "malformed: throws", calls: [throwing], found: ["0 malformed"] },
    { reason: "malformed: arguments are text", calls: [{ name: "find", arguments: '{"query":"x"}' }], found: ["0 malformed"] },
    {
      reason: "malformed: a name or an id that is none",
      calls: [
        { ...find, id: {} },
        { ...find, id: "2", name: 5 },
      ],
      found: ["0 malformed", "1 malformed"],
    },
    { reason: "duplicate_call", calls: [find, { name: "find", input: { query: "x" } }], found: ["1 duplicate_call"] },
    { reason: "duplicate_id", calls: [find, { ...find, id: 1, arguments: { query: "y" } }], found: ["1 duplicate_id"] },
    {
      reason: "unknown_tool",
      calls: [
        { name: "fnd", arguments: {} },
        { name: "broken", arguments: {} },
      ],
      found: ["0 unknown_tool", "1 unknown_tool"],
    },
    { reason: "extra_keys", calls: [{ ...find, tool_type: "function" }], found: ["0 extra_keys"] },
    { reason: "extra_keys: both spellings", calls: [{ ...find, input: {} }], found: ["0 extra_keys"] },
    { reason: "missing_name", calls: [{ arguments: {} }, { name: "", arguments: {} }], found: ["0 missing_name", "1 missing_name"] },
    { reason: "missing_arguments", calls: [{ name: "find" }], found: ["0 missing_arguments"] },
    {
      reason: "schema_violation",
      calls: [
        { name: "find", input: { query: 5 } },
        { name: "find", input: {} },
      ],
      found: ["0 schema_violation", "1 schema_violation"],
    },
    { reason: "unknown_argument", calls: [{ name: "open", input: { id: 1, mode: "r" } }], found: ["0 unknown_argument"] },
    {
      reason: "unknown_argument where others are allowed",
      calls: [{ name: "find", input: { query: "x", mode: 1 } }],
      options: { declaredOnly: true },
      found: ["0 unknown_argument"],
    },
    {
      reason: "future_reference",
      calls: [{ name: "open", input: { id: "$1.id" } }, find, { id: 3, name: "open", input: { id: "$3" } }],
      found: ["0 future_reference", "2 future_reference"],
    },
    { reason: "indirect_reference", calls: [find, { name: "find", input: { query: "about $1.title" } }], found: ["1 indirect_reference"] },
    {
      reason: "missing_reference",
      calls: [find, { name: "open", input: { id: "$7.id" } }, { name: "open", input: { id: "$2" } }],
      found: ["1 missing_reference", "2 missing_reference"],
    },
    { reason: "nesting_required", calls: [find], options: { nesting: "required" }, found: ["-1 nesting_required"] },
    {
      reason: "nesting_forbidden",
      calls: [find, { name: "open", input: { id: "$1.id" } }],
      options: { nesting: "forbidden" },
      found: ["1 nesting_forbidden"],
    },
  ];
  test.each(cases)("$reason", ({ calls, options, found }) => {
    expect(reasons(problemsOf(calls, options))).toEqual(found);
  });

  test("every reason has a case", () => {
    expect(new Set(cases.flatMap(({ found }) => found.map((line) => line.split(" ")[1])))).toEqual(new Set(SEQUENCE_REASONS));
  });

  test("a problem has its path, the call as it was read, and a hint", () => {
    const call = { id: "$2", name: "open", arguments: { id: "$3.id", tags: ["x"] } };
    expect(problemsOf([find, call])).toEqual([
      {
        reason: "missing_reference",
        index: 1,
        path: "$.id",
        call: { id: "$2", name: "open", input: call.arguments },
        message: 'Call 1 refers to "$3.id", but there is no such call.',
        hint: 'Calls: $1, $2. For the text itself, write "$$3.id".',
      },
      {
        reason: "schema_violation",
        index: 1,
        path: "$.tags[0]",
        call: { id: "$2", name: "open", input: call.arguments },
        message: expect.stringMatching(/^open: \$\.tags\[0\]: /),
      },
    ]);
  });

  test("all problems are returned, in call order, at most 100", () => {
    const calls = [
      find,
      { name: "open", input: { id: "x $1", mode: 1 } },
      { name: "none", input: { a: "$9" } },
      { arguments: {}, id: 1, x: 1 },
    ];
    expect(reasons(problemsOf(calls))).toEqual([
      "1 indirect_reference",
      "1 unknown_argument",
      "2 missing_reference",
      "2 unknown_tool",
      "3 duplicate_id",
      "3 extra_keys",
      "3 missing_name",
    ]);
    expect(problemsOf(Array(500).fill(5))).toHaveLength(100);
  });
});

describe("F0.61 a value that is a reference", () => {
  const sound: readonly { readonly what: string; readonly call: unknown }[] = [
    { what: "is not checked by type", call: { name: "open", input: { id: "$1.id" } } },
    { what: "is not checked deep inside", call: { name: "open", input: { id: 1, tags: ["aa", "$1.a"] } } },
    { what: "counts as an item", call: { name: "sum", input: { numbers: [1, "$1.n"] } } },
    { what: "is not held against an enum", call: { name: "sum", input: { to: "$1.to" } } },
    { what: "stands beside values that the runtime would repair", call: { name: "sum", input: { numbers: ["5", "$1.n"], to: "A" } } },
  ];
  test.each(sound)("$what", ({ call }) => {
    expect(problemsOf([find, call])).toEqual([]);
  });

  test("does not exempt the rest of the input from the check", () => {
    const calls = [find, { name: "open", input: { tags: ["$1.a", "b"], $1: "$1" } }, { name: "sum", input: { numbers: ["$1"], to: "c" } }];
    expect(problemsOf(calls).map(({ reason, path }) => `${reason} ${path}`)).toEqual([
      "unknown_argument $.$1",
      "schema_violation $.id",
      "schema_violation $.tags[1]",
      "schema_violation $.numbers",
      "schema_violation $.to",
    ]);
  });
});

test("F0.61 a value that the runtime would repair is a violation only with strictTypes", () => {
  const calls = [{ name: "find", input: { query: "x", limit: "5" } }];
  expect(problemsOf(calls)).toEqual([]);
  expect(reasons(problemsOf(calls, { strictTypes: true }))).toEqual(["0 schema_violation"]);
});

test("F0.61 options turn off the checks of schemas, duplicates and references in text", () => {
  const calls = [
    find,
    { name: "find", input: { query: 5 } },
    { name: "find", input: { query: 5 } },
    { name: "find", input: { query: "x $1" } },
  ];
  expect(problemsOf(calls, { schemas: false, allowDuplicates: true, inText: true })).toEqual([]);
});

test("F0.61 a call that repeats another under the qualified name of its tool is a duplicate", async () => {
  const execute = (): number => 1;
  const runtime = createRuntime({ tools: [{ name: "find", description: "", inputSchema: {}, execute }] });
  const calls = ["find", "default::find"].map((name) => ({ name, input: { query: "x" } }));
  const check = checkSequence(calls, { tools: runtime.registry });
  expect(check.valid ? [] : reasons(check.problems)).toEqual(["1 duplicate_call"]);
  expect(checkSequence(calls).valid).toBe(true); // without tools, only their own texts are known
  await runtime.close();
});

test("F0.60 F0.61 a path whose first step is a number in dots is a reference, and never sent as text", () => {
  const query = { name: "find", input: { query: "$7.0.id" } };
  expect(reasons(problemsOf([find, query]))).toEqual(["1 missing_reference"]);
});

test("F0.61 money and variables are plain text; an amount that could be a call id is a reference", () => {
  const query = (text: string): unknown => ({ name: "find", input: { query: text } });
  expect(problemsOf([find, ...["$5.00", "$HOME", "$1,000", "costs $5", "$$5"].map(query)])).toEqual([]);
  expect(reasons(problemsOf([find, query("$5")]))).toEqual(["1 missing_reference"]);
});

test("F0.61 an unknown tool gets a suggestion of a similar tool, or the list of all tools if they are few", () => {
  const messages = problemsOf([
    { name: "fnd", arguments: {} },
    { name: "translate", arguments: {} },
  ]).map(({ message, hint }) => [message, hint]);
  expect(messages).toEqual([
    ['No tool "fnd". Did you mean "find"?', undefined],
    ['No tool "translate".', 'Tools: "broken", "find", "open", "sum".'],
  ]);
});

test("F0.61 an input with 100,000 wrong references reports at most 100 problems", () => {
  expect(problemsOf([find, { name: "find", input: { query: "x", all: Array.from({ length: 100_000 }, () => "$9.x") } }])).toHaveLength(100);
});

test("F0.61 invalid options throw", () => {
  expect(() => checkSequence([], { nesting: "maybe" as "allowed" })).toThrow('nesting of a sequence is "maybe"');
});

describe("F0.61 calls that may run in parallel", () => {
  const call = (id: number, name: string, ...needs: readonly number[]): unknown => ({
    id,
    name,
    input: { id, needs: needs.map((need) => `$${need}`) },
  });
  const layersOf = (calls: readonly unknown[], options: CheckSequenceOptions = {}): unknown => {
    const checked = checkSequence(calls, options);
    return checked.valid ? checked.layers : checked.problems;
  };
  const diamond = [call(1, "a"), call(2, "a", 1), call(3, "b"), call(4, "b", 1, 3), call(5, "a", 2, 4)];

  test("are in the first layer after the calls they refer to", () => {
    expect(layersOf(diamond)).toEqual([[0, 2], [1, 3], [4]]);
    expect(layersOf([])).toEqual([]);
  });

  test("are each in one layer, after all calls they refer to and no later than necessary", () => {
    const plan = fc.array(fc.array(fc.nat(30), { maxLength: 3 }), { maxLength: 30 });
    fc.assert(
      fc.property(plan, (drawn) => {
        const needs = drawn.map((numbers, index) => (index === 0 ? [] : numbers.map((number) => number % index)));
        const depths: number[] = [];
        for (const [index, earlier] of needs.entries()) depths[index] = Math.max(-1, ...earlier.map((one) => depths[one] ?? 0)) + 1;
        const layers = Array.from({ length: Math.max(-1, ...depths) + 1 }, (_, layer) =>
          [...depths.keys()].filter((index) => depths[index] === layer),
        );
        expect(layersOf(needs.map((earlier, index) => call(index, "a", ...earlier)))).toEqual(layers);
      }),
    );
  });

  test("keep their order if one of them may write, by the effects in a registry", async () => {
    const tool = (name: string, effects: typeof pure) => ({ name, description: name, inputSchema: { type: "object" }, effects });
    const tools = [tool("read", readOnly()), tool("write", { writes: ["x"] })];
    await using runtime = createRuntime({ toolsets: [{ name: "t", tools }] });
    const calls = [call(1, "read"), call(2, "write", 1), call(3, "read"), call(4, "t::read", 2), call(5, "write")];
    expect(layersOf(calls, { tools: runtime.registry })).toEqual([[0], [1, 2], [3, 4]]);
    expect(
      layersOf(
        calls.filter((_, index) => index !== 1 && index !== 3),
        { tools: runtime.registry },
      ),
    ).toEqual([[0, 1, 2]]);
  });
});

test("F0.61 tools of a registry are resolved as for calls, and one of several overloads must match", async () => {
  const overload = (type: string) => ({
    name: "get",
    description: type,
    inputSchema: object({ id: { type } }, { required: ["id"] }),
  });
  await using runtime = createRuntime({ toolsets: [{ name: "t", tools: [overload("array"), overload("object")], overloads: true }] });
  const check = (id: unknown, name = "get"): unknown => reasons(problemsOf([{ name, arguments: { id } }], { tools: runtime.registry }));
  expect([check([]), check({}), check(true), check([], "t::get"), check([], "got")]).toEqual([
    [],
    [],
    ["0 schema_violation"],
    [],
    ["0 unknown_tool"],
  ]);
  expect(problemsOf([{ name: "got", arguments: {} }], { tools: runtime.registry })[0]?.message).toBe(
    'No tool "got". Did you mean "t::get"?',
  );
});
