/** Plays recorded tasks in sessions and compares what comes back with what was recorded. */
import type { ToolCall } from "../../../src/core/call.ts";
import type { Random } from "../../../src/core/ports.ts";
import type { ToolResult } from "../../../src/core/result.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import type { RecordedCall, RecordedTask } from "./recorded-worlds.ts";
import { stateHash } from "./state-hash.ts";
import { BEGIN } from "./trace-tools.ts";

/** Puts a session at the beginning of a task. */
export async function beginTask(session: RuntimeSession, task: RecordedTask): Promise<void> {
  const calls = [...task.start.keys()].map((toolset) => ({ name: `${toolset}::${BEGIN}`, input: { task: task.id } }));
  const results = await session.execute(calls, dataOf(task));
  const failed = results.find((result) => result.status !== "ok");
  if (failed !== undefined) throw new Error(`${task.id} could not be begun: ${failed.error?.message}`);
}

/** What handlers compare with the task they find in the state. */
export function dataOf(task: RecordedTask): { readonly data: { readonly task: string } } {
  return { data: { task: task.id } };
}

function toolCall(call: RecordedCall): ToolCall {
  return { name: `${call.toolset}::${call.name}`, input: call.arguments };
}

/** Runs recorded calls as one batch; those that break their own schema as they were recorded, unchecked. */
export async function play(
  session: RuntimeSession,
  task: RecordedTask,
  calls: readonly RecordedCall[],
  options: { readonly idempotencyKey?: string } = {},
): Promise<readonly ToolResult[]> {
  return session.execute(calls.map(toolCall), { ...dataOf(task), ...validation(calls), ...options });
}

/** As `play`, by `simulate`. */
export async function tryOut(session: RuntimeSession, task: RecordedTask, calls: readonly RecordedCall[]) {
  return session.simulate(calls.map(toolCall), { ...dataOf(task), ...validation(calls) });
}

function validation(calls: readonly RecordedCall[]): { readonly validate: boolean } {
  return { validate: !calls.some((call) => call.isInvalid) };
}

/** The hash of what the tools of a session see as the state. */
export function hashOf(session: RuntimeSession, task: RecordedTask): string {
  const parts = [...task.start.keys()].map((toolset) => [toolset, session.state(toolset, "world") ?? null] as const);
  return stateHash(task.whole(new Map(parts)));
}

/** A result without what two runs of one call differ in. */
export function comparable({ callId: _callId, durationMs: _durationMs, ...result }: ToolResult): Omit<ToolResult, "callId" | "durationMs"> {
  return result;
}

/** One of several, which are at least one. */
export function pick<Item>(random: Random, items: readonly Item[]): Item {
  const item = items[Math.floor(random.next() * items.length)];
  if (item === undefined) throw new Error("there is nothing to pick from");
  return item;
}

/** Divides calls into batches of 1 to 3. */
export function inBatches(calls: readonly RecordedCall[], random: Random): readonly (readonly RecordedCall[])[] {
  const batches: RecordedCall[][] = [];
  for (let from = 0; from < calls.length;) {
    const size = 1 + Math.floor(random.next() * 3);
    batches.push(calls.slice(from, from + size));
    from += size;
  }
  return batches;
}

/** Runs work for every item, at most `width` at a time. */
export async function eachOf<Item>(
  items: readonly Item[],
  width: number,
  work: (item: Item, index: number) => Promise<void>,
): Promise<void> {
  const queue = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of queue) await work(item, index);
  };
  await Promise.all(Array.from({ length: width }, worker));
}
