/** Answers the requests of a server: for a person's input (elicitation), a model's text (sampling), and roots. */
import type { QuestionAnswer } from "../../core/ask.ts";
import { describeThrown } from "../../core/error.ts";
import { copyJson, isJsonObject, type JsonObject } from "../../core/base/json.ts";
import type { Log } from "../../core/ports.ts";
import type { Caller } from "./caller.ts";
import { RpcFailure } from "./failure.ts";
import { INVALID_PARAMS, METHOD_NOT_FOUND } from "./rpc-codes.ts";
import { readForm, type Form } from "./form.ts";
import { printable } from "../../processes/stderr-tail.ts";
import type { McpRoot, McpSampler } from "./options.ts";
import { isWebAddress } from "./web-address.ts";

export interface Answering {
  /** The name of the server, for the person and in the log. */
  readonly server: string;
  readonly log: Log;
  readonly sampling?: McpSampler | undefined;
  readonly roots?: readonly McpRoot[] | undefined;
}

export interface AskedRequest {
  readonly method: string;
  readonly params: JsonObject;
  /** Aborts when the server cancels the request. */
  readonly signal: AbortSignal;
}

/** Maximum number of sampling requests during one tool call. */
const MAX_SAMPLES = 16;
const samples = new WeakMap<Caller, number>();

const NOBODY: JsonObject = Object.freeze({ action: "cancel" });
const REFUSED: JsonObject = Object.freeze({ action: "decline" });

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
  { method, params, signal }: AskedRequest,
  caller: Caller | "nobody" | "several",
  answering: Answering,
): Promise<JsonObject> {
  if (method === "roots/list" && answering.roots !== undefined) return { roots: answering.roots.map((root) => ({ ...root })) };
  if (method === "sampling/createMessage" && answering.sampling !== undefined)
    return await sample(params, caller, { ...answering, signal });
  if (method !== "elicitation/create") throw new RpcFailure(METHOD_NOT_FOUND, `${method} was not offered to this server.`);
  if (caller === "several") {
    answering.log.warn(
      `MCP server "${answering.server}" asked a question while calls of several sessions were in progress, or had just ended; the question was cancelled, because it might reach the wrong person.`,
    );
    return NOBODY;
  }
  if (caller === "nobody" || caller.ask === undefined) return REFUSED;
  return params["mode"] === "url" ? await askForVisit(params, caller, answering) : await askForForm(params, caller, answering);
}

async function sample(
  params: JsonObject,
  caller: Caller | "nobody" | "several",
  { sampling, server, signal, log }: Answering & { readonly signal: AbortSignal },
): Promise<JsonObject> {
  if (typeof caller === "string") throw new RpcFailure(INVALID_PARAMS, "No call is in progress for which a model could be asked.");
  if (caller.simulated === true) throw new RpcFailure(INVALID_PARAMS, "No model is asked in a simulation.");
  const count = (samples.get(caller) ?? 0) + 1;
  samples.set(caller, count);
  if (count > MAX_SAMPLES) throw new RpcFailure(INVALID_PARAMS, `One call may ask a model at most ${MAX_SAMPLES} times.`);
  try {
    const result = copyJson(await sampling?.(params, { asker: server, signal: AbortSignal.any([signal, caller.signal]) })).value;
    if (isJsonObject(result)) return result;
    throw new TypeError("its answer is not an object");
  } catch (error: unknown) {
    log.warn(`The request of MCP server "${server}" to a model failed: ${describeThrown(error)}`);
    throw new RpcFailure(-1, "The request to a model was refused.");
  }
}

async function askForForm(params: JsonObject, caller: Caller, { server, log }: Answering): Promise<JsonObject> {
  const message = messageOf(params);
  const form = readForm(params["requestedSchema"], typeof params["message"] === "string" ? params["message"] : "");
  if (typeof form === "string") throw new RpcFailure(INVALID_PARAMS, `This question cannot be asked: ${form}.`);
  if (form.secret !== undefined) {
    log.warn(
      `MCP server "${server}" asks for ${JSON.stringify(printable(form.secret))}: secrets are not asked for in forms, so the question was declined.`,
    );
    return REFUSED;
  }
  const shown = form.isDoubtful
    ? `${message}\n[This question mentions a secret. Type no password, code or key here: "${server}" would get it.]`
    : message;
  const answer = await caller.ask?.({ message: shown, schema: form.schema }, server);
  return answered(answer, form, { server, log });
}

function answered(
  answer: QuestionAnswer | undefined,
  form: Form,
  { server, log }: { readonly server: string; readonly log: Log },
): JsonObject {
  if (answer === undefined || answer.action !== "accept") return { action: answer?.action ?? "cancel" };
  const completed = form.complete(answer.content ?? {});
  if ("content" in completed) return { action: "accept", content: completed.content };
  log.warn(`The answer to a question of MCP server "${server}" does not fit and was not sent: ${completed.problem}.`);
  return NOBODY;
}

async function askForVisit(params: JsonObject, caller: Caller, { server, log }: Answering): Promise<JsonObject> {
  const { url } = params;
  if (typeof url !== "string" || !isWebAddress(url)) {
    log.warn(`MCP server "${server}" asked to open a page that has no http or https address; the question was declined.`);
    return REFUSED;
  }
  const answer = await caller.ask?.({ message: messageOf(params), url }, server);
  return { action: answer?.action ?? "cancel" };
}

function messageOf(params: JsonObject): string {
  return typeof params["message"] === "string" ? printable(params["message"]).slice(0, 10_000) : "";
}
