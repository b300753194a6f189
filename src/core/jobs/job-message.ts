/** Messages about background jobs in a conversation: that a call became a job, what the job asks, and how it ended. */
import type { JobMessage } from "../message.ts";
import type { JobMode } from "./job-status.ts";
import { resultText, type OfferedName, type PendingResult, type ToolResult } from "../result.ts";

/** The call that a `pending` result answers. */
export interface PendingCall {
  readonly callId: string;
  /** The provider's id. */
  readonly id: string | undefined;
  /** The qualified name. */
  readonly name: string;
  /** `elsewhere`: the job belongs to the session that a branch or a snapshot was taken from. */
  readonly mode: JobMode | "elsewhere";
}

const NOTHING: readonly never[] = Object.freeze([]);

/** Returns the result of a call that continues in the background; always the same one, so that a history does not change. */
export function createPendingResult({ callId, id, name, mode }: PendingCall): PendingResult {
  return Object.freeze({
    callId,
    ...(id === undefined ? {} : { id }),
    name,
    status: "pending",
    content: Object.freeze([
      Object.freeze({ type: "text", text: `This call continues in the background as the job ${callId}. ${PENDING_TEXTS[mode]}` }),
    ]),
    origin: "live",
    attempts: 0,
    durationMs: 0,
    repairs: NOTHING,
    warnings: NOTHING,
  } as const);
}

const PENDING_TEXTS: Readonly<Record<PendingCall["mode"], string>> = {
  background: "Its result comes in a later message.",
  stateful: "What it says and asks comes in later messages, and so does its result.",
  elsewhere: "It belongs to another session: its result does not come here, and no tool here can reach it.",
};

/** Creates the message about a job. @param content the question of the job, or its result once it has ended */
export function createJobMessage(
  job: Pick<PendingCall, "callId" | "name">,
  content: { readonly question: string } | ToolResult,
): JobMessage {
  const { callId, name } = job;
  const message = "question" in content ? { question: content.question } : { result: content };
  const parts = { role: "job", callId, toolName: name, ...message } as const;
  return { ...parts, content: formatJobText(parts) };
}

/**
 * Returns the text of a message about a job for a model. @param offeredName the name under which the model knows a tool. @default its qualified name
 */
export function formatJobText(
  { callId, toolName, question, result }: Omit<JobMessage, "content">,
  offeredName: OfferedName = (name) => name,
): string {
  const job = `The background job ${callId} (${offeredName(toolName)})`;
  if (result === undefined) return `${job} says, and waits for an answer:\n${shortenQuestion(question ?? "")}`;
  return `${job} ${STATUS_TEXTS[result.status]}\n${resultText(result, offeredName)}`.trimEnd();
}

/** How much of a question a model is shown, in UTF-16 units, so that a question does not fill the context of a model: results are limited too. */
const MAX_QUESTION_CHARS = 65_536;

function shortenQuestion(question: string): string {
  if (question.length <= MAX_QUESTION_CHARS) return question;
  const shown = question.slice(0, MAX_QUESTION_CHARS).replace(/[\uD800-\uDBFF]$/u, "");
  return `${shown}\n[${question.length - shown.length} of ${question.length} characters left out.]`;
}

const STATUS_TEXTS: Readonly<Record<ToolResult["status"], string>> = {
  ok: "has succeeded:",
  partial: "has ended, and its output breaks its schema:",
  error: "has failed:",
  cancelled: "was cancelled:",
  skipped: "was not started:",
  pending: "continues:",
};
