/** Calls that are no strict JSON: what a format takes, what it hands on as text, and what the runtime makes of that. */
import { expect, test } from "vitest";
import fc from "fast-check";
import { type JsonValue, isJsonObject } from "../../../src/core/base/json.ts";
import { seededRandom } from "../../../src/core/base/seeded-random.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { fixJsonText } from "../../../src/schema/repair/fix-json-text.ts";
import { TEXT_FORMATS, textFormat } from "../../../src/wire/text/formats.ts";
import { DAMAGES, isSame, randomArguments } from "../../schema/json-damage.ts";
import { writeTokens } from "../../schema/json-tokens.ts";
import { cut, readPieces, tool } from "./reading.ts";
import { repeated } from "../../ci.ts";

const READ = { name: "read", input: { path: "a" } };
const hermes = textFormat("hermes");

test.each<{ readonly says: string; readonly calls?: readonly unknown[]; readonly text?: string }>([
  {
    says: `<tool_call>{name: 'read', // it is small
        "arguments": {"path": "a",},}</tool_call>`,
    calls: [READ],
  },
  {
    says: `<tool_call>{"name": "read", "id": 12345678901234567890, "arguments": {"path": 12345678901234567890}}</tool_call>`,
    calls: [{ id: "12345678901234567890", name: "read", input: '{"path": 12345678901234567890}' }],
  },
  {
    says: `<tool_call>{"name": "read", "arguments": {"path": "a "quoted" b"}}</tool_call>`,
    calls: [{ name: "read", input: '{"path": "a "quoted" b"}' }],
  },
  {
    says: `<tool_call>{"name": "read", "arguments": {'path': "a", 'path': "b", more: [1,]}}</tool_call>`,
    calls: [{ name: "read", input: `{'path': "a", 'path': "b", more: [1,]}` }],
  },
  {
    says: String.raw`<tool_call>{"name": "read", "arguments": "Sure: {\"path\": \"a\"} it is"}</tool_call>`,
    calls: [{ name: "read", input: 'Sure: {"path": "a"} it is' }],
  },
  {
    says: `<tool_call>{"name": "read", "arguments": "{\\"path\\": \\"a\\""}</tool_call>`,
    calls: [{ name: "read", input: '{"path": "a"' }],
  },
  {
    says: `<tool_call>{"name": "read", oops "arguments": {"path": "a"}}</tool_call>`,
    text: `<tool_call>{"name": "read", oops "arguments": {"path": "a"}}</tool_call>`,
  },
])("F1.9 F1.37 F1.41 reads the same however it is split: $says", ({ says, calls = [], text = "" }) => {
  const read = (pieces: readonly string[]): unknown => {
    const { reply } = readPieces(hermes, pieces);
    return { calls: reply.calls, text: reply.text };
  };
  expect(read([says])).toEqual({ calls, text });
  fc.assert(
    fc.property(cut(says), (pieces) => {
      expect(read(pieces)).toEqual({ calls, text });
    }),
    { numRuns: 20 },
  );
});

/** Damage that leaves no object where a format has one. */
const BESIDE: ReadonlySet<string> = new Set(["prose behind", "garbage around", "quotes escaped"]);

/** What would run for a tool that writes. */
function runs(input: unknown): JsonValue | undefined {
  if (typeof input !== "string") return input as JsonValue; // a call's input is JSON
  const fixed = fixJsonText(input);
  return "value" in fixed && fixed.ambiguity === undefined ? fixed.value : undefined;
}

/** Some damage leaves valid JSON of another value, which looks as if it were meant. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

test("F1.9 no damage to the JSON of a call, or after its name, makes a tool that writes run with another value", () => {
  const source = seededRandom(20_261_124);
  const random = (): number => source.next();
  const wrong: string[] = [];
  const lost: string[] = [];
  let meant = 0;
  for (let at = 0; at < repeated(4_000); at++) {
    const damage = DAMAGES[at % DAMAGES.length];
    const value = randomArguments(random);
    const text = damage?.apply(writeTokens(value, "spaced"), random);
    if (damage === undefined || text === undefined || !text.startsWith("{") || isJson(text)) continue;
    const alone = runs(text);
    for (const [format, says] of [
      [hermes, `<tool_call>{"name": "read", "arguments": ${text}}</tool_call>`],
      [textFormat("mistral-args"), `[TOOL_CALLS]read[ARGS]${text}`],
      [
        textFormat("kimi-k2"),
        `<|tool_calls_section_begin|><|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>${text}<|tool_call_end|><|tool_calls_section_end|>`,
      ],
    ] as const) {
      const [call] = readPieces(format, [says]).reply.calls;
      const ran = call === undefined ? undefined : runs(call.input);
      if (ran !== undefined && isJsonObject(ran) && !isSame(ran, value)) wrong.push(`${damage.kind}: ${says} → ${JSON.stringify(ran)}`);
      if (alone === undefined || !isSame(alone, value) || BESIDE.has(damage.kind)) continue;
      meant++;
      if (ran === undefined) lost.push(`${damage.kind}: ${says}`);
    }
  }
  expect(wrong).toEqual([]);
  expect(lost.slice(0, Math.max(0, lost.length - Math.floor(meant * 0.1)))).toEqual([]);
});

test("F1.9 F1.37 repaired arguments, and a duplicate key beside other damage, give a warning", () => {
  const warnings = (says: string): readonly string[] | undefined => readPieces(textFormat("hermes"), [says]).reply.warnings;
  expect(warnings(`<tool_call>{"name": "read", "arguments": {'path': "a",}}</tool_call>`)).toEqual([
    'The arguments of "read" are not strict JSON: other quotes read as double quotes, extra comma left out.',
  ]);
  expect(warnings(`<tool_call>{"name": "read", "arguments": {'path': "a", 'path': "b", more: [1,]}}</tool_call>`)).toEqual([
    'The call of "read" has "path" twice in one object.',
  ]);
  expect(warnings(`<tool_call>{"name": "read", "name": "bash", "arguments": {}}</tool_call>`)).toEqual([
    'The call of "bash" has "name" twice in one object.',
  ]);
});

test("F1.9 F1.37 no tool runs with an integer that lost digits, in any format", async () => {
  const ran: unknown[] = [];
  const runtime = createRuntime({
    tools: [
      {
        name: "pick",
        description: "",
        inputSchema: { type: "object", properties: { id: { type: "integer" } } },
        execute: (input) => ran.push(input),
      },
    ],
  });
  const tools = [tool("pick", { id: { type: "integer" } })];
  for (const name of TEXT_FORMATS.keys()) {
    const says = textFormat(name)
      .writeCalls([{ name: "pick", input: { id: 1234567890 } }])
      .replace("1234567890", "12345678901234567890");
    const { calls } = readPieces(textFormat(name), [says], { tools }).reply;
    const results = await runtime.execute(calls.map(({ name: called, input }) => ({ name: called, input })));
    expect([
      name,
      results.map(({ error }) => [error?.code, /digits|integer/u.test(`${error?.message} ${error?.details?.join()}`)]),
    ]).toEqual([name, [["invalid_input", true]]]);
  }
  expect(ran).toEqual([]);
  await runtime.close();
});

test("F1.9 F3.2 members after a bracket that closed their object too early are not dropped: no tool runs without them, in any format", async () => {
  const properties = { first: { type: "string" }, second: { type: "integer" } };
  const ran: unknown[] = [];
  const runtime = createRuntime({
    tools: [{ name: "place", description: "", inputSchema: { type: "object", properties }, execute: (input) => ran.push(input) }],
  });
  const tools = [tool("place", properties)];
  const tried: string[] = [];
  for (const name of TEXT_FORMATS.keys()) {
    const written = textFormat(name).writeCalls([{ name: "place", input: { first: "a", second: 2 } }]);
    const says = written.replace(/(first"?:[^,]*)(,\s*"?second)/u, "$1}$2");
    if (says === written) continue; // arguments that are no object
    tried.push(name);
    const { calls } = readPieces(textFormat(name), [says], { tools }).reply;
    await runtime.execute(calls.map(({ name: called, input }) => ({ name: called, input })));
  }
  expect(tried.length).toBeGreaterThan(20);
  expect(ran.filter((input) => !isJsonObject(input) || input["second"] !== 2)).toEqual([]);
  await runtime.close();
});
