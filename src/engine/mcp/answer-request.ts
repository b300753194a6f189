/** Answers the requests of a server: for a person's input (elicitation), a model's text (sampling), and roots. */
import type { QuestionAnswer } from "../../core/approvals/ask.ts";
import { describeThrown } from "../../core/error.ts";
import { copyJson, isJsonObject, type JsonObject } from "../../core/base/json.ts";
import type { Log } from "../../core/ports.ts";
import type { Caller } from "./callers.ts";
import { RpcFailure } from "./failure.ts";
import { INVALID_PARAMS, METHOD_NOT_FOUND } from "./rpc-codes.ts";
import { readForm, type ElicitationForm } from "./elicitation-form.ts";
import { stripControlCharacters } from "../../processes/stderr-tail.ts";
import type { McpRoot, McpSampler } from "./options.ts";
import { isWebAddress } from "./web-address.ts";

export interface ServerRequestContext {
  /** The name of the server, for the person and in the log. */
  readonly server: string;
  readonly log: Log;
  readonly sampling?: McpSampler | undefined;
  readonly roots?: readonly McpRoot[] | undefined;
}

export interface ServerRequest {
  readonly method: string;
  readonly params: JsonObject;
  /** Aborts when the server cancels the request. */
  readonly signal: AbortSignal;
}

/** Maximum number of sampling requests during one tool call. */
const MAX_SAMPLING_REQUESTS = 16;
const samplingCounts = new WeakMap<Caller, number>();

const CANCELLED_ANSWER: JsonObject = Object.freeze({ action: "cancel" });
const DECLINED_ANSWER: JsonObject = Object.freeze({ action: "decline" });

/** Whether `answerRequest` handles the method. */
export function isAnswerable(method: string): boolean {
  return method === "elicitation/create" || method === "sampling/createMessage" || method === "roots/list";
}

/**
 * Answers one request on behalf of the call that it belongs to.
 *
 * @param caller "several" if the request could belong to calls of several sessions, "nobody" if no call is in flight
 * @throws RpcFailure for a method that was not offered or a malformed request, as a rejection
 */
export async function answerRequest(
  { method, params, signal }: ServerRequest,
  caller: Caller | "nobody" | "several",
  requestContext: ServerRequestContext,
): Promise<JsonObject> {
  if (method === "roots/list" && requestContext.roots !== undefined) return { roots: requestContext.roots.map((root) => ({ ...root })) };
  if (method === "sampling/createMessage" && requestContext.sampling !== undefined)
    return await answerSampling(params, caller, { ...requestContext, signal });
  if (method !== "elicitation/create") throw new RpcFailure(METHOD_NOT_FOUND, `${method} was not offered to this server.`);
  if (caller === "several") {
    requestContext.log.warn(
      `MCP server "${requestContext.server}" asked a question while calls of several sessions were in progress, or had just ended; the question was cancelled, because it might reach the wrong person.`,
    );
    return CANCELLED_ANSWER;
  }
  if (caller === "nobody" || caller.ask === undefined) return DECLINED_ANSWER;
  return params["mode"] === "url" ? await askToOpenUrl(params, caller, requestContext) : await askForm(params, caller, requestContext);
}

async function answerSampling(
  params: JsonObject,
  caller: Caller | "nobody" | "several",
  { sampling, server, signal, log }: ServerRequestContext & { readonly signal: AbortSignal },
): Promise<JsonObject> {
  if (typeof caller === "string") throw new RpcFailure(INVALID_PARAMS, "No call is in progress for which a model could be asked.");
  if (caller.simulated === true) throw new RpcFailure(INVALID_PARAMS, "No model is asked in a simulation.");
  const count = (samplingCounts.get(caller) ?? 0) + 1;
  samplingCounts.set(caller, count);
  if (count > MAX_SAMPLING_REQUESTS)
    throw new RpcFailure(INVALID_PARAMS, `One call may ask a model at most ${MAX_SAMPLING_REQUESTS} times.`);
  try {
    const result = copyJson(await sampling?.(params, { asker: server, signal: AbortSignal.any([signal, caller.signal]) })).value;
    if (isJsonObject(result)) return result;
    throw new TypeError("its answer is not an object");
  } catch (error: unknown) {
    log.warn(`The request of MCP server "${server}" to a model failed: ${describeThrown(error)}`);
    throw new RpcFailure(-1, "The request to a model was refused.");
  }
}

async function askForm(params: JsonObject, caller: Caller, { server, log }: ServerRequestContext): Promise<JsonObject> {
  const message = messageOf(params);
  const form = readForm(params["requestedSchema"], typeof params["message"] === "string" ? params["message"] : "");
  if (typeof form === "string") throw new RpcFailure(INVALID_PARAMS, `This question cannot be asked: ${form}.`);
  if (form.secret !== undefined) {
    log.warn(
      `MCP server "${server}" asks for ${JSON.stringify(stripControlCharacters(form.secret))}: secrets are not asked for in forms, so the question was declined.`,
    );
    return DECLINED_ANSWER;
  }
  // a warning in the sense of `readForm` itself, as the question may go on to a client that checks it in the same way
  const shown = form.isDoubtful ? `${message}\n[Do not type a password, code or key here, because "${server}" would get it.]` : message;
  const answer = await caller.ask?.({ message: shown, schema: form.schema }, server);
  return toFormAnswer(answer, form, { server, log });
}

function toFormAnswer(
  answer: QuestionAnswer | undefined,
  form: ElicitationForm,
  { server, log }: { readonly server: string; readonly log: Log },
): JsonObject {
  if (answer === undefined || answer.action !== "accept") return { action: answer?.action ?? "cancel" };
  const completed = form.complete(answer.content ?? {});
  if ("content" in completed) return { action: "accept", content: completed.content };
  log.warn(`The answer to a question of MCP server "${server}" does not fit and was not sent: ${completed.problem}.`);
  return CANCELLED_ANSWER;
}

async function askToOpenUrl(params: JsonObject, caller: Caller, { server, log }: ServerRequestContext): Promise<JsonObject> {
  const { url } = params;
  if (typeof url !== "string" || !isWebAddress(url)) {
    log.warn(`MCP server "${server}" asked to open a page that has no http or https address; the question was declined.`);
    return DECLINED_ANSWER;
  }
  const answer = await caller.ask?.({ message: messageOf(params), url }, server);
  return { action: answer?.action ?? "cancel" };
}

function messageOf(params: JsonObject): string {
  return typeof params["message"] === "string" ? stripControlCharacters(params["message"]).slice(0, 10_000) : "";
}
