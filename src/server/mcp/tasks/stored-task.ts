/** A task that another process runs, as the store has it. */
import { omitUndefined } from "../../../core/base/omit-undefined.ts";
import { describeThrown } from "../../../core/error.ts";
import { findCalledTool } from "../../../registry/called-tool.ts";
import { readEvents } from "../../../session/read-events.ts";
import { failureLog } from "../../store-failures.ts";
import type { ResultContext } from "../answer-call.ts";
import { ServedTask, type TaskInput } from "./served-task.ts";
import { toTaskEnd } from "./task-end.ts";
import { readTaskRecord } from "./task-record.ts";

export interface StoredTaskOptions extends Omit<ResultContext, "tool"> {
  readonly id: string;
  /** The session that it runs in. */
  readonly sessionId: string;
  /** Reads its questions where it runs. @default it has none here */
  readonly input?: (() => Promise<TaskInput | undefined>) | undefined;
}

/**
 * Undefined if the store does not have its call yet. It does not change: it is looked for again. Without `input` it is `working` also while it waits for
 * input.
 */
export async function readStoredTask({
  id,
  sessionId,
  serving,
  client,
  input: readInput,
}: StoredTaskOptions): Promise<ServedTask | undefined> {
  const { runtime, tasks, settings } = serving.gateway;
  const { store } = runtime;
  if (store === undefined || tasks === undefined) return undefined;
  const record = await readTaskRecord(readEvents({ sessionId, read: (page) => store.read(sessionId, page) }));
  if (record === undefined) return undefined;
  const { createdAt, end } = record;
  const { callId } = record.start;
  const cancel = (): void => {
    runtime.jobs
      .cancelStored({ id: callId, sessionId }, "the client cancelled it")
      .catch((thrown: unknown) => failureLog(settings).warn(`A task over MCP could not be cancelled: ${describeThrown(thrown)}`));
  };
  const { ttlMs, pollIntervalMs } = tasks.settings;
  const input = end === undefined ? await readInput?.() : undefined;
  const own = { ...omitUndefined({ input }), cancel };
  const task = new ServedTask({ id, clock: settings.clock, ttlMs, pollIntervalMs, createdAt, ...own });
  if (end === undefined) return task;
  const tool = findCalledTool(runtime.registry, end.result.name, end.input)?.tool;
  task.finish(await toTaskEnd(end.result, { serving, client, tool }), end.at);
  return task;
}
