/** Finds a caller's task in memory, or in the store if an earlier process of the server began it. */
import { omitUndefined } from "../../../core/base/omit-undefined.ts";
import { ToolError } from "../../../core/error.ts";
import type { Runtime } from "../../../runtime/runtime.ts";
import type { RuntimeSession } from "../../../runtime/runtime-session.ts";
import { findCalledTool } from "../../../registry/called-tool.ts";
import { CallClient } from "../call-client.ts";
import { withClient } from "../client.ts";
import { Exchange, type ExchangeRound } from "../exchange.ts";
import { readClientFacts } from "../round.ts";
import type { CallHandlerContext } from "../handler-context.ts";
import { ownerInput, type OwnedTask } from "./owner-input.ts";
import type { ServedTask, TaskInput } from "./served-task.ts";
import { createTaskQuestions, leavesJobs, resumeTask } from "./task-call.ts";
import { readStoredTask } from "./stored-task.ts";
import { visibilityOfCaller } from "../visibility-of-caller.ts";
import type { TaskContext } from "./task-context.ts";
import { toTaskEnd } from "./task-end.ts";
import { readTaskRecord, type TaskRecord } from "./task-record.ts";
import { taskSessionId } from "./task-id.ts";
import type { Tasks, TaskSlot } from "./tasks.ts";

/** Finds a task; undefined if the caller has no such task. @throws ToolError `resource_busy` while another process runs it, as a rejection */
async function findTask(handlerContext: CallHandlerContext, id: string, context: TaskContext): Promise<ServedTask | undefined> {
  const { gateway, info } = handlerContext;
  return await gateway.tasks?.find(id, info.caller.id, {
    signal: context.mcpReq.signal,
    restore: (slot) => restoreTask(handlerContext, context, slot),
  });
}

/** Its session is open in another process, or here without the task: a worker has taken it up. */
const OPEN_ELSEWHERE_CODES: ReadonlySet<string> = new Set(["resource_busy", "duplicate", "conflict"]);

/** As `findTask`; of a task that another process runs, what the store has of it, with its questions if that process can be asked for them. */
export function findTaskSnapshot(handlerContext: CallHandlerContext, id: string, context: TaskContext): Promise<ServedTask | undefined> {
  return look({ handlerContext, id, context, input: (task) => ownerInput(handlerContext, task, context) });
}

/** As `findTaskSnapshot`, for a task that is only to be cancelled: without its questions. */
export function lookForTaskAlone(handlerContext: CallHandlerContext, id: string, context: TaskContext): Promise<ServedTask | undefined> {
  return look({ handlerContext, id, context });
}

interface LookedFor {
  readonly handlerContext: CallHandlerContext;
  readonly id: string;
  readonly context: TaskContext;
  readonly input?: (task: OwnedTask) => Promise<TaskInput | undefined>;
}

async function look({ handlerContext, id, context, input }: LookedFor): Promise<ServedTask | undefined> {
  try {
    return await findTask(handlerContext, id, context);
  } catch (thrown: unknown) {
    const sessionId = taskSessionId(id, handlerContext.info.caller.id);
    if (sessionId === undefined || !OPEN_ELSEWHERE_CODES.has(ToolError.fromUnknown(thrown, "store_failed").code)) throw thrown;
    const task = await readStoredTask({
      id,
      sessionId,
      serving: handlerContext,
      client: createDetachedClient(handlerContext, context).client,
      input: input === undefined ? undefined : () => input({ id, sessionId }),
    });
    if (task === undefined) throw thrown;
    return task;
  }
}

/** A client that no request waits for. */
function createDetachedClient(
  { gateway: { settings }, server, connection }: CallHandlerContext,
  context: TaskContext,
): { readonly client: CallClient; readonly exchange: Exchange<void>; readonly end: () => void } {
  const over = Promise.withResolvers<void>();
  const exchange = new Exchange<void>(NO_ROUND, () => over.promise);
  const client = new CallClient({ ...readClientFacts(context, server, connection), newId: () => settings.ids.next("ask") }, exchange);
  return { client, exchange, end: over.resolve };
}

async function restoreTask(
  handlerContext: CallHandlerContext,
  context: TaskContext,
  slot: Pick<TaskSlot, "id" | "sessionId">,
): Promise<ServedTask | undefined> {
  const { runtime, tasks, settings } = handlerContext.gateway;
  if (tasks === undefined) return undefined;
  if (leavesJobs(runtime)) {
    const [stored] = (await runtime.store?.list({ sessionId: slot.sessionId })) ?? [];
    if (stored === undefined) return undefined;
    throw new ToolError("resource_busy", "The tasks of this server run in other processes.");
  }
  const { client, exchange, end } = createDetachedClient(handlerContext, context);
  exchange.expectTask(createTaskQuestions(() => true));
  try {
    const held = findHeldSession(runtime, tasks, slot.sessionId);
    const session = held ?? (await resumeForClient(handlerContext, client, slot.sessionId));
    const record = held === undefined ? await readRecordOrClose(session) : await readTaskRecord(session.events());
    if (record === undefined) return undefined;
    const { start, end: ended } = record;
    const tool = findCalledTool(runtime.registry, ended?.result.name ?? start.call.name, ended?.input ?? start.call.input)?.tool;
    const toEnd = (result: Parameters<typeof toTaskEnd>[0]): ReturnType<typeof toTaskEnd> =>
      toTaskEnd(result, { serving: handlerContext, client, tool });
    const isHeld = held !== undefined;
    const task = await resumeTask({ tasks, runtime, settings }, slot, { session, isHeld, record, exchange, client, toEnd });
    if (isHeld) tasks.unclaimed?.claim(slot.sessionId, client.ask); // the task shows them from now on
    return task;
  } catch (thrown: unknown) {
    const error = ToolError.fromUnknown(thrown, "store_failed");
    if (error.code === "not_found" || error.code === "invalid_argument") return undefined;
    throw error;
  } finally {
    end();
  }
}

/** Resumes the session of a task, whose questions the client is asked. Rejects as `resume` does. */
function resumeForClient({ gateway, info }: CallHandlerContext, client: CallClient, sessionId: string): Promise<RuntimeSession> {
  const { principal } = info.caller;
  const allow = visibilityOfCaller(gateway.settings, info.caller);
  const options = { ask: client.ask, ...omitUndefined({ allow }), ...(principal === undefined ? {} : { data: { principal } }) };
  return withClient(client, () => gateway.runtime.resume(sessionId, options));
}

/** The session of a task that the server's worker has continued, and closes. */
function findHeldSession(runtime: Runtime, tasks: Tasks, sessionId: string): RuntimeSession | undefined {
  const session = tasks.unclaimed?.has(sessionId) === true ? runtime.sessions.get(sessionId) : undefined;
  return session?.broken === undefined ? session : undefined;
}

/** Reads the call of a task. Closes the session if it has none or cannot be read. */
async function readRecordOrClose(session: RuntimeSession): Promise<TaskRecord | undefined> {
  let record: TaskRecord | undefined;
  try {
    return (record = await readTaskRecord(session.events()));
  } finally {
    if (record === undefined) await session.close();
  }
}

/** A round without a request: no request of the client waits for the work. */
const NO_ROUND: ExchangeRound = {
  signal: new AbortController().signal,
  answers: new Map(),
  send: undefined,
  notify: () => undefined,
  progressToken: undefined,
  log: () => undefined,
};
