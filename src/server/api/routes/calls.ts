/** Routes that run and inspect calls. */
import { answerSources } from "../openapi/components.ts";
import { answer, array, flag, id, integer, DEFAULT_WAIT_MS, MAX_WAIT_MS, object, record, ref, text } from "../openapi/json-schema.ts";
import { TEXT_PREFIX, WIRE_NAMES } from "../handlers/message-formats.ts";
import type { Routes } from "../requests/route.ts";
import { placeQuery } from "./place-query.ts";

const callFields = {
  calls: array(ref("ToolCall"), {
    description: "The calls of one message; each has its result, in this order.",
    minItems: 1,
    maxItems: 1_000,
  }),
  message: { description: "Instead of calls: a whole message of a model, or the reply that contains it, in the format of its provider." },
  format: text(
    `The format of message: ${WIRE_NAMES.join(", ")}; or ${TEXT_PREFIX} and the name of a text format, such as ${TEXT_PREFIX}hermes.`,
    {
      pattern: `^(${WIRE_NAMES.join("|")}|${TEXT_PREFIX}[a-z0-9.-]{1,40})$`,
    },
  ),
  strict: flag("Run nothing unless every call can be run."),
  allow: array(text("A pattern over qualified names, such as files::*.", { minLength: 1, maxLength: 512 }), {
    description: "Only these tools may be called.",
    maxItems: 1_000,
  }),
  variation: text("Calls with a different variation get different made-up answers.", { maxLength: 1_024 }),
  waitMs: integer("How long to wait before answering 202 with the Location of the results, in milliseconds.", 0, MAX_WAIT_MS, {
    default: DEFAULT_WAIT_MS,
  }),
} as const;

const executeFields = { ...callFields, answerFrom: answerSources } as const;

const sessionFields = {
  ...executeFields,
  concurrent: flag("Do not wait for running turns that are concurrent as well."),
  background: flag("true: each call continues as a background job; false: each is waited for."),
  recording: id("The session whose recorded results answer for the source replay of answerFrom."),
} as const;

const executeBody = object(executeFields, []);
export const executeInSessionBody = object(sessionFields, []);
export const simulateBody = object(callFields, []);

const resultFields = {
  results: array(ref("ToolResult"), { description: "One for each call, in call order." }),
  messages: array(record("A message of the conversation."), {
    description: "If a message was sent: the messages that answer its calls, in the same format.",
  }),
} as const;

export const results = answer(resultFields, ["results"]);
export const simulation = answer({ ...resultFields, diff: ref("SessionDiff") }, ["results", "diff"]);

const callId = id("The id of a call.");
const sessionId = id("Its session, if the server does not have that open.");

export const callRoutes = {
  execute: {
    method: "POST",
    path: "/v1/execute",
    scope: "execute",
    summary: "Run calls outside any session.",
    description:
      "Takes calls, or a message of a model and its format. Answers 200 with one result per call, even if calls failed. With an Idempotency-Key each effect happens once.",
    query: placeQuery,
    body: executeBody,
    answer: results,
    mayTakeLong: true,
    keyed: true,
    example: { body: { calls: [{ name: "notes::add", input: { text: "Buy milk" } }] } },
  },
  simulate: {
    method: "POST",
    path: "/v1/simulate",
    scope: "simulate",
    summary: "Try calls without a trace.",
    query: placeQuery,
    body: simulateBody,
    answer: simulation,
    mayTakeLong: true,
    example: { body: { calls: [{ name: "notes::add", input: { text: "Buy milk" } }] } },
  },
  getSubmission: {
    method: "GET",
    path: "/v1/submissions/{submissionId}",
    scope: "any",
    summary: "Get the results of calls that took longer than waitMs.",
    description:
      "200 with the answer of the request, 202 while the calls run. Kept for ten minutes after they end, or less if the server has too many results.",
    params: { submissionId: id("The id in the Location of a 202.") },
    query: {
      waitMs: integer("How long to wait for the results, in milliseconds.", 0, MAX_WAIT_MS, { default: 0 }),
      sessionId: id("The session of the calls, as the Location of the 202 names it."),
    },
    answer: answer({ ...resultFields, diff: ref("SessionDiff") }, ["results"]),
    mayTakeLong: true,
    inSession: true,
    example: { params: { submissionId: "submission_1" } },
  },
  getCall: {
    method: "GET",
    path: "/v1/calls/{callId}",
    scope: "read",
    summary: "Get a call with its result.",
    params: { callId },
    query: { sessionId },
    answer: answer(
      {
        callId,
        sessionId: id("Its session."),
        state: { type: "string", enum: ["running", "ended"] },
        call: ref("ToolCall"),
        input: { description: "The input that it ran with." },
        result: ref("ToolResult"),
      },
      ["callId", "state", "call"],
    ),
    example: { params: { callId: "call_1" }, query: { sessionId: "travel" } },
  },
  cancelCall: {
    method: "POST",
    path: "/v1/calls/{callId}/cancel",
    scope: "execute",
    summary: "Cancel a call that runs, whichever process of the store runs it.",
    params: { callId },
    body: object({ reason: text("The reason, which its result shows.", { minLength: 1, maxLength: 1_000 }) }, []),
    bodyOptional: true,
    answer: answer({ cancelled: flag("False for a call that is no longer running.") }),
    example: { params: { callId: "call_1" }, body: { reason: "not needed any more" } },
  },
  getCallOutput: {
    method: "GET",
    path: "/v1/calls/{callId}/output",
    scope: "read",
    summary: "Read the whole answer of a call by range.",
    description: "The text of its output or content, also of a result that was cut; of a job what it has written so far.",
    params: { callId },
    query: {
      sessionId,
      from: integer("Position of the first character.", 0, Number.MAX_SAFE_INTEGER, { default: 0 }),
      maxChars: integer("Maximum number of characters.", 1, 1_048_576, { default: 65_536 }),
    },
    answer: answer({
      text: text("The part that was asked for."),
      from: integer("Position of its first character.", 0, Number.MAX_SAFE_INTEGER),
      next: integer("Where to continue reading.", 0, Number.MAX_SAFE_INTEGER),
      total: integer("How many characters there are.", 0, Number.MAX_SAFE_INTEGER),
    }),
    example: { params: { callId: "call_1" }, query: { sessionId: "travel", maxChars: "1000" } },
  },
} as const satisfies Routes;
