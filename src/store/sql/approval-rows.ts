/** Converts approval questions and rules to rows of their tables, and back. */
import {
  allOf,
  anyText,
  describeProblem,
  anyObject,
  arrayOf,
  numberBetween,
  oneOf,
  optional,
  shape,
  anyBoolean,
} from "../../core/base/check-shape.ts";
import type { ShapeCheck } from "../../core/base/check-shape.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import { EVENT_LIMITS } from "../../core/recording/read-event.ts";
import {
  APPROVAL_SCOPES,
  APPROVAL_STATUSES,
  type ApprovalEnd,
  type ApprovalRecord,
  type ApprovalRule,
  type ApprovalStatus,
  type NewApproval,
} from "../../core/store/approval-store.ts";
import { ToolError } from "../../core/error.ts";
import { parseStoredTextOrRaw } from "../records/stored-text.ts";
import type { ApprovalRuleTable, ApprovalTable } from "./tables.ts";

const time = numberBetween(-8.64e15, 8.64e15);
const QUESTION = shape({
  id: anyText,
  sessionId: anyText,
  callId: anyText,
  turnId: anyText,
  toolName: anyText,
  description: anyText,
  input: anyObject,
  safetyChecks: optional(anyObject),
  digest: anyText,
  definition: anyText,
  reason: anyText,
  warned: optional(anyBoolean),
  simulated: anyBoolean,
  within: optional(arrayOf(shape({ callId: anyText, toolName: anyText, input: anyObject }))),
  covers: optional(arrayOf(shape({ toolName: anyText, input: anyObject, definition: anyText }))),
  askedBy: optional(anyText),
  askedAt: time,
  expiresAt: optional(time),
});
const ANSWER = shape({ at: time, scope: optional(oneOf(APPROVAL_SCOPES)), ruleId: optional(anyText), by: optional(anyText) });
const RULE = shape({
  id: anyText,
  pattern: anyText,
  sessionId: optional(anyText),
  digest: optional(anyText),
  definition: optional(anyText),
  scope: allOf(oneOf(APPROVAL_SCOPES)),
  warnedIn: optional(anyText),
  createdAt: time,
  createdBy: optional(anyText),
  expiresAt: optional(time),
});

/** Returns the question with the expiry by the database's clock; its text has the expiry by the clock of the asking process. */
export function withDatabaseExpiry({ expiresAt: _expiresAt, ...question }: NewApproval, { expires_at }: ApprovalTable): NewApproval {
  return expires_at === null ? question : { ...question, expiresAt: expires_at };
}

/** @param now by the database's clock, to tell whether an open question has expired. @throws ToolError `corrupt_record` that names the row */
export function readApproval(row: ApprovalTable, now: number, askedIn: string | undefined): ApprovalRecord {
  const where = `The approval ${row.id}`;
  const question = withDatabaseExpiry(readObject(row.question, QUESTION, where) as unknown as NewApproval, row); // its shape was just checked
  const { at, scope, ruleId, by } = (row.answer === null ? {} : readObject(row.answer, ANSWER, where)) as Partial<ApprovalEnd>; // so was this
  const stored = APPROVAL_STATUSES.find((one) => one === row.status);
  if (stored === undefined) throw damagedError(where, `its status is ${JSON.stringify(row.status)}`);
  const isOverdue = stored === "open" && question.expiresAt !== undefined && question.expiresAt <= now;
  const status: ApprovalStatus = isOverdue ? "expired" : stored;
  const answeredAt = isOverdue ? question.expiresAt : at;
  return { ...question, position: row.position, status, ...omitUndefined({ scope, ruleId, answeredBy: by, answeredAt, askedIn }) };
}

/** As `readApproval`, but returns a damaged row as a record with `damage`, so that the other rows can be listed. */
export function readListedApproval(row: ApprovalTable, now: number, askedIn: string | undefined): ApprovalRecord {
  return readOrDamage(
    () => readApproval(row, now, askedIn),
    (damage) => ({ ...bareRecord(row), ...omitUndefined({ askedIn }), damage }),
  );
}

/** The fields of an approval that have columns of their own. */
function bareRecord({ id, position, session, call_id, tool, digest, status }: ApprovalTable): ApprovalRecord {
  return {
    id: parseStoredTextOrRaw(id),
    position,
    status: APPROVAL_STATUSES.find((one) => one === status) ?? "withdrawn",
    sessionId: parseStoredTextOrRaw(session),
    callId: parseStoredTextOrRaw(call_id),
    toolName: parseStoredTextOrRaw(tool),
    digest,
    turnId: "",
    description: "",
    input: {},
    definition: "",
    reason: "",
    simulated: false,
    askedAt: 0,
  };
}

function readOrDamage<T>(readRow: () => T, damaged: (reason: string) => T): T {
  try {
    return readRow();
  } catch (thrown: unknown) {
    const { code, message } = ToolError.fromUnknown(thrown);
    if (code !== "corrupt_record") throw thrown;
    return damaged(message);
  }
}

/** The part of an end that is stored as the answer. */
export function encodeAnswer({ at, scope, ruleId, by }: ApprovalEnd): string {
  return JSON.stringify({ at, scope, ruleId, by });
}

/** Reads a rule. A damaged row is returned as a rule with `damage`, so that the other rules stay in force. */
export function readRule({ id, rule, session, expires_at, created_at }: ApprovalRuleTable): ApprovalRule {
  const facts = { sessionId: session === null ? undefined : parseStoredTextOrRaw(session), expiresAt: expires_at ?? undefined };
  return readOrDamage<ApprovalRule>(
    () => readObject(rule, RULE, `The approval rule ${id}`) as unknown as ApprovalRule, // its shape was just checked
    (damage) => ({ id: parseStoredTextOrRaw(id), pattern: "", scope: "rule", createdAt: created_at, ...omitUndefined(facts), damage }),
  );
}

/** @throws ToolError `corrupt_record` */
export function readPreview(id: string, text: string): JsonObject {
  return readObject(text, anyObject, `The preview of the approval ${id}`);
}

function readObject(text: string, check: ShapeCheck, where: string): JsonObject {
  let value: JsonValue;
  try {
    value = parseJson(text, EVENT_LIMITS);
  } catch (cause: unknown) {
    throw damagedError(where, ToolError.fromUnknown(cause).message, cause);
  }
  const found = check(value);
  if (found !== undefined) throw damagedError(where, describeProblem(found));
  return isJsonObject(value) ? value : {};
}

function damagedError(where: string, what: string, cause?: unknown): ToolError {
  return new ToolError("corrupt_record", `${where} is damaged in the store: ${what.replace(/\.$/u, "")}.`, { cause });
}
