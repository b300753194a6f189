/** A process that plays recorded tasks from a SQLite file, goes on with those that were begun before, and kills itself where it is told to. */
import { appendFileSync, writeSync } from "node:fs";
import { isToolError } from "../../../src/core/error.ts";
import type { ToolResult } from "../../../src/core/result.ts";
import type { Runtime } from "../../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { sqliteStore } from "../../../src/store/sqlite-store.ts";
import { beginTask, dataOf, eachOf, hashOf, play } from "./play-task.ts";
import { loadWorlds, type RecordedCall, type RecordedSet, type RecordedTask } from "./recorded-worlds.ts";
import { traceRuntime } from "./trace-runtime.ts";
import type { TraceStep } from "./trace-tools.ts";

export interface ChildPlan {
  /** The store's file. */
  readonly path: string;
  /** The file to which each start of a handler is added, at once. */
  readonly startsPath: string;
  readonly sets: readonly RecordedSet[];
  readonly taskIds: readonly string[];
  /** When to die: so many handlers later, and where in the last of them. Undefined = never. */
  readonly death?: { readonly handlers: number; readonly moment: "before" | "after" | "answered" };
}

/** What it says, one line of JSON each. */
export type ChildReport =
  | { readonly type: "answer"; readonly taskId: string; readonly result: ToolResult }
  | { readonly type: "end"; readonly taskId: string; readonly hash: string; readonly results: readonly ToolResult[] };

const plan = JSON.parse(process.argv[2] ?? "") as ChildPlan; // the test's own
let handlers = 0;

function dieAt(moment: string): void {
  if (plan.death?.moment === moment && handlers >= plan.death.handlers) process.kill(process.pid, "SIGKILL");
}

/** Written before anything else happens, so that it is read by those who come after. */
function report(line: ChildReport): void {
  for (let rest = Buffer.from(`${JSON.stringify(line)}\n`); rest.length > 0;) rest = rest.subarray(writeSome(rest));
}

/** A pipe that is full takes nothing until its reader has caught up. */
function writeSome(bytes: Uint8Array): number {
  try {
    return writeSync(1, bytes);
  } catch (error: unknown) {
    if ((error as NodeJS.ErrnoException).code === "EAGAIN") return 0; // of a system call
    throw error;
  }
}

async function before({ context }: TraceStep): Promise<void> {
  appendFileSync(plan.startsPath, `${context.callId} ${context.toolName}\n`);
  handlers++;
  dieAt("before");
}

async function after(): Promise<void> {
  dieAt("after");
}

async function openSession(runtime: Runtime, task: RecordedTask): Promise<RuntimeSession> {
  try {
    return await runtime.resume(task.id, dataOf(task));
  } catch (thrown: unknown) {
    if (isToolError(thrown) && thrown.code === "not_found") return runtime.session(task.id);
    throw thrown;
  }
}

/** The call that comes next by what the tools keep in the state; undefined when all are made. */
function nextCall(session: RuntimeSession, task: RecordedTask): RecordedCall | undefined {
  const made = new Map<string, number>();
  return task.calls.find(({ toolset }) => {
    const index = made.get(toolset) ?? 0;
    made.set(toolset, index + 1);
    return session.state(toolset, "next") === index;
  });
}

async function continueTask(runtime: Runtime, task: RecordedTask): Promise<void> {
  const session = await openSession(runtime, task);
  const isBegun = [...task.start.keys()].every((toolset) => session.state(toolset, "task") === task.id);
  if (!isBegun) await beginTask(session, task);
  for (let call = nextCall(session, task); call !== undefined; call = nextCall(session, task)) {
    const [result] = await play(session, task, [call]);
    if (result === undefined) throw new Error(`${task.id}: ${call.name} has no result`);
    report({ type: "answer", taskId: task.id, result });
    dieAt("answered");
  }
  const results: ToolResult[] = [];
  for await (const event of session.events()) if (event.type === "call-end") results.push(event.result);
  report({ type: "end", taskId: task.id, hash: hashOf(session, task), results });
  await session.close();
}

const worlds = loadWorlds(plan.sets);
const store = sqliteStore({ path: plan.path });
await store.open();
const runtime = await traceRuntime(worlds, { store, probe: { before, after } });
const tasks = worlds.flatMap((world) => world.tasks.filter((task) => plan.taskIds.includes(task.id)));
await eachOf(tasks, 4, (task) => continueTask(runtime, task));
await runtime.close();
