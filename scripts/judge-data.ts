/** Generates calls and answers for a folder of tools and counts what is not plausible, by rules of its own: see `--help`. */
import { createHash } from "node:crypto";
import { parseArgs } from "node:util";
import { seededRandom } from "../src/core/base/seeded-random.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../src/core/base/json.ts";
import type { Tool } from "../src/core/tool.ts";
import { exampleEngine } from "../src/engine/example.ts";
import { createRuntime } from "../src/index.ts";
import { exampleValue } from "../src/schema/example/example-value.ts";
import { FIELD_RULES } from "./judge-data/field-rules.ts";
import { OBJECT_RULES } from "./judge-data/object-rules.ts";
import { judgeScenarios } from "./judge-data/scenarios.ts";
import { type JudgedTool, readTools } from "./judge-data/tools.ts";
import { Verdicts } from "./judge-data/verdicts.ts";

const HELP = `Generates inputs and answers for every tool of a folder, and counts what contradicts the
descriptions and names of their properties. The rules (scripts/judge-data/) are written from the descriptions and share nothing with the
code that draws the values. The tools are split by a hash of their names: half A is for tuning, half B is only measured.

  node --conditions=haft-source scripts/judge-data.ts [options]

  --cases FOLDER   tools to judge (HAFT_CASES, or ../shared/cases)
  --rounds N       inputs for each tool (2)
  --seed TEXT      (judge)
  --half A|B       only this half
  --show RULE      prints violations of a rule, of half A only
  --print N        prints N generated calls instead, of half A only
`;

const { values: options } = parseArgs({
  options: {
    cases: { type: "string", default: process.env["HAFT_CASES"] ?? "../shared/cases" },
    rounds: { type: "string", default: "2" },
    seed: { type: "string", default: "judge" },
    half: { type: "string" },
    show: { type: "string" },
    print: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

const MAX_SHOWN = 60;
const halfOf = ({ set, tool }: JudgedTool): "A" | "B" =>
  createHash("sha256").update(`${set}/${tool.name}`).digest("hex") < "8" ? "A" : "B";

function inputFor(tool: Tool, salt: string): JsonObject {
  const { properties } = tool.inputSchema as { properties?: object };
  if (Object.keys(properties ?? {}).length === 0) return {};
  const random = seededRandom(`${options.seed}|${salt}|${tool.name}`);
  const { value } = exampleValue(tool.inputSchema, { random, ...aboutOf(tool) });
  return isJsonObject(value) ? value : {};
}

function aboutOf({ name, description }: Tool): object {
  return { about: `${name} ${description}` };
}

function runtimeOf(tools: readonly JudgedTool[]) {
  const named = new Map(tools.map(({ tool }, index) => [tool, `t${index}`]));
  const toolsets = tools.map(({ tool }) => ({ name: named.get(tool) ?? "", tools: [tool] }));
  const answers = { engines: { example: exampleEngine() }, rules: [{ tools: "*", from: "example" as const }] };
  return { runtime: createRuntime({ toolsets, answers }), nameOf: (tool: Tool) => `${named.get(tool) ?? ""}::${tool.name}` };
}

async function judge(): Promise<void> {
  const tools = readTools(options.cases).filter((tool) => options.half === undefined || halfOf(tool) === options.half);
  const halves = { A: new Verdicts(), B: new Verdicts() };
  for (let round = 0; round < Number(options.rounds); round++)
    for (const judged of tools) {
      const { tool } = judged;
      const input = inputFor(tool, String(round));
      judgeObject({ verdicts: halves[halfOf(judged)], source: `${judged.set} ${tool.name}`, value: input, schema: tool.inputSchema });
    }
  const answering = tools.filter(({ tool }) => tool.outputSchema !== undefined);
  const { runtime, nameOf } = runtimeOf(answering);
  for (const judged of answering) {
    const { tool } = judged;
    const session = runtime.session();
    const { output } = await session.execute({ name: nameOf(tool), input: inputFor(tool, "0") });
    judgeObject({
      verdicts: halves[halfOf(judged)],
      source: `${judged.set} ${tool.name} ->`,
      value: output ?? null,
      schema: tool.outputSchema,
    });
    await session.close();
  }
  await runtime.close();
  await judgeUnschemed(
    tools.filter(({ tool }) => tool.outputSchema === undefined),
    halves,
  );
  const own = new Verdicts();
  await judgeScenarios(own, options.seed);
  report(halves.A, halves.B, own);
}

/** Answers of tools that do not say what they return: whether they say more than a status and what was asked, and agree with the call. */
async function judgeUnschemed(tools: readonly JudgedTool[], halves: Readonly<Record<"A" | "B", Verdicts>>): Promise<void> {
  const { runtime, nameOf } = runtimeOf(tools);
  for (const judged of tools) {
    const { tool, set } = judged;
    const session = runtime.session();
    const input = inputFor(tool, "0");
    const { output } = await session.execute({ name: nameOf(tool), input });
    await session.close();
    const verdicts = halves[halfOf(judged)];
    const source = `${set} ${tool.name} ->`;
    const answer = isJsonObject(output) ? output : {};
    const told = Object.entries(answer).filter(([name]) => name !== "status" && input[name] === undefined);
    const changes = /^(?:created|updated|deleted|cancelled|sent|confirmed|scheduled|completed|closed|uploaded|submitted)$/u.test(
      String(answer["status"]),
    );
    verdicts.add("answers say something", changes || told.length > 0, () => `${source} ${JSON.stringify(answer).slice(0, 200)}`);
    const against = Object.entries(answer).filter(
      ([name, value]) => input[name] !== undefined && JSON.stringify(value) !== JSON.stringify(input[name]),
    );
    verdicts.add("answers keep inputs", against.length === 0, () => `${source} ${JSON.stringify(against).slice(0, 200)}`);
    judgeObject({ verdicts, source, value: answer, schema: undefined });
  }
  await runtime.close();
}

interface Judged {
  readonly verdicts: Verdicts;
  readonly source: string;
  readonly value: JsonValue;
  readonly schema: unknown;
}

/** An object and all that is in it. */
function judgeObject({ verdicts, source, value, schema }: Judged, name = ""): void {
  const { properties, items, description } = (schema ?? {}) as {
    properties?: Record<string, unknown>;
    items?: unknown;
    description?: string;
  };
  if (Array.isArray(value)) {
    for (const item of value.slice(0, 3)) judgeObject({ verdicts, source, value: item, schema: items }, name);
    return;
  }
  if (!isJsonObject(value)) {
    verdicts.text(value);
    if (name === "") return;
    const enumerated = (schema as { enum?: unknown } | undefined)?.enum !== undefined;
    const field = { name, description: description ?? "", value, enumerated, schema: (schema ?? {}) as JsonObject };
    for (const [rule, check] of Object.entries(FIELD_RULES))
      verdicts.add(rule, check(field), () => `${source} ${name}: ${JSON.stringify(value)} (${description ?? ""})`);
    return;
  }
  verdicts.object();
  for (const [rule, check] of Object.entries(OBJECT_RULES))
    for (const { ok, what } of check(value, properties ?? {})) verdicts.add(rule, ok, () => `${source} ${what}`);
  for (const [key, one] of Object.entries(value)) judgeObject({ verdicts, source, value: one, schema: properties?.[key] }, key);
}

function report(...halves: readonly Verdicts[]): void {
  const [half] = halves;
  if (options.show !== undefined) {
    for (const line of half?.violations.get(options.show)?.slice(0, MAX_SHOWN) ?? []) console.log(line.slice(0, 330));
    for (const line of halves[2]?.violations.get(options.show)?.slice(0, MAX_SHOWN) ?? []) console.log(line.slice(0, 330));
    return;
  }
  const rules = [...new Set(halves.flatMap((one) => [...one.counts.keys()]))].toSorted();
  console.log(`${"rule".padEnd(22)}${["half A", "half B", "own tools"].map((title) => title.padStart(24)).join("")}`);
  for (const rule of rules) console.log(`${rule.padEnd(22)}${halves.map((one) => one.cell(rule).padStart(24)).join("")}`);
  console.log(`${"all".padEnd(22)}${halves.map((one) => one.total().padStart(24)).join("")}`);
  console.log(`${"commonest free text".padEnd(22)}${halves.map((one) => one.commonest().padStart(24)).join("")}`);
  for (const one of halves) console.log(`  ${one.commonestTexts()}`);
}

function print(count: number): void {
  const tools = readTools(options.cases).filter((tool) => halfOf(tool) === "A");
  const random = seededRandom(`${options.seed}|print`);
  for (let at = 0; at < count; at++) {
    const chosen = tools[Math.floor(random.next() * tools.length)];
    if (chosen === undefined) return;
    const { tool, set } = chosen;
    const { properties = {} } = tool.inputSchema as { properties?: Record<string, { description?: string }> };
    console.log(`\n${set} ${tool.name}: ${tool.description.slice(0, 140)}`);
    for (const [name, value] of Object.entries(inputFor(tool, "print")))
      console.log(`   ${name} = ${JSON.stringify(value)}   (${(properties[name]?.description ?? "").slice(0, 150)})`);
  }
}

if (options.help) console.log(HELP);
else if (options.print !== undefined) print(Number(options.print));
else await judge();
