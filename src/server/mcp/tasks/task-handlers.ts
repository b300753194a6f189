/** Handlers of the requests about tasks, for both eras. */
import type { ServerContext } from "@modelcontextprotocol/server";
import { ToolError, isToolError } from "../../../core/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../core/base/json.ts";
import { rejectOnAbort } from "../../../core/base/reject-on-abort.ts";
import { createSender } from "../round.ts";
import { INVALID_PARAMS } from "../../../engine/mcp/rpc-codes.ts";
import { textParam, type McpRequest, type HandlerContext } from "../handler-context.ts";
import type { InputRequest } from "../exchange.ts";
import type { ServedTask, TaskEnd, TaskInput } from "./served-task.ts";
import { findTaskSnapshot, lookForTaskAlone } from "./find-task.ts";
import { TASKS_EXTENSION, hasTasksExtension } from "./task-offer.ts";
import { taskStates } from "./task-states.ts";

const RELATED_TASK = "io.modelcontextprotocol/related-task";

/** Registers the handlers; none if the server serves no tasks. */
export function addTaskHandlers(handlerContext: HandlerContext): void {
  if (handlerContext.gateway.tasks === undefined) return;
  if (handlerContext.connection.era === "modern") addModern(handlerContext);
  else addLegacy(handlerContext);
}

/** Revision 2026-07-28: requires that the client declares the extension in each request. */
function addModern(handlerContext: HandlerContext): void {
  const { gateway, handleOther } = handlerContext;
  const on = (
    method: string,
    find: typeof findTaskSnapshot,
    answer: (task: ServedTask, context: ServerContext, request: McpRequest) => JsonObject | Promise<JsonObject>,
  ): void =>
    handleOther(method, async (request, context) => {
      if (!hasTasksExtension(context, handlerContext))
        throw new gateway.sdk.MissingRequiredClientCapabilityError({ requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } });
      return await answer(await taskOf(handlerContext, request, context, find), context, request);
    });
  on("tasks/get", findTaskSnapshot, (task) => task.details);
  on("tasks/update", findTaskSnapshot, async (task, { mcpReq }, { params }) => {
    const responses: unknown = mcpReq.inputResponses ?? params?.["inputResponses"];
    if (!isJsonObject(responses))
      throw new gateway.sdk.ProtocolError(INVALID_PARAMS, "inputResponses must be an object with the answers by their keys.");
    if (task.end !== undefined) return {};
    if (task.input === undefined) throw notReached();
    await task.input.deliverAnswers(new Map(Object.entries(responses)));
    return {};
  });
  on("tasks/cancel", lookForTaskAlone, (task) => {
    task.cancel();
    return {};
  });
}

/** Revision 2025-11-25: the result has its own request, during which the client is asked the task's questions. */
function addLegacy(handlerContext: HandlerContext): void {
  const { handleOther } = handlerContext;
  handleOther("tasks/get", async (request, context) => (await taskOf(handlerContext, request, context, findTaskSnapshot)).legacyFacts);
  handleOther("tasks/cancel", async (request, context) => {
    const task = await taskOf(handlerContext, request, context, lookForTaskAlone);
    if (task.end !== undefined) throw new handlerContext.gateway.sdk.ProtocolError(INVALID_PARAMS, `The task has ended: ${task.status}.`);
    task.cancel();
    await waitUntilEnded(task, context.mcpReq.signal);
    return task.legacyFacts;
  });
  handleOther("tasks/result", async (request, context) => {
    const task = await endedTask(handlerContext, textParam(request, "taskId"), context);
    if (task?.end === undefined) throw noTask(handlerContext);
    return withRelatedTask(handlerContext, task, task.end);
  });
}

async function taskOf(
  handlerContext: HandlerContext,
  request: McpRequest,
  context: ServerContext,
  find: typeof findTaskSnapshot,
): Promise<ServedTask> {
  const task = await find(handlerContext, textParam(request, "taskId"), context);
  if (task !== undefined) return task;
  throw noTask(handlerContext);
}

function noTask({ gateway: { sdk } }: HandlerContext): Error {
  return new sdk.ProtocolError(INVALID_PARAMS, "There is no such task, or not any more.");
}

/** The error of input for a task that another process runs. */
function notReached(): ToolError {
  return new ToolError("unavailable", "The task runs in another process, which cannot be reached.", { retryable: true });
}

/**
 * Waits for the end of a task, wherever it runs, and asks its questions meanwhile. A question that is not answered in time stays open, and ends the wait.
 * Undefined if the task is removed first.
 */
async function endedTask(handlerContext: HandlerContext, id: string, context: ServerContext): Promise<ServedTask | undefined> {
  const { mcpReq, http } = context;
  const send = createSender(context, handlerContext.gateway.suspensions);
  const asked = new Set<string>();
  const gone = new AbortController();
  const signal = AbortSignal.any([mcpReq.signal, gone.signal]);
  const answer = async (input: TaskInput | undefined, key: string, { method, params }: InputRequest): Promise<void> => {
    const meta = { _meta: { [RELATED_TASK]: { taskId: id } } };
    const given = await send({ method, params: { ...params, ...meta } }, mcpReq.signal).catch((error: unknown) => {
      if (isToolError(error)) throw error;
      return REFUSED;
    });
    try {
      await input?.deliverAnswers(new Map([[key, given]]));
    } catch (thrown: unknown) {
      if (!isToolError(thrown) || thrown.code !== "unavailable") throw thrown;
      asked.delete(key); // the process that runs the task may have ended; if the question is still open later, it is asked again
    }
  };
  for await (const task of taskStates(handlerContext, id, { context: { mcpReq: { signal }, http } })) {
    if (task.end !== undefined) return task;
    for (const [key, request] of task.input?.requests ?? []) {
      if (asked.has(key)) continue;
      asked.add(key);
      answer(task.input, key, request).catch((error: unknown) => gone.abort(error));
    }
  }
  return undefined;
}

const REFUSED: JsonObject = Object.freeze({ action: "cancel" });

function withRelatedTask({ gateway: { sdk } }: HandlerContext, { id }: ServedTask, end: TaskEnd): JsonObject {
  if (end.status === "failed") throw new sdk.ProtocolError(end.error.code, end.error.message, end.error.data);
  const { _meta: meta = {}, ...result } = end.result;
  const own: JsonObject = isJsonObject(meta) ? meta : {};
  const about: JsonValue = { taskId: id };
  return { ...result, _meta: { ...own, [RELATED_TASK]: about } };
}

function nextChange(task: ServedTask): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = task.onChange(() => {
    stop();
    resolve();
  });
  return promise;
}

/** How long to wait for the end of a task after its cancellation was requested, in milliseconds. */
const CANCEL_WAIT_MS = 1_000;

async function waitUntilEnded(task: ServedTask, signal: AbortSignal): Promise<void> {
  const late = AbortSignal.any([signal, AbortSignal.timeout(CANCEL_WAIT_MS)]);
  try {
    while (task.end === undefined) await rejectOnAbort(nextChange(task), late);
  } catch {
    // the task may end otherwise, or later
  }
}
