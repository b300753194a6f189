/** Makes one `tools/call` request, and returns the output or the job that continues the call. */
import type { ToolContext } from "../../core/context.ts";
import type { EngineRequest } from "../../core/engine.ts";
import type { RemoteJob } from "../../core/jobs/remote-job.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { Clock } from "../../core/ports.ts";
import type { Tool } from "../../core/tool.ts";
import type { ServerRequestContext } from "./answer-request.ts";
import type { Caller } from "./callers.ts";
import type { McpConnection } from "./connection.ts";
import { RpcFailure, WorkStarted } from "./failure.ts";
import { INVALID_PARAMS, METHOD_NOT_FOUND } from "./rpc-codes.ts";
import { requestWithInput } from "./request-with-input.ts";
import { parameterHeaders, sendsParameterHeaders, writeParameterHeaders } from "./parameter-headers.ts";
import { extractTask, createTaskJob, type TaskOptions } from "./task-job.ts";
import { readAnnotations } from "../../core/formats/content-annotations.ts";
import { fromAttachmentUri } from "../../core/formats/attachment-uri.ts";
import { ToolOutput, type ContentPart } from "../../core/content.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { ToolError } from "../../core/error.ts";
import { StruckOutput } from "../../core/answers/struck-output.ts";
import { truncateText } from "../../core/base/truncate-text.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";

export interface CallToolOptions {
  readonly context: ToolContext;
  readonly requestContext: ServerRequestContext;
  readonly clock: Clock;
  /** The server's name of the tool. */
  readonly name: string;
  /** Strikes the credentials of the server out of what it says. */
  readonly redactAnswer: <T>(value: T) => T;
  /** See `TaskOptions`. */
  readonly getConnection: TaskOptions["getConnection"];
  /** Turns an error of a later request, in a job, into the error of a call. */
  readonly toCallError: TaskOptions["toCallError"];
}

/** Returns a `ToolOutput`, or a `RemoteJob` if the server continues the work after its answer. */
export async function callTool(connection: McpConnection, request: EngineRequest, options: CallToolOptions): Promise<unknown> {
  const { tool, input } = request;
  const { context, requestContext, clock, redactAnswer } = options;
  const { signal } = context;
  const caller = callerOf(options);
  const isTask = connection.era === "modern" || wantsTask(tool, connection);
  const { traceHeaders } = context;
  const params: JsonObject = {
    name: options.name,
    arguments: input,
    ...(isTask && connection.era === "legacy" ? { task: {} } : {}),
    ...(traceHeaders === undefined ? {} : { _meta: { ...traceHeaders } }),
  };
  const onProgress: ToolContext["progress"] = (update) => context.progress(redactAnswer(update));
  const headers = sendsParameterHeaders(connection) ? headersOf(tool, input) : {};
  const answer = await connection.callers.track(caller, () =>
    requestWithInput(connection, "tools/call", params, { signal, headers, onProgress, caller, requestContext, clock }),
  );
  const task = isTask ? extractTask(answer, connection.era) : undefined;
  return task === undefined ? struckOutput(answer, options) : followTask(task, connection, caller, options);
}

/** Returns the job for a task that the server began for an earlier process. @throws ToolError `not_found` if the server does not have the task */
export async function attachToTask(connection: McpConnection, taskId: string, options: CallToolOptions): Promise<unknown> {
  const { context, requestContext } = options;
  const caller = callerOf(options);
  let task: unknown;
  try {
    task = await connection.callers.track(caller, () => connection.request("tasks/get", { taskId }, { signal: context.signal }));
  } catch (error: unknown) {
    const isGone = error instanceof RpcFailure && (error.code === INVALID_PARAMS || error.code === METHOD_NOT_FOUND);
    throw isGone ? noTaskError(requestContext.server, taskId, error.message) : new WorkStarted("the task had begun", { cause: error });
  }
  if (!isJsonObject(task)) throw noTaskError(requestContext.server, taskId, "it answered with something that is not an object");
  return followTask({ ...task, taskId }, connection, caller, options);
}

function noTaskError(server: string, taskId: string, reason: string): ToolError {
  return new ToolError("not_found", `MCP server ${JSON.stringify(server)} has no task ${JSON.stringify(taskId)} any more: ${reason}`);
}

function callerOf({ context, redactAnswer }: CallToolOptions): Caller {
  const { sessionId: session, signal, simulated } = context;
  return { session, ask: (question, asker) => context.ask(redactAnswer(question), asker), signal, simulated };
}

function followTask(task: JsonObject, connection: McpConnection, caller: Caller, options: CallToolOptions): RemoteJob {
  const { context, requestContext, clock, redactAnswer, getConnection, toCallError } = options;
  const onProgress: ToolContext["progress"] = (update) => context.progress(redactAnswer(update));
  const convertResult = (result: unknown): unknown => struckOutput(result, options);
  return createTaskJob(task, {
    connection,
    caller,
    requestContext,
    clock,
    signal: context.signal,
    onProgress,
    convertResult,
    getConnection,
    toCallError,
  });
}

function struckOutput(answer: unknown, { requestContext, redactAnswer }: CallToolOptions): ToolOutput {
  const struck = redactAnswer(answer);
  const taken = toToolOutput(struck, requestContext.server);
  if (struck === answer || !isJsonObject(answer)) return taken;
  const { output, content, metadata } = taken;
  return new StruckOutput(omitUndefined({ output, content, metadata }), answer["structuredContent"]);
}

/** Whether a server of the legacy era requires this tool to be called as a task. Other tools are called without one. */
function wantsTask(tool: Tool, { identity }: McpConnection): boolean {
  let offered: unknown = identity.capabilities["tasks"];
  for (const step of ["requests", "tools", "call"]) offered = isJsonObject(offered) ? offered[step] : undefined;
  return offered !== undefined && tool.metadata?.["taskSupport"] === "required";
}

/** The declared headers by input schema; a schema does not change while its tool is offered. */
const DECLARED_HEADERS = new WeakMap<object, ReturnType<typeof parameterHeaders>>();

function headersOf({ inputSchema }: Tool, input: JsonObject): Readonly<Record<string, string>> {
  if (typeof inputSchema === "boolean") return {};
  const declared = getOrAdd(DECLARED_HEADERS, inputSchema, parameterHeaders);
  return typeof declared === "string" ? {} : writeParameterHeaders(declared, input);
}

/** Maximum number of characters of an error's JSON that are shown. */
const MAX_REASON_CHARS = 2_000;

/** The cause of an error that a tool itself reported. */
const TOOL_ERROR = Object.freeze({ isError: true });

/**
 * Converts an answer: `structuredContent` becomes the output, `content` the parts, in order. Parts of an unknown kind are kept as JSON text.
 *
 * @throws ToolError `execution_failed` with the text of the answer, else its JSON, if it is marked `isError`; its outcome is `failed`, unless a
 * server of Haft says `unknown`. `invalid_output` if the answer is not an object
 */
export function toToolOutput(answer: unknown, server: string): ToolOutput {
  if (!isJsonObject(answer))
    throw new ToolError("invalid_output", `MCP server "${server}" answered tools/call with something that is not an object.`);
  const { content: given = [], structuredContent: output } = answer;
  const content = contentItems(given).map(toPart);
  if (answer["isError"] === true)
    throw new ToolError("execution_failed", failureReason(content, output), { outcome: outcomeOf(answer), cause: TOOL_ERROR });
  return new ToolOutput({
    ...(output === undefined ? {} : { output }),
    ...(content.length === 0 && output !== undefined ? {} : { content }),
    ...(isJsonObject(answer["_meta"]) ? { metadata: answer["_meta"] } : {}),
  });
}

/** The outcome of a failed call. MCP cannot say that a failed call may have taken effect, so servers of Haft add it in `_meta`. */
function outcomeOf({ _meta: meta }: JsonObject): "failed" | "unknown" {
  const notes = isJsonObject(meta) ? meta["haft/call"] : undefined;
  return isJsonObject(notes) && notes["outcome"] === "unknown" ? "unknown" : "failed";
}

/** The parts of the content. A server may send a single part instead of an array. */
function contentItems(given: JsonValue): readonly JsonValue[] {
  if (isJsonArray(given)) return given;
  return given === null ? [] : [typeof given === "string" ? { type: "text", text: given } : given];
}

/** The text of a failed answer, else its structured content as JSON. */
function failureReason(content: readonly ContentPart[], output: JsonValue | undefined): string {
  const text = joinTexts(content);
  if (text !== "") return text;
  return output === undefined || output === null ? "Tool reported isError=true" : truncateText(JSON.stringify(output), MAX_REASON_CHARS);
}

function joinTexts(content: readonly ContentPart[]): string {
  const texts: string[] = [];
  for (const part of content) if (part.type === "text") texts.push(part.text);
  return texts.join("\n").trim();
}

function toPart(item: unknown): ContentPart {
  const part = isJsonObject(item) ? item : {};
  const annotations = readAnnotations(part["annotations"]);
  return { ...toBarePart(part, item), ...omitUndefined({ annotations }) };
}

function toBarePart(part: JsonObject, item: unknown): ContentPart {
  const { type, text, data, mimeType } = part;
  if (type === "text" && typeof text === "string") return { type, text };
  if ((type === "image" || type === "audio") && typeof data === "string")
    return { type, data, mediaType: typeof mimeType === "string" ? mimeType : "application/octet-stream" };
  if (type === "resource_link" && typeof part["uri"] === "string") return linkPart(part, part["uri"]);
  const resource = part["resource"];
  if (type === "resource" && isJsonObject(resource) && typeof resource["uri"] === "string") return resourcePart(resource, resource["uri"]);
  return { type: "text", text: JSON.stringify(item) ?? "" };
}

/** A link as a file part, with its title or description, so that a model can decide whether to read it. */
function linkPart(link: JsonObject, uri: string): ContentPart {
  const { title, description = title, size } = link;
  return {
    ...filePart(link, uri),
    ...(typeof title === "string" && title !== "" ? { title } : {}),
    ...(typeof description === "string" && description !== "" ? { description } : {}),
    ...(typeof size === "number" && Number.isSafeInteger(size) && size >= 0 ? { bytes: size } : {}),
  };
}

function resourcePart(resource: JsonObject, uri: string): ContentPart {
  const { blob, mimeType } = resource;
  if (typeof blob !== "string") return filePart(resource, uri);
  const mediaType = typeof mimeType === "string" ? mimeType : "application/octet-stream";
  if (mediaType.startsWith("image/")) return { type: "image", mediaType, data: blob };
  if (mediaType.startsWith("audio/")) return { type: "audio", mediaType, data: blob };
  return { type: "file", uri: `data:${mediaType};base64,${blob}`, mediaType, name: fromAttachmentUri(uri) };
}

function filePart(source: JsonObject, uri: string): ContentPart & { readonly type: "file" } {
  const { mimeType, name, text } = source;
  return {
    type: "file",
    uri,
    ...(typeof mimeType === "string" ? { mediaType: mimeType } : {}),
    ...(typeof text === "string" ? { text } : {}),
    ...(typeof name === "string" ? { name } : {}),
  };
}
