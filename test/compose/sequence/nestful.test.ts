/** Nested call sequences of NESTFUL, as far as they are at hand (`../shared/cases`, `$HAFT_CASES`). */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { pure } from "../../../src/core/resources/effects.ts";
import { ToolError } from "../../../src/core/error.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../../src/core/base/json.ts";
import { seededRandom } from "../../../src/core/base/seeded-random.ts";
import type { ToolContext } from "../../../src/core/context.ts";
import type { ToolResult } from "../../../src/core/result.ts";
import type { JsonSchema, Tool } from "../../../src/core/tool.ts";
import { checkSequence } from "../../../src/compose/sequence/check-sequence.ts";
import { runSequence } from "../../../src/compose/sequence/run-sequence.ts";
import { stubEngine, type Stub } from "../../../src/engine/stub.ts";
import { compileSchema } from "../../../src/schema/compile-schema.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";

const FOLDER = join(process.env["HAFT_CASES"] ?? join(import.meta.dirname, "../../../../shared/cases"), "nestful");
const isHere = existsSync(join(FOLDER, "chains.jsonl"));
/** A call of no tool: its arguments are the answer of the chain. It is run as a tool that gives back what it is given. */
const ANSWER = "var_result";
const OPTIONS = { closingDollar: true, inText: true } as const;

interface Chain {
  readonly id: string;
  readonly set: string;
  readonly steps: readonly Step[];
  readonly forwardRefs: number;
  readonly depth: number;
}

interface Step {
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly label: string | null;
  readonly refs: readonly { readonly at: string; readonly label: string; readonly path: string | null; readonly whole: boolean }[];
}

interface NestfulTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputParameters?: JsonObject;
}

const chains: readonly Chain[] = isHere
  ? readFileSync(join(FOLDER, "chains.jsonl"), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Chain)
  : [];

/** Each name once: some stand there twice. */
function toolsOf(set: string): readonly NestfulTool[] {
  const tools = JSON.parse(readFileSync(join(FOLDER, `${set}.tools.json`), "utf8")) as readonly NestfulTool[];
  const once = tools.filter(({ name }, index) => tools.findIndex((other) => other.name === name) === index);
  return [...once, { name: ANSWER, description: "The answer.", inputSchema: { type: "object" } }];
}

const toolsets = new Map((isHere ? ["executable", "glaive", "sgd"] : []).map((set) => [set, toolsOf(set)]));

/** A value of the shape that an output parameter describes. */
function shaped(parameter: JsonValue | undefined, name: string): JsonValue {
  if (!isJsonObject(parameter)) return `the ${name}`;
  const { type, properties, items } = parameter;
  if (isJsonObject(properties)) return shapedObject(properties);
  if (type === "object") return { of: name };
  if (type === "array" || type === "list") return [shaped(items, name), shaped(items, `other ${name}`)];
  if (type === "boolean") return true;
  if (type === "integer" || type === "int") return name.length;
  if (type === "number" || type === "float") return name.length + 0.5;
  return `the ${name}`;
}

function shapedObject(parameters: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(parameters).map(([name, parameter]) => [name, shaped(parameter, name)]));
}

const outputOf = (set: string, name: string): JsonObject =>
  shapedObject(toolsets.get(set)?.find((tool) => tool.name === name)?.outputParameters ?? {});

/** The output, with something in each place that a chain refers to although its tool does not promise it. */
function outputFor(chain: Chain, name: string): JsonObject {
  let output: JsonValue = outputOf(chain.set, name);
  for (const { label, path } of chain.steps.flatMap(({ refs }) => refs))
    if (path !== null && chain.steps.find((step) => step.label === label)?.tool === name) output = withPlace(output, stepsOf(path));
  return isJsonObject(output) ? output : {};
}

function withPlace(value: JsonValue | undefined, [step, ...rest]: readonly string[]): JsonValue {
  if (step === undefined) return value ?? "something";
  if (/^\d+$/.test(step))
    return isJsonArray(value) ? value.with(Number(step), withPlace(value[Number(step)], rest)) : [withPlace(undefined, rest)];
  return isJsonObject(value) ? { ...value, [step]: withPlace(value[step], rest) } : { [step]: withPlace(undefined, rest) };
}

const stepsOf = (path: string): readonly string[] => path.replaceAll("[", ".").replaceAll("]", "").split(".");

/** What stands at the path of a reference, found without the code under test; undefined where nothing does. */
function placeOf(output: JsonValue, path: string | null): JsonValue | undefined {
  let value: JsonValue | undefined = output;
  for (const step of path === null ? [] : stepsOf(path)) {
    if (isJsonArray(value)) value = value[Number(step)];
    else value = isJsonObject(value) ? value[step] : undefined;
  }
  return value;
}

const callsOf = ({ steps }: Chain) =>
  steps.map(({ tool, arguments: input, label }) => ({ ...(label === null ? {} : { id: label }), name: tool, arguments: input }));

/** What the data says is wrong with a chain. */
function defectOf({ set, steps }: Chain): "duplicate_id" | "missing_reference" | "unknown_tool" | undefined {
  const labels = steps.flatMap(({ label }) => label ?? []);
  if (new Set(labels).size < labels.length) return "duplicate_id";
  if (steps.some(({ refs }, index) => refs.some(({ label }) => !steps.slice(0, index).some((step) => step.label === label))))
    return "missing_reference";
  const known = new Set(toolsets.get(set)?.map(({ name }) => name));
  return steps.every(({ tool }) => known.has(tool)) ? undefined : "unknown_tool";
}

const sound = chains.filter((chain) => defectOf(chain) === undefined);

/** The tools of a set; a schema that cannot be compiled gives way to any object. */
function usable(set: string, execute?: (name: string, input: JsonObject, context: ToolContext) => JsonValue): readonly Tool[] {
  return (toolsets.get(set) ?? []).map(({ name, description, inputSchema }) => ({
    name,
    description,
    inputSchema: isUsable(inputSchema) ? inputSchema : { type: "object" },
    effects: pure,
    ...(execute === undefined ? {} : { execute: (input: JsonObject, context: ToolContext) => execute(name, input, context) }),
  }));
}

function isUsable(schema: JsonSchema): boolean {
  try {
    compileSchema(schema);
    return true;
  } catch {
    return false;
  }
}

const answerOf = (set: string, name: string, input: JsonObject): JsonObject => (name === ANSWER ? input : outputOf(set, name));

/** Holds what each step was run with against the data: how many references came out right, and which have no place in what was answered. */
function compareReferences(chain: Chain, results: readonly ToolResult[], inputs: ReadonlyMap<string, JsonObject>) {
  let right = 0;
  const nowhere: string[] = [];
  for (const [index, { tool, refs }] of chain.steps.entries()) {
    const { callId, status, error } = results[index] ?? {};
    const expected = refs.map(({ label, path }) => {
      const output = results[chain.steps.findIndex((step) => step.label === label)]?.output;
      return output === undefined ? undefined : placeOf(output, path);
    });
    if (expected.includes(undefined)) {
      expect(error).toMatchObject({ code: "invalid_input", message: expect.stringMatching(/^The reference "\$var\d/) });
      nowhere.push(...refs.filter((_, at) => expected[at] === undefined).map(({ path }) => `${chain.id} ${tool} ${path}`));
      continue;
    }
    expect([chain.id, tool, status, error]).toEqual([chain.id, tool, "ok", undefined]);
    for (const [at, { whole, at: pointer }] of refs.entries()) {
      const value = placeOf(inputs.get(callId ?? "") ?? null, pointer.slice(1).replaceAll("/", "."));
      if (whole) expect(value).toEqual(expected[at]);
      else expect(value).toContain(String(expected[at]));
      right++;
    }
  }
  return { right, nowhere };
}

describe.skipIf(!isHere)("F0.60 F0.61 the chains of NESTFUL (skipped if its data is not available)", () => {
  test.each([
    { by: "handlers that answer what their tools promise", promised: true },
    { by: "stubs that answer what the chains refer to as well", promised: false },
  ])("resolve their references to the right values with their JSON types, run by $by", async ({ by, promised }) => {
    let steps = 0;
    let right = 0;
    const nowhere: string[] = [];
    for (const chain of sound) {
      const inputs = new Map<string, JsonObject>();
      const stubs: readonly Stub[] = (toolsets.get(chain.set) ?? []).map(({ name }) => ({ tool: name, output: outputFor(chain, name) }));
      const tools = usable(chain.set, promised ? (name, input) => answerOf(chain.set, name, input) : undefined);
      await using runtime = createRuntime({ toolsets: [{ name: chain.set, tools, ...(promised ? {} : { engine: stubEngine(stubs) }) }] });
      runtime.subscribe((event) => void (event.type === "call-end" && event.input !== undefined && inputs.set(event.callId, event.input)));
      const { valid, results } = await runSequence(runtime, callsOf(chain), { ...OPTIONS, schemas: false, validate: false });
      expect([chain.id, valid]).toEqual([chain.id, true]);
      const compared = compareReferences(chain, results, inputs);
      steps += chain.steps.length;
      right += compared.right;
      nowhere.push(...compared.nowhere);
    }
    expect(right).toBeGreaterThan(0);
    console.info(
      `NESTFUL, ${by}: ${sound.length} chains, ${steps} steps, ${right} references right, ${nowhere.length} lead nowhere`,
      nowhere,
    );
  });

  test("with an unresolvable reference or an unknown tool are rejected before the first call", async () => {
    const found: string[] = [];
    for (const chain of chains.filter((one) => !sound.includes(one))) {
      let ran = 0;
      const tools = usable(chain.set, () => ++ran);
      await using runtime = createRuntime({ toolsets: [{ name: chain.set, tools }] });
      const run = await runSequence(runtime, callsOf(chain), { ...OPTIONS, schemas: false });
      const reasons = run.valid ? [] : run.problems.map(({ reason }) => reason);
      expect(reasons).toContain(defectOf(chain));
      if (chain.forwardRefs > 0) expect(reasons).toContain("missing_reference");
      expect(ran).toBe(0);
      found.push(`${chain.id}: ${reasons.join(", ")}`);
    }
    console.info(`NESTFUL: ${found.length} chains refused`, found);
  });

  test("are as deep as the data says, and more than half of them fit the schemas of their tools", () => {
    let fitting = 0;
    for (const chain of sound) {
      const tools = usable(chain.set);
      const checked = checkSequence(callsOf(chain), { ...OPTIONS, tools, schemas: false });
      expect([chain.id, checked.valid && checked.layers.length]).toEqual([chain.id, chain.depth]);
      if (checkSequence(callsOf(chain), { ...OPTIONS, tools }).valid) fitting++;
    }
    console.info(`NESTFUL: ${fitting} of ${sound.length} chains fit the schemas of their tools`);
    expect(fitting).toBeGreaterThan(sound.length / 2);
  });

  test("succeed if a tenth of the attempts fails, and no step runs again after it has succeeded", async () => {
    const { next } = seededRandom("nestful");
    let failures = 0;
    let successes = 0;
    for (const chain of sound) {
      const ended = new Map<string, number>();
      const tools = usable(chain.set, (name, input, { callId }) => {
        if (next() < 0.1) {
          failures++;
          throw new ToolError("network_error", "The line is dead.");
        }
        ended.set(callId, (ended.get(callId) ?? 0) + 1);
        return answerOf(chain.set, name, input);
      });
      await using runtime = createRuntime({
        toolsets: [{ name: chain.set, tools }],
        retry: { delayMs: 0 },
        maxAttempts: 10,
        circuit: false,
      });
      const { results } = await runSequence(runtime, callsOf(chain), { ...OPTIONS, schemas: false, validate: false });
      const started = results.filter(({ error }) => error?.code !== "invalid_input");
      expect(started.map(({ status }) => status)).toEqual(started.map(() => "ok"));
      expect([...ended.values()]).toEqual(started.map(() => 1));
      successes += ended.size;
    }
    expect(failures).toBeGreaterThan(0);
    console.info(`NESTFUL: ${failures} injected failures, ${successes} steps ended well, each once`);
  });
});
