/** Runs a call that becomes a task if it takes long, and follows the task until its end. */
import type { EndedJob, JobStatus } from "../../../core/jobs/job-status.ts";
import { ToolError, describeThrown } from "../../../core/error.ts";
import { isJsonObject, type JsonObject } from "../../../core/base/json.ts";
import type { SessionEvent } from "../../../core/event.ts";
import type { ToolCall } from "../../../core/call.ts";
import type { ExecuteOptions } from "../../../call/execute-options.ts";
import type { ToolResult } from "../../../core/result.ts";
import type { Runtime } from "../../../runtime/runtime.ts";
import type { RuntimeSession } from "../../../runtime/runtime-session.ts";
import type { CallClient } from "../call-client.ts";
import type { Exchange, TaskQuestions } from "../exchange.ts";
import type { Settings } from "../options.ts";
import { failureLog } from "../../store-failures.ts";
import { createSecret } from "../../../net/secret.ts";
import { INTERNAL_ERROR } from "../../../engine/mcp/rpc-codes.ts";
import { ServedTask, type TaskEnd } from "./served-task.ts";
import { readCreatedAt, type TaskRecord } from "./task-record.ts";
import type { TaskSlot, Tasks } from "./tasks.ts";

export interface TaskServices {
  readonly tasks: Tasks;
  readonly runtime: Runtime;
  readonly settings: Pick<Settings, "clock" | "ids" | "log">;
}

/** The client of a task, and the conversion of its result for the client. */
interface TaskClient {
  readonly exchange: Exchange<unknown>;
  readonly client: CallClient;
  readonly toEnd: (result: ToolResult) => Promise<TaskEnd>;
}

export interface TaskCall extends TaskClient {
  readonly slot: TaskSlot;
  readonly call: Omit<ToolCall, "id">;
  readonly options: ExecuteOptions;
  /** The session to run in, unless the call goes to the background at once. @default a session of its own */
  readonly session: RuntimeSession | undefined;
  /** Whether the call becomes a task at once: its tool runs in the background, or the client wants a task in any case. */
  readonly isImmediate: boolean;
}

/** Runs a call. Resolves to its result if it ended in time, or to the task that it has become. */
export async function runTaskCall(services: TaskServices, taskCall: TaskCall): Promise<ToolResult | ServedTask> {
  const { tasks, runtime, settings } = services;
  const { slot, call, options, exchange, session: given, isImmediate } = taskCall;
  const ownSession = given === undefined || isImmediate ? runtime.session(slot.sessionId) : undefined;
  const session = ownSession ?? given;
  if (session === undefined) throw new Error("a call without a session has one of its own");
  const id = settings.ids.next("request");
  if (isImmediate) exchange.expectTask(createTaskQuestions(() => session.jobs.length > 0));
  let task: ServedTask | undefined;
  const onProgress: ExecuteOptions["onProgress"] = (update, progressing) => {
    if (task === undefined) options.onProgress?.(update, progressing);
    else if (update.message !== undefined) task.setStatusMessage(update.message);
  };
  const stopTimer = isImmediate ? undefined : schedulePromotion(services, { session, id, exchange });
  let result: ToolResult | undefined;
  try {
    result = await session.execute({ ...call, id }, { ...options, onProgress, ...(isImmediate ? { background: true } : {}) });
  } finally {
    stopTimer?.();
    if (result?.status !== "pending") {
      slot.release();
      if (ownSession !== undefined) tasks.removeSession(ownSession.id);
    }
  }
  if (result.status !== "pending") return result;
  const createdAt = ownSession === undefined ? undefined : await readCreatedAt(ownSession).catch(() => undefined); // the same time as after a restart, if the store can be read
  task = startTask(services, { slot, callId: result.callId, exchange, createdAt });
  slot.release();
  void followTask(services, { ...taskCall, task, session, ownSession, callId: result.callId });
  if (ownSession !== undefined && leavesJobs(runtime) && runtime.jobs.get(result.callId)?.state === "queued")
    void leaveTask(services, slot.sessionId);
  return task;
}

/** Whether other processes run the jobs of this one, and so the tasks that have not started. */
export function leavesJobs({ store, jobs }: Runtime): boolean {
  return store?.queue !== undefined && !jobs.runHere;
}

/** Hands over the session of a task that has not started, to the processes that run jobs. If it cannot be queued, they find it a little later. */
async function leaveTask({ runtime, settings }: TaskServices, sessionId: string): Promise<void> {
  try {
    await runtime.sessions.handOver(sessionId);
    await runtime.store?.queue?.offer([sessionId]);
  } catch (thrown: unknown) {
    failureLog(settings).warn(`A task over MCP could not be left to a worker at once: ${describeThrown(thrown)}`);
  }
}

interface ResumedTask extends TaskClient {
  readonly session: RuntimeSession;
  /** Whether the server's worker has the session, which closes it. */
  readonly isHeld: boolean;
  readonly record: TaskRecord;
}

/** Restores a task that an earlier process began or ended. */
export async function resumeTask(
  services: TaskServices,
  slot: Pick<TaskSlot, "id" | "sessionId">,
  { record, ...taskClient }: ResumedTask,
): Promise<ServedTask> {
  const { session, isHeld, exchange, toEnd } = taskClient;
  const { createdAt, end } = record;
  const { callId } = record.start;
  const task = startTask(services, { slot, callId, exchange, createdAt });
  if (end === undefined) void followTask(services, { ...taskClient, slot, task, ownSession: session, callId });
  else {
    task.finish(await toEnd(end.result), end.at);
    exchange.finish();
    if (!isHeld) await session.close();
  }
  return task;
}

interface TaskStart {
  readonly slot: Pick<TaskSlot, "id" | "sessionId">;
  readonly callId: string;
  readonly exchange: Exchange<unknown>;
  readonly createdAt?: number | undefined;
}

function startTask({ tasks, runtime, settings }: TaskServices, { slot, callId, exchange, createdAt }: TaskStart): ServedTask {
  const { ttlMs, pollIntervalMs } = tasks.settings;
  const cancel = (): void => {
    exchange.cancel("the client cancelled it");
    if (runtime.jobs.get(callId) !== undefined) runtime.jobs.cancel(callId, "the client cancelled it");
  };
  const task = new ServedTask({
    id: slot.id,
    clock: settings.clock,
    ttlMs,
    pollIntervalMs,
    input: exchange,
    cancel,
    ...(createdAt === undefined ? {} : { createdAt }),
  });
  exchange.expectTask(createTaskQuestions(() => true));
  exchange.detach(() => task.notifyIfChanged());
  tasks.add(slot.sessionId, task);
  return task;
}

/** Makes unique keys for the questions of a task: after a restart, a repeated question gets a new key, so the client is asked again. */
export function createTaskQuestions(hasStarted: () => boolean): TaskQuestions {
  const mark = createSecret().slice(0, 8);
  let asked = 0;
  return { keyOf: (key) => `${key}.${mark}.${++asked}`, hasStarted };
}

interface Followed extends TaskClient {
  readonly slot: Pick<TaskSlot, "id" | "sessionId">;
  readonly task: ServedTask;
  readonly session: RuntimeSession;
  /** The session, if it exists for the task alone. */
  readonly ownSession: RuntimeSession | undefined;
  /** Whether the server's worker has the session, which closes it. */
  readonly isHeld?: boolean;
  readonly callId: string;
}

async function followTask(
  { tasks, runtime, settings }: TaskServices,
  { task, slot, session, ownSession, isHeld = false, callId, exchange, client, toEnd }: Followed,
): Promise<void> {
  const asking = new JobQuestions(runtime, client);
  const stop = session.onJob((job) => asking.handleJob(job, callId));
  let isHandedOver = false;
  try {
    const now = runtime.jobs.get(callId);
    if (now !== undefined) asking.handleJob(now, callId);
    const ended = await runtime.jobs.wait(callId);
    const endedAt = await findEndTime(session, callId).catch(() => undefined);
    task.finish(hasResult(ended) ? await toEnd(ended.result) : lostTaskEnd(), endedAt);
  } catch (thrown: unknown) {
    if (tasks.isClosed) return; // a later server continues it
    isHandedOver = ownSession !== undefined && isLeftToStore(ToolError.fromUnknown(thrown));
    if (isHandedOver) return;
    failureLog(settings).warn(`The end of a task over MCP could not be recorded: ${describeThrown(thrown)}`);
    task.finish(lostTaskEnd());
  } finally {
    stop();
    exchange.finish();
    if (!isHeld)
      await ownSession
        ?.close()
        .catch((thrown: unknown) => failureLog(settings).warn(`The session of a task could not be closed: ${describeThrown(thrown)}`));
    if (isHandedOver) tasks.handOver(slot.sessionId, task); // after the close: those who follow the task look it up again, and may take it up
  }
}

/** Whether the store decides how the task ends: another process owns its session, or its end is still to be written. */
function isLeftToStore({ code, retryable }: ToolError): boolean {
  return code === "conflict" || (code === "store_failed" && retryable);
}

/** The end time in the log, so that it stays the same when the task is restored after a restart. */
async function findEndTime(session: RuntimeSession, callId: string): Promise<number | undefined> {
  const isEnd = (event: SessionEvent): boolean => event.type === "call-end" && event.callId === callId;
  const end = session.log.findLast(isEnd);
  if (end !== undefined || session.firstKept === 0) return end?.at;
  for await (const event of session.events()) if (isEnd(event)) return event.at;
  return undefined;
}

function hasResult(job: EndedJob | JobStatus): job is EndedJob & { readonly result: ToolResult } {
  return "result" in job;
}

function lostTaskEnd(): TaskEnd {
  return {
    status: "failed",
    error: { code: INTERNAL_ERROR, message: "The end of the task could not be recorded; the server's log says more." },
  };
}

/** Sends the questions of a stateful job to the client, as a form with one field. */
class JobQuestions {
  readonly #runtime: Runtime;
  readonly #client: CallClient;
  #isOpen = false;

  constructor(runtime: Runtime, client: CallClient) {
    this.#runtime = runtime;
    this.#client = client;
  }

  handleJob(job: JobStatus, callId: string): void {
    const { id, question } = job;
    if (id !== callId || question === undefined || this.#isOpen) return;
    this.#isOpen = true;
    void this.#ask(callId, question).catch(() => undefined); // the job has ended, or the client has disconnected
  }

  async #ask(callId: string, message: string): Promise<void> {
    const answer = await this.#client.elicit({ message, schema: ANSWER }, { key: "input" });
    this.#isOpen = false;
    const { jobs } = this.#runtime;
    const input: JsonObject = answer.action === "accept" && isJsonObject(answer.content) ? answer.content : {};
    if (input["answer"] === undefined) jobs.cancel(callId, "the client did not answer what the job asked");
    else jobs.send(callId, input["answer"]);
  }
}

const ANSWER = { type: "object", properties: { answer: { type: "string", title: "Answer" } }, required: ["answer"] };

/** Moves a call to the background after `taskAfterMs`, or later while the client has an unanswered question. Returns a function that stops this. */
function schedulePromotion(
  { tasks, runtime, settings }: TaskServices,
  { session, id, exchange }: { readonly session: RuntimeSession; readonly id: string; readonly exchange: Exchange<unknown> },
): () => void {
  const { taskAfterMs } = tasks.settings;
  const from = session.length;
  let hasEnded = false;
  let callId: string | undefined;
  const promote = async (): Promise<void> => {
    callId ??= await findCallId(session, id, from).catch(() => undefined); // a log that cannot be read now is read again later
    if (hasEnded || (callId !== undefined && !exchange.isAsking && runtime.jobs.promote(callId))) return;
    stop = settings.clock.timer(() => void promote(), taskAfterMs, { background: true });
  };
  let stop = settings.clock.timer(() => void promote(), taskAfterMs, { background: true });
  return () => {
    hasEnded = true;
    stop();
  };
}

/** @param from the length of the session before the call. Events since then may be only in the store. */
async function findCallId(session: RuntimeSession, id: string, from: number): Promise<string | undefined> {
  const events = session.logSince(from) ?? session.events();
  for await (const event of events) if (event.type === "call-start" && event.call.id === id) return event.callId;
  return undefined;
}
