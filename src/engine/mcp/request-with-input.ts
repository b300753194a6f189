/** Sends one request and provides the input that the server asks for before it answers. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { Clock } from "../../core/ports.ts";
import { answerRequest, isAnswerable, type ServerRequestContext } from "./answer-request.ts";
import type { Caller } from "./callers.ts";
import type { McpConnection, RequestOptions } from "./connection.ts";
import { RpcFailure, ServerFault, WorkStarted } from "./failure.ts";
import { URL_ELICITATION_REQUIRED, saysNotStarted } from "./rpc-codes.ts";
import { AcceptedPages } from "./accepted-pages.ts";
import { sleep } from "../../processes/sleep.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";

export interface InputRequestOptions extends RequestOptions {
  readonly caller: Caller;
  readonly requestContext: ServerRequestContext;
  readonly clock: Clock;
}

/** How often a server may ask during one request, and how many questions at a time. */
const MAX_ROUNDS = 10;
const MAX_QUESTIONS = 16;
/** Wait before a request is sent again if the server only gave a `requestState` and asked nothing, in milliseconds. */
const RESEND_DELAY_MS = 250;

/**
 * Sends a request. As long as the answer is `input_required`, sends it again with the responses and the server's `requestState` unchanged. If it is
 * an error that asks for pages to be visited, sends the same request until the person has finished on the pages that they accepted.
 *
 * @throws as `McpConnection.request`; `WorkStarted` around such an error if an answer or question came before, or if a call that reported progress
 * claims not to have begun; ToolError `execution_failed` if the server does not stop asking
 */
export async function requestWithInput(
  connection: McpConnection,
  method: string,
  params: JsonObject,
  options: InputRequestOptions,
): Promise<unknown> {
  const pages = new AcceptedPages(options.clock);
  let current = params;
  for (let round = 0; ;) {
    const answer = await sendRound(connection, method, current, { options, round });
    const wanted = connection.era === "modern" ? findWantedInput(answer) : findRequestedVisits(answer);
    if (wanted === undefined) return answer;
    if (answer instanceof RpcFailure && pages.include(wanted.requests)) {
      if (!(await pages.waitToResend(options.signal))) throw answer;
      continue;
    }
    if (round++ === MAX_ROUNDS) throw new ServerFault("execution_failed", `it asked ${MAX_ROUNDS} times and still requires more input`);
    const responses = await answerInputRequests(wanted.requests, options);
    if (answer instanceof RpcFailure) {
      if (!allAccepted(responses)) throw answer;
      pages.add(wanted.requests);
    }
    if (Object.keys(responses).length === 0) await sleep(options.clock, RESEND_DELAY_MS, options.signal);
    current = connection.era === "modern" ? { ...params, ...nextParams(responses, wanted.state) } : params;
  }
}

/** The answer, or the error that only asks for pages to be visited. */
async function sendRound(
  connection: McpConnection,
  method: string,
  params: JsonObject,
  { options, round }: { readonly options: InputRequestOptions; readonly round: number },
): Promise<unknown> {
  const { signal, headers, onProgress, caller } = options;
  let hasReported = false;
  const noted: typeof onProgress = (update) => {
    hasReported = true;
    onProgress?.(update);
  };
  const request = { signal, ...omitUndefined({ headers, onProgress: onProgress === undefined ? undefined : noted }) };
  try {
    return await connection.request(method, params, request);
  } catch (error: unknown) {
    if (error instanceof RpcFailure && error.code === URL_ELICITATION_REQUIRED) return error;
    // earlier requests may have taken effect, and so may one during which the server asked: only otherwise is it certain that nothing began
    if (round > 0 || connection.callers.hasAsked(caller)) throw new WorkStarted("the server had asked back", { cause: error });
    const contradicts = hasReported && error instanceof RpcFailure && saysNotStarted(error.data);
    throw contradicts ? new WorkStarted("the server had reported progress", { cause: error }) : error;
  }
}

interface WantedInput {
  readonly requests: JsonObject;
  readonly state: JsonValue | undefined;
}

function findWantedInput(answer: unknown): WantedInput | undefined {
  if (answer instanceof RpcFailure) throw answer;
  if (!isJsonObject(answer) || answer["resultType"] !== "input_required") return undefined;
  const requests = answer["inputRequests"] ?? {};
  const state = answer["requestState"];
  if (!isJsonObject(requests) || (Object.keys(requests).length === 0 && typeof state !== "string")) {
    throw new ServerFault("invalid_output", "it requires input but does not say which");
  }
  return { requests, state };
}

/** The pages that an error asks to visit before the call is made again (revision 2025-11-25). */
function findRequestedVisits(answer: unknown): WantedInput | undefined {
  if (!(answer instanceof RpcFailure)) return undefined;
  const listed = isJsonObject(answer.data) ? answer.data["elicitations"] : undefined;
  if (!isJsonArray(listed) || listed.length === 0) throw answer;
  const requests: Record<string, JsonValue> = {};
  for (const [index, params] of listed.entries()) requests[String(index)] = { method: "elicitation/create", params };
  return { requests, state: undefined };
}

/** The answers by the keys of the questions, which are asked one after the other. */
export async function answerInputRequests(
  requests: JsonObject,
  options: Pick<InputRequestOptions, "requestContext" | "caller" | "signal">,
): Promise<JsonObject> {
  const entries = Object.entries(requests);
  if (entries.length > MAX_QUESTIONS)
    throw new ServerFault("execution_failed", `it asks ${entries.length} questions at once; ${MAX_QUESTIONS} is the limit`);
  const responses: [string, JsonValue][] = [];
  for (const [key, request] of entries) {
    const { method, params } = isJsonObject(request) ? request : {};
    if (typeof method !== "string" || !isAnswerable(method))
      throw new ServerFault("invalid_output", "it requires input of an unknown kind");
    const { signal, caller, requestContext } = options;
    const asked = { method, params: isJsonObject(params) ? params : {}, signal };
    const response = await answerRequest(asked, caller, requestContext).catch((error: unknown) => {
      if (!(error instanceof RpcFailure)) throw error;
      throw new ServerFault("execution_failed", `it asked for something that was not offered to it: ${error.message}`, { cause: error });
    });
    responses.push([key, response]);
  }
  return Object.fromEntries(responses);
}

function nextParams(responses: JsonObject, state: JsonValue | undefined): JsonObject {
  return {
    ...(Object.keys(responses).length === 0 ? {} : { inputResponses: responses }),
    ...(state === undefined ? {} : { requestState: state }),
  };
}

function allAccepted(responses: JsonObject): boolean {
  return Object.values(responses).every((response) => isJsonObject(response) && response["action"] === "accept");
}
