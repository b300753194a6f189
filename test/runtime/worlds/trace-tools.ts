/** Tools that answer as they did when they were recorded, and only to the calls that were recorded, in their order. */
import { isDeepStrictEqual } from "node:util";
import type { ToolContext, ToolState } from "../../../src/core/context.ts";
import type { Effects } from "../../../src/core/resources/effects.ts";
import { ToolError } from "../../../src/core/error.ts";
import { applyPatch } from "../../../src/core/base/json-patch.ts";
import type { JsonObject, JsonValue } from "../../../src/core/base/json.ts";
import type { Tool } from "../../../src/core/tool.ts";
import type { Toolset } from "../../../src/core/toolset.ts";
import type { RecordedCall, RecordedTask, RecordedTool, RecordedWorld } from "./recorded-worlds.ts";

/** A call that is being answered. */
export interface TraceStep {
  readonly call: RecordedCall;
  /** Which of the task's calls of its toolset it is; they count from 0. */
  readonly index: number;
  readonly context: ToolContext;
}

/** What a test does while a call is answered, before and after the state is changed. */
export interface TraceProbe {
  readonly before?: (step: TraceStep) => Promise<void>;
  readonly after?: (step: TraceStep) => Promise<void>;
}

/** The name of the tool that puts a session at the beginning of a task. */
export const BEGIN = "begin_task";

/**
 * The toolsets of these worlds. What a tool needs to know of its session is in its state: the task, which call is next, and
 * the world as it is. So a branch, a simulation, a rollback and a crash carry it with them, or the answers are wrong.
 */
export function traceToolsets(worlds: readonly RecordedWorld[], probe?: TraceProbe): readonly Toolset[] {
  const tasks = new Map(worlds.flatMap((world) => world.tasks.map((task) => [task.id, task])));
  return worlds.flatMap((world) =>
    [...world.toolsets].map(([name, tools]) => ({
      name,
      tools: [beginTool(name, tasks), ...tools.map((tool) => traceTool(name, tool, tasks, probe))],
    })),
  );
}

type Tasks = ReadonlyMap<string, RecordedTask>;

function beginTool(toolset: string, tasks: Tasks): Tool {
  return {
    name: BEGIN,
    description: "Begins a task from its recorded start.",
    inputSchema: { type: "object", properties: { task: { type: "string" } }, required: ["task"] },
    effects: { writes: ["session:world", "session:place"], idempotent: true },
    execute: ({ task }: { readonly task: string }, { state }: ToolContext) => {
      state.update("world", () => taskOf(tasks, task).start.get(toolset));
      state.update("task", () => task);
      state.update("next", () => 0);
      return null;
    },
  };
}

const READS: Effects = { reads: ["session:world"], writes: ["session:place"], idempotent: true };
const WRITES: Effects = { writes: ["session:world", "session:place"] };

function traceTool(toolset: string, tool: RecordedTool, tasks: Tasks, probe: TraceProbe | undefined): Tool {
  const { name, description, inputSchema, readsOnly } = tool;
  const step = (input: JsonObject, context: ToolContext): TraceStep => nextStep(`${toolset}::${name}`, { tool, input, context, tasks });
  return {
    name,
    description,
    inputSchema,
    effects: readsOnly ? READS : WRITES,
    execute:
      probe === undefined
        ? (input: JsonObject, context: ToolContext) => answer(step(input, context))
        : (input: JsonObject, context: ToolContext) => answerProbed(step(input, context), probe),
  };
}

interface Asked {
  readonly tool: RecordedTool;
  readonly input: JsonObject;
  readonly context: ToolContext;
  readonly tasks: Tasks;
}

/** The call that the recording has next. @throws ToolError when it is not the one that was made */
function nextStep(name: string, { tool, input, context, tasks }: Asked): TraceStep {
  const [toolset] = name.split("::");
  const id = context.state.get("task");
  const index = context.state.get("next");
  if (typeof id !== "string" || typeof index !== "number") throw new ToolError("execution_failed", "no task was begun");
  const asker = context.data["task"];
  if (asker !== undefined && asker !== id) throw new ToolError("execution_failed", `the state of ${id} was shown to ${String(asker)}`);
  const call = callsOf(taskOf(tasks, id), toolset)[index];
  if (call === undefined) throw new ToolError("execution_failed", `${name} was called after the last call of ${id}`);
  if (call.name !== tool.name || !isDeepStrictEqual(withoutDefaults(input, call.arguments, tool), call.arguments))
    throw new ToolError(
      "execution_failed",
      `call ${index} of ${id} is ${call.name} ${JSON.stringify(call.arguments)}, not ${tool.name} ${JSON.stringify(input)}`,
    );
  return { call, index, context };
}

const ownCalls = new WeakMap<RecordedTask, Map<string, readonly RecordedCall[]>>();

function callsOf(task: RecordedTask, toolset = ""): readonly RecordedCall[] {
  let calls = ownCalls.get(task);
  if (calls === undefined) ownCalls.set(task, (calls = Map.groupBy(task.calls, (call) => call.toolset)));
  return calls.get(toolset) ?? [];
}

function taskOf(tasks: Tasks, id: string): RecordedTask {
  const task = tasks.get(id);
  if (task === undefined) throw new ToolError("execution_failed", `there is no task ${id}`);
  return task;
}

/** The input as it was sent: what it has beside that is what the schema says of keys that are left out. */
function withoutDefaults(input: JsonObject, sent: JsonObject, { inputSchema }: RecordedTool): JsonObject {
  const properties = inputSchema["properties"] as Readonly<Record<string, JsonObject>> | undefined; // the schemas are of objects
  const entries = Object.entries(input).filter(
    ([key, value]) => Object.hasOwn(sent, key) || !isDeepStrictEqual(properties?.[key]?.["default"], value),
  );
  return Object.fromEntries(entries);
}

function answer({ call, index, context }: TraceStep): JsonValue | undefined {
  change(call, index, context.state);
  return deliver(call);
}

async function answerProbed(step: TraceStep, probe: TraceProbe): Promise<JsonValue | undefined> {
  await probe.before?.(step);
  change(step.call, step.index, step.context.state);
  await probe.after?.(step);
  return deliver(step.call);
}

function change(call: RecordedCall, index: number, state: ToolState): void {
  if (call.patch.length > 0) state.update("world", (world) => applyPatch(world, call.patch));
  state.update("next", () => index + 1);
}

function deliver({ output, error }: RecordedCall): JsonValue | undefined {
  if (error !== undefined) throw new ToolError("execution_failed", error, { outcome: "failed" });
  return output;
}
