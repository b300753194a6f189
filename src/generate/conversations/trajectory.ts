/** One conversation as data: messages, calls and results, and where each answer came from. */
import type { ContentPart } from "../../core/content.ts";
import type { ErrorInfo } from "../../core/error.ts";
import type { JsonObject, JsonValue } from "../../core/base/json.ts";
import type { ModelMessage } from "../../core/message.ts";
import type { ModelTool } from "../../core/model.ts";
import type { ToolResult } from "../../core/result.ts";
import { groupRounds } from "../../core/rounds.ts";
import type { StopReason } from "../../compose/stop-reason.ts";
import type { ConversationTemplate } from "./conversation-template.ts";
import type { ConversationPlan } from "./conversation-plan.ts";
import { formatProblems, type ConversationChecks } from "./check-conversation.ts";
import { Tally } from "./tally.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";

/** Identifies a conversation and its plan. */
export interface TrajectoryOrigin {
  readonly id: string;
  /** The index in the plan, from 0. */
  readonly index: number;
  readonly seed: string;
  /** The fingerprint that all conversations of the same plan, tools, seed and format have. */
  readonly plan: string;
  readonly kind: ConversationPlan["kind"];
  /** The id of the template. */
  readonly template?: string;
  /** Problems that the check found, such as `1 dangling id`. */
  readonly problems?: readonly string[];
}

/** A conversation, reproducible: without times, and with ids that count from 1. */
export interface Trajectory extends TrajectoryOrigin {
  readonly system: string | undefined;
  readonly tools: readonly ModelTool[];
  /** The template that it was made from; its id is in the origin. */
  readonly madeOf?: ConversationTemplate;
  /** Paired messages. Calls have the ids `call_1`, `call_2`, …, which are also the `callId` of their results. */
  readonly messages: readonly ModelMessage[];
  readonly stop?: StopReason;
  readonly error?: ErrorInfo;
  /** The counts of the check. A conversation that ended with an error does not count as an open end. */
  readonly checks: ConversationChecks;
}

type ResultField = "name" | "status" | "output" | "content" | "error" | "origin" | "fidelity" | "answeredBy" | "fault" | "attempts";

/** A result in a trajectory: without times, and without repairs and warnings if there are none. */
export interface TrajectoryResult extends Pick<ToolResult, ResultField>, Partial<Pick<ToolResult, "repairs" | "warnings">> {
  /** The id of its call in the same conversation: `call_1`. */
  readonly id: string;
}

/** A message, a call or a result, in Haft's own fields. */
export type TrajectoryMessage =
  | { readonly role: "system" | "user" | "document"; readonly content: string | readonly ContentPart[]; readonly title?: string }
  | {
      readonly role: "assistant";
      readonly content?: string | readonly ContentPart[];
      readonly calls?: readonly { readonly id: string; readonly name: string; readonly input: JsonValue }[];
    }
  | ({ readonly role: "tool" } & TrajectoryResult);

/** Counts of a conversation's calls and answers. */
export interface TrajectoryReport {
  readonly calls: number;
  /** Number of messages with several calls. */
  readonly parallelMessages: number;
  readonly statuses: Readonly<Record<string, number>>;
  /** Counts by origin, of the calls for which a source was asked: a call that failed before, such as one of an unknown tool, has no origin. */
  readonly origins: Readonly<Record<string, number>>;
  readonly fidelities: Readonly<Record<string, number>>;
}

/** Ids as the runtime makes them for calls. */
const CALL_ID = /(?<![\w-])call_[\w-]+/gu;

/**
 * Returns the messages of a session with reproducible ids, and without times. Texts mention ids of calls as well: a background call has the id of its
 * job in its result, which tools for jobs take and return.
 */
export function withReproducibleIds(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  const ids = new Map<string, string>();
  for (const message of messages) if (message.role === "call") ids.set(message.callId, `call_${ids.size + 1}`);
  const rename = (text: string): string => (text.includes("call_") ? text.replaceAll(CALL_ID, (id) => ids.get(id) ?? id) : text);
  return messages.map((message): ModelMessage => {
    if (message.role === "call") {
      const id = ids.get(message.callId) ?? message.callId;
      return { ...message, at: 0, callId: id, call: { ...renameIn(message.call, rename), id } };
    }
    if (message.role === "result") {
      const id = ids.get(message.callId) ?? message.callId;
      const { truncation: _truncation, ...result } = message.result;
      return { role: "result", at: 0, callId: id, result: { ...renameIn(result, rename), callId: id, id, durationMs: 0 } };
    }
    if (message.role === "job") {
      const id = ids.get(message.callId) ?? message.callId;
      return { ...message, at: 0, callId: id, content: rename(message.content) };
    }
    const { native: _native, ...said } = message;
    return { ...renameIn(said, rename), at: 0 };
  });
}

/** Changes all strings in a value, also in arrays, objects and their keys. A part without a change stays the same object. */
function renameIn<Value>(value: Value, rename: (text: string) => string): Value {
  if (typeof value === "string") return rename(value) as Value & string;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [rename(key), renameIn(item, rename)] as const);
  if (entries.every(([key, item]) => Object.hasOwn(value, key) && item === (value as Readonly<Record<string, unknown>>)[key])) return value;
  return (Array.isArray(value) ? entries.map(([, item]) => item) : Object.fromEntries(entries)) as Value; // of the same shape
}

/** Splits messages with several calls into messages with one, each followed by its result. */
export function splitParallelCalls(paired: readonly ModelMessage[]): readonly ModelMessage[] {
  const results = new Map(paired.flatMap((message) => (message.role === "result" ? [[message.callId, message]] : [])));
  return paired.flatMap((message): readonly ModelMessage[] => {
    if (message.role === "result") return [];
    const result = message.role === "call" ? results.get(message.callId) : undefined;
    return result === undefined ? [message] : [message, result];
  });
}

/** Returns the results in call order. */
export function resultsOf({ messages }: Pick<Trajectory, "messages">): readonly ToolResult[] {
  return messages.flatMap((message) => (message.role === "result" ? [message.result] : []));
}

export function trajectoryResult(result: ToolResult): TrajectoryResult {
  const { callId, name, status, output, content, error, origin, fidelity, answeredBy, fault, attempts, repairs, warnings } = result;
  return {
    id: callId,
    name,
    status,
    ...omitUndefined({ output, content, error }),
    origin,
    ...omitUndefined({ fidelity, answeredBy, fault }),
    attempts,
    ...(repairs.length === 0 ? {} : { repairs }),
    ...(warnings.length === 0 ? {} : { warnings }),
  };
}

export function countParallelMessages({ messages }: Pick<Trajectory, "messages">): number {
  return groupRounds(messages).filter((round) => round.by === "assistant" && round.calls.length > 1).length;
}

export function createReport(trajectory: Pick<Trajectory, "messages">): TrajectoryReport {
  const results = resultsOf(trajectory);
  const statuses = new Tally();
  const origins = new Tally();
  const fidelities = new Tally();
  for (const { status, origin, fidelity, attempts } of results) {
    statuses.add(status);
    if (attempts === 0 && origin !== "cache") continue;
    origins.add(origin);
    if (fidelity !== undefined) fidelities.add(fidelity);
  }
  const counts = { calls: results.length, parallelMessages: countParallelMessages(trajectory) };
  return { ...counts, statuses: statuses.counts, origins: origins.counts, fidelities: fidelities.counts };
}

/** Returns the messages in Haft's own fields: an assistant's message with its calls, then one message for each result. */
export function trajectoryMessages({ system, messages }: Pick<Trajectory, "system" | "messages">): readonly TrajectoryMessage[] {
  const results = new Map(messages.flatMap((message) => (message.role === "result" ? [[message.callId, message.result]] : [])));
  const written: TrajectoryMessage[] = system === undefined ? [] : [{ role: "system", content: system }];
  for (const round of groupRounds(messages)) {
    if (round.by === "job") written.push({ role: "user", content: round.message.content });
    if (round.by === "job") continue;
    if (round.by !== "assistant") {
      const { content, title } = round.message;
      written.push({ role: round.by, content, ...(title === undefined ? {} : { title }) });
      continue;
    }
    // recorded calls are JSON
    const calls = round.calls.map(({ callId, call: { name, input = {} } }) => ({ id: callId, name, input: input as JsonValue }));
    const said = round.message?.content ?? "";
    written.push({ role: "assistant", ...(said.length === 0 ? {} : { content: said }), ...(calls.length === 0 ? {} : { calls }) });
    for (const { id } of calls) {
      const result = results.get(id);
      if (result !== undefined) written.push({ role: "tool", ...trajectoryResult(result) });
    }
  }
  return written;
}

/** Returns the fields that identify a conversation and its plan, and its problems. */
export function originOf({ id, index, seed, plan, kind, template, checks }: Trajectory): TrajectoryOrigin & JsonObject {
  const problems = formatProblems(checks);
  return { id, index, seed, plan, kind, ...(template === undefined ? {} : { template }), ...(problems.length === 0 ? {} : { problems }) };
}
