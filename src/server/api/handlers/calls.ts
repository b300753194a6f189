/** Handlers of the routes that run and inspect calls. */
import { sliceChars } from "../../../core/base/truncate-text.ts";
import { formatList } from "../../../core/base/wording.ts";
import type { JsonObject } from "../../../core/base/json.ts";
import { ToolError } from "../../../core/error.ts";
import type { Engine } from "../../../core/engine.ts";
import type { SessionEvent } from "../../../core/event.ts";
import { partText, resultText, type ToolResult } from "../../../core/result.ts";
import { valueText } from "../../../core/content.ts";
import type { ToolCall } from "../../../core/call.ts";
import { omitUndefined } from "../../../core/base/omit-undefined.ts";
import type { ExecuteOptions } from "../../../call/execute-options.ts";
import { replayEngine } from "../../../engine/replay.ts";
import type { RuntimeSession } from "../../../runtime/runtime-session.ts";
import { storedEvents } from "../../../session/read-events.ts";
import type { SessionDiff } from "../../../session/session-diff.ts";
import type { BodyOf } from "../../api.ts";
import type { CallOrigin } from "../../auth/call-log.ts";
import { hasScope, type Principal } from "../../auth/principal.ts";
import type { TextResponse } from "../../http/text-response.ts";
import { withoutStorePlace } from "../../store-failures.ts";
import { DEFAULT_WAIT_MS } from "../openapi/json-schema.ts";
import { batchResponse, jsonResponse, toApiResult } from "./responses.ts";
import { readMessage, type MessageCalls, type ReadMessageOptions } from "./message-calls.ts";
import { askOtherProcesses, checkNotElsewhere, waitUntilOpen } from "../requests/forward.ts";
import { toRefusal } from "../requests/refuse-request.ts";
import type { SentRequest } from "../requests/api-request.ts";
import type { ApiServices, Handlers, RequestOf } from "../services.ts";
import { readAnywhere } from "../sessions/read-anywhere.ts";
import { OWN_SESSION_PREFIX, checkVisible, refuseSessionKey } from "../sessions/session-ids.ts";

type BatchId = "execute" | "simulate" | "executeInSession" | "simulateInSession";

export const callHandlers = {
  async execute(request, services) {
    const { runtime, idempotencyKey } = request;
    refuseSessionKey(request.principal);
    if (idempotencyKey === undefined)
      return runBatch(request, { services }, async ({ calls, options }) => {
        const work = (): Promise<readonly ToolResult[]> => runtime.execute(calls, options);
        return { results: await (services.calls?.recordCalls(originOf(request), work) ?? work()) };
      });
    // the key gets its own session, which remembers the work even if the process ends
    const own = `${OWN_SESSION_PREFIX}${idempotencyKey}`;
    await checkNotElsewhere(own, services); // before the request can be answered with 202
    const beforeId = (ended: AbortSignal): Promise<void> => waitUntilOpen(own, services, ended);
    const response = await runBatch(request, { services, beforeId }, async ({ calls, options }) => {
      const run = (session: RuntimeSession): Promise<readonly ToolResult[]> =>
        session.execute(calls, { ...options, background: false, idempotencyKey });
      return { results: await runInSession(own, run, { services, idempotencyKey, create: true }) };
    });
    if (response.status === 200) await services.sessions.closeAnsweredSession(own);
    return response;
  },

  simulate: (request, services) => {
    refuseSessionKey(request.principal);
    return runBatch(request, { services }, ({ calls, options }) => {
      const work = (): Promise<BatchResult> => request.runtime.simulate(calls, options);
      return services.calls?.recordSimulated(originOf(request), work) ?? work();
    });
  },

  executeInSession: (request, services) => {
    const { params, body, principal, idempotencyKey } = request;
    checkVisible(principal, params.sessionId);
    const { concurrent, background, recording } = body;
    if (recording !== undefined) checkCanRead(principal, recording);
    const { sessionId } = params;
    const beforeId = (ended: AbortSignal): Promise<void> => waitUntilOpen(sessionId, services, ended);
    return runBatch(request, { services, sessionId, beforeId }, async ({ calls, options }) => {
      const replay = recording === undefined ? undefined : await createReplay(recording, services);
      const more = omitUndefined({ concurrent, background, idempotencyKey, replay });
      const run = (session: RuntimeSession): Promise<readonly ToolResult[]> => session.execute(calls, { ...options, ...more });
      return { results: await runInSession(sessionId, run, { services, idempotencyKey }) };
    });
  },

  simulateInSession: (request, services) => {
    const { sessionId } = request.params;
    checkVisible(request.principal, sessionId);
    const beforeId = (ended: AbortSignal): Promise<void> => waitUntilOpen(sessionId, services, ended);
    return runBatch(request, { services, sessionId, beforeId }, ({ calls, options }) => {
      const work = (): Promise<BatchResult> => services.sessions.use(sessionId, (session) => session.simulate(calls, options));
      return services.calls?.recordSimulated({ ...originOf(request), sessionId }, work) ?? work();
    });
  },

  async getSubmission({ principal, params: { submissionId }, query: { waitMs, sessionId }, signal, request }, services) {
    const waited = await services.submissions.wait(submissionId, { principalId: principal.id, waitMs, signal });
    if (waited !== undefined) return batchResponse(waited, { sessionId, basePath: services.basePath });
    const elsewhere = await askOtherProcesses(request, services, { what: "The calls may be running" });
    if (elsewhere !== undefined) return elsewhere;
    throw new ToolError("not_found", `There is no submission ${JSON.stringify(submissionId)}, or it ended too long ago.`, {
      hint: "Send the request again with its Idempotency-Key to get the first results.",
    });
  },

  async getCall({ principal, runtime, params: { callId }, query: { sessionId } }, services) {
    const found = await findCall(services, { callId, sessionId: principal.sessionId ?? sessionId });
    const running = runtime.running.find((call) => call.callId === callId);
    if (found === undefined && running !== undefined && principal.sessionId === undefined)
      return { callId, state: "running", call: { name: running.name, input: running.input } };
    if (found === undefined) throw noCall(callId, principal.sessionId ?? sessionId);
    const { start, end } = found;
    return {
      callId,
      sessionId: start.sessionId,
      state: end === undefined ? "running" : "ended",
      call: start.call,
      ...(end?.input === undefined ? {} : { input: end.input }),
      ...(end === undefined ? {} : { result: toApiResult(end.result) }),
    };
  },

  async cancelCall({ principal, runtime, params: { callId }, body, request }, services) {
    const { reason = "the call was cancelled" } = body;
    if (!runtime.running.some((call) => call.callId === callId) && (await cancelElsewhere(request, body, services)))
      return { cancelled: true };
    const own = principal.sessionId;
    if (own !== undefined) {
      const found = await findCall(services, { callId, sessionId: own });
      // the log of a branch has its parent's calls, but they run in the parent
      if (found?.start.sessionId !== own) throw noCall(callId, own);
    }
    return { cancelled: runtime.cancel(callId, reason) };
  },

  async getCallOutput({ principal, runtime, params: { callId }, query: { sessionId, from, maxChars } }, services) {
    const job = runtime.jobs.get(callId);
    if (job !== undefined && job.endedAt === undefined && (principal.sessionId ?? job.sessionId) === job.sessionId)
      return runtime.jobs.read(callId, { from, maxChars });
    const found = await findCall(services, { callId, sessionId: principal.sessionId ?? sessionId });
    if (found === undefined) throw noCall(callId, principal.sessionId ?? sessionId);
    if (found.end === undefined) throw new ToolError("not_found", `The call ${JSON.stringify(callId.slice(0, 200))} has no answer yet.`);
    const whole = fullResultText(found);
    const part = sliceChars(whole, Math.min(from, whole.length), maxChars);
    return { ...part, next: part.from + part.text.length, total: whole.length };
  },
} satisfies Partial<Handlers>;

interface SessionRunOptions {
  readonly services: ApiServices;
  readonly idempotencyKey: string | undefined;
  readonly create?: boolean;
}

/** @throws ToolError `unavailable` if the server stops and leaves the calls to another process, as a rejection */
async function runInSession<Results>(
  id: string,
  run: (session: RuntimeSession) => Promise<Results>,
  { services: { sessions }, idempotencyKey, create = false }: SessionRunOptions,
): Promise<Results> {
  try {
    return await sessions.use(id, run, { create, waitsForCalls: true });
  } catch (thrown: unknown) {
    throw sessions.releasedCalls.replaceError(id, thrown, idempotencyKey !== undefined);
  }
}

/** Origin of the calls, for the audit. */
function originOf({ principal, request }: Pick<RequestOf<"execute">, "principal" | "request">): CallOrigin {
  return { via: "api", principal: principal.id, traceparent: request.headers.get("traceparent") };
}

/** Whether another process of the store cancelled the call. All are asked, since the id does not say where the call runs. */
async function cancelElsewhere(request: SentRequest, body: JsonObject, services: ApiServices): Promise<boolean> {
  const accepts = async (answer: Response): Promise<boolean> => {
    const { cancelled } = (await answer.json()) as { readonly cancelled?: unknown }; // the response of this same route
    return cancelled === true;
  };
  return (
    (await askOtherProcesses(request, services, { what: "The call may be running", body, timeoutMs: ASK_TIMEOUT_MS, accepts })) !==
    undefined
  );
}

/** How long to wait for another process, in milliseconds. */
const ASK_TIMEOUT_MS = 5_000;

/** Requires the scope `read`, like a route that reads the session. @throws ToolError `not_found`, `permission_denied` */
function checkCanRead(principal: Principal, sessionId: string): void {
  checkVisible(principal, sessionId);
  if (hasScope(principal, "read")) return;
  throw new ToolError("permission_denied", "Reading recorded results needs the scope read.", {
    hint: `${principal.name} has ${[...principal.scopes].join(", ")}.`,
  });
}

/** Makes an engine that answers as the session's recorded calls, wherever it is open. @throws ToolError `not_found`, as a rejection */
async function createReplay(sessionId: string, services: ApiServices): Promise<Engine> {
  const events: SessionEvent[] = [];
  for await (const event of readAnywhere(sessionId, services))
    if (event.type === "call-start" || event.type === "call-end") events.push(event);
  return replayEngine(events, { repeatLast: true });
}

interface Batch {
  readonly calls: readonly ToolCall[];
  readonly options: ExecuteOptions;
}

interface BatchResult {
  readonly results: readonly ToolResult[];
  readonly diff?: SessionDiff;
}

interface BatchPlace {
  readonly services: ApiServices;
  readonly sessionId?: string;
  /** Awaited before the request is answered with 202. */
  readonly beforeId?: (ended: AbortSignal) => Promise<void>;
}

/** Runs the calls, and waits for them at most `waitMs`. A disconnect of the client cancels nothing. */
async function runBatch(
  { principal, body, runtime: { registry } }: Pick<RequestOf<BatchId>, "principal" | "body" | "runtime">,
  { services, sessionId, beforeId }: BatchPlace,
  work: (batch: Batch) => Promise<BatchResult>,
): Promise<TextResponse> {
  const { submissions, basePath } = services;
  const { waitMs = DEFAULT_WAIT_MS } = body;
  const options = optionsOf({ principal, body }, services);
  const { calls, encode } = readCalls(body, { registry, allow: options.allow });
  const end = countCalls(calls, principal, services);
  const run = async (): Promise<TextResponse> => {
    try {
      const { results, diff } = await work({ calls, options });
      return jsonResponse({
        results: results.map(toApiResult),
        ...omitUndefined({ messages: encode?.(results.map(withoutStorePlace)), diff }),
      });
    } finally {
      end();
    }
  };
  const waited = await submissions.run(principal.id, { waitMs, work: run, ...omitUndefined({ beforeId }) });
  return batchResponse(waited, { sessionId, basePath });
}

/** Counts the calls until the returned function is called. @throws ToolError `rate_limited`, `too_large` */
function countCalls(calls: readonly ToolCall[], principal: Principal, services: ApiServices): () => void {
  try {
    return services.limits.startWork(principal.id, "calls", calls.length);
  } catch (thrown: unknown) {
    throw toRefusal(thrown, { principal, names: calls.map(({ name }) => name) }, services);
  }
}

/** The calls of the request, or of the message in it. @throws ToolError `invalid_argument`, `too_large` */
function readCalls(
  { calls, message, format }: BodyOf<BatchId>,
  shown: Pick<ReadMessageOptions, "registry" | "allow">,
): Pick<MessageCalls, "calls"> & Partial<MessageCalls> {
  if (calls !== undefined && message === undefined && format === undefined) return { calls };
  if (calls !== undefined || message === undefined || format === undefined)
    throw new ToolError("invalid_argument", "A request takes either calls, or a message of a model and its format.", {
      hint: '{"calls": [{"name": "…", "input": {…}}]}, or {"message": {…}, "format": "openai-chat"}.',
    });
  const read = readMessage(message, { format, ...shown });
  if (read.calls.length <= MAX_CALLS) return read;
  throw new ToolError("too_large", `The message has ${read.calls.length} calls; a request may have at most ${MAX_CALLS}.`);
}

const MAX_CALLS = 1_000;

type CommonBody = BodyOf<"simulate"> & Pick<BodyOf<"execute">, "answerFrom">;

function optionsOf(
  { principal, body }: { readonly principal: RequestOf<"execute">["principal"]; readonly body: CommonBody },
  { access }: ApiServices,
): ExecuteOptions {
  const { strict, allow, variation, answerFrom } = body;
  return {
    ...access.callOptions(principal),
    ...(allow === undefined ? {} : { allow: [access.visibilityOf(principal), { allow }] }),
    ...omitUndefined({ strict, variation, answerFrom }),
  };
}

interface FoundCall {
  /** The open session whose log has the call. `sessionId` of the event may differ, since a snapshot may contain events of any session. */
  readonly session: RuntimeSession | undefined;
  readonly start: SessionEvent & { readonly type: "call-start" };
  readonly end: (SessionEvent & { readonly type: "call-end" }) | undefined;
  readonly storedOutput: (SessionEvent & { readonly type: "output-keep" }) | undefined;
}

/** Finds a call in the named session, or in all open sessions. */
async function findCall(
  { runtime, store }: ApiServices,
  { callId, sessionId }: { readonly callId: string; readonly sessionId: string | undefined },
): Promise<FoundCall | undefined> {
  const open = sessionId === undefined ? runtime.sessions.list() : [runtime.sessions.get(sessionId)];
  const found = open.flatMap((session) => (session === undefined ? [] : (findInEvents(session.log, { callId, session }) ?? [])));
  const [only] = found;
  if (only !== undefined) return found.length === 1 ? only : pickOwnCall(found, callId);
  if (sessionId === undefined || store === undefined) return undefined;
  const events: SessionEvent[] = [];
  try {
    for await (const event of storedEvents(store, sessionId)) if ("callId" in event && event.callId === callId) events.push(event);
  } catch (thrown: unknown) {
    const error = ToolError.fromUnknown(thrown, "store_failed");
    if (error.code !== "not_found") throw error;
  }
  return findInEvents(events, { callId, session: runtime.sessions.get(sessionId) });
}

/**
 * Picks the call of the session that made it: the log of a branch also has its parent's calls.
 *
 * @throws ToolError `ambiguous` if several sessions made a call with this id, or only copies of it are open
 */
function pickOwnCall(found: readonly FoundCall[], callId: string): FoundCall {
  const [only, ...more] = found.filter(({ session, start }) => session?.id === start.sessionId);
  if (only !== undefined && more.length === 0) return only;
  const ids = found.flatMap(({ session }) => (session === undefined ? [] : [JSON.stringify(session.id)]));
  throw new ToolError("ambiguous", `${found.length} open sessions have a call ${JSON.stringify(callId.slice(0, 200))}.`, {
    hint: `Name the session with ?sessionId=: ${formatList(ids)}.`,
  });
}

function findInEvents(
  events: readonly SessionEvent[],
  { callId, session }: Pick<FoundCall, "session"> & { readonly callId: string },
): FoundCall | undefined {
  let start: FoundCall["start"] | undefined;
  let end: FoundCall["end"];
  let storedOutput: FoundCall["storedOutput"];
  for (const event of events) {
    if (!("callId" in event) || event.callId !== callId) continue;
    if (event.type === "call-start") start = event;
    if (event.type === "call-end") end = event;
    if (event.type === "output-keep") storedOutput = event;
  }
  return start === undefined ? undefined : { session, start, end, storedOutput };
}

function fullResultText({ session, start, end, storedOutput }: FoundCall): string {
  const whole = session?.wholeResult(start.callId) ?? storedOutput;
  if (whole?.output !== undefined) return valueText(whole.output);
  if (whole?.content !== undefined) return whole.content.map(partText).join("\n");
  return end === undefined ? "" : resultText(withoutStorePlace(end.result));
}

function noCall(callId: string, sessionId: string | undefined): ToolError {
  const name = JSON.stringify(callId.slice(0, 200));
  if (sessionId !== undefined)
    return new ToolError("not_found", `The session ${JSON.stringify(sessionId.slice(0, 200))} has no call ${name}.`, {
      hint: "Give the callId of its result, which is not the id that the call was sent with.",
    });
  return new ToolError("not_found", `There is no call ${name} in the latest events of the sessions that are open.`, {
    hint: "Name its session with ?sessionId=, which is then read from the store.",
  });
}
