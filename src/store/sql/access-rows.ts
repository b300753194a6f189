/** Reads the rows of keys, refused requests, audited calls and keyed requests. */
import type {
  AuditedCall,
  AuditedCallPage,
  AuditedCallPlace,
  KeyedRequest,
  RefusedRequest,
  StoredKey,
} from "../../core/store/access-store.ts";
import {
  anyText,
  count,
  describeProblem,
  anyObject,
  arrayOf,
  numberBetween,
  oneOf,
  optional,
  shape,
  textOfLength,
  anyBoolean,
  type ShapeCheck,
} from "../../core/base/check-shape.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import { ToolError } from "../../core/error.ts";
import { parseStoredText } from "../records/stored-text.ts";
import type { AuditedCallTable, KeyTable, RefusalTable, RequestTable } from "./tables.ts";

export const DEFAULT_ACCESS_LIMIT = 1_000;
/** How long session keys are kept after they have expired: one day, in milliseconds. */
export const DAY_MS = 86_400_000;

const nonEmptyText = textOfLength(1, Infinity);
const at = numberBetween(-8.64e15, 8.64e15);
const KEY = shape({
  id: nonEmptyText,
  name: nonEmptyText,
  salt: nonEmptyText,
  hash: nonEmptyText,
  scopes: arrayOf(anyText),
  allow: optional(arrayOf(anyText)),
  deny: optional(arrayOf(anyText)),
  sessionId: optional(anyText),
  createdBy: optional(anyText),
  maker: optional(
    shape({ name: nonEmptyText, claims: optional(anyObject), allow: optional(arrayOf(anyText)), deny: optional(arrayOf(anyText)) }),
  ),
  createdAt: at,
  expiresAt: optional(at),
});
const REFUSAL = shape({
  at,
  status: count,
  reason: anyText,
  method: anyText,
  path: anyText,
  principal: optional(anyText),
  from: optional(anyText),
  toolNames: optional(arrayOf(anyText)),
  missed: optional(count),
});

const CALL = shape({
  at,
  toolName: anyText,
  via: oneOf(["api", "mcp"]),
  outcome: oneOf(["ok", "partial", "error", "cancelled", "skipped", "open"]),
  errorCode: optional(anyText),
  durationMs: optional(numberBetween(0, Infinity)),
  callId: optional(anyText),
  sessionId: optional(anyText),
  parentCallId: optional(anyText),
  principal: optional(anyText),
  approvedBy: optional(anyText),
  traceId: optional(anyText),
  simulated: optional(anyBoolean),
  missed: optional(count),
});

export function duplicateKeyError(id: string): ToolError {
  return new ToolError("duplicate", `A key ${JSON.stringify(id)} already exists.`);
}

/** @throws ToolError `corrupt_record`, so that a damaged key grants no access */
export function readKey({ id, revoked_at: revokedAt, body }: KeyTable): StoredKey {
  const key = readRow(body, KEY, `The row of the key ${id}`) as StoredKey; // every field was just checked
  return Object.freeze({ ...key, ...(revokedAt === null ? {} : { revokedAt }) });
}

/** @throws ToolError `corrupt_record` */
export function readRefusal({ number, body }: RefusalTable): RefusedRequest {
  return readRow(body, REFUSAL, `The row of the refused request ${number}`) as RefusedRequest; // as above
}

/** @throws ToolError `corrupt_record` */
export function readCall({ number, body }: AuditedCallTable): AuditedCall {
  return readRow(body, CALL, `The row of the call ${number}`) as AuditedCall; // as above
}

/** Returns a page of at most `limit` calls. `found` has one call more if there is another page. */
export function toCallPage(found: readonly (AuditedCallPlace & { readonly call: AuditedCall })[], limit: number): AuditedCallPage {
  const calls = found.slice(0, limit).map(({ call }) => call);
  const last = found.length > limit ? found[limit - 1] : undefined;
  return last === undefined ? { calls } : { calls, next: { at: last.at, number: last.number } };
}

/** @throws ToolError `corrupt_record`: a damaged answer is not returned, and the request is not run again */
export function readRequest(key: string, { fingerprint, at, answer, holder, beats }: RequestTable): KeyedRequest {
  const state = answer === null ? (holder === null ? {} : { hold: { holder, beats } }) : { answer: parseStoredText(answer) };
  return { key, fingerprint: parseStoredText(fingerprint), at, ...state };
}

function readRow(body: string, check: ShapeCheck, what: string): unknown {
  const value = parseRow(body, what);
  const found = check(value);
  if (found !== undefined) throw new ToolError("corrupt_record", `${what} is damaged: ${describeProblem(found)}.`);
  return value;
}

function parseRow(body: string, what: string): ReturnType<typeof parseJson> {
  try {
    return parseJson(body);
  } catch (error: unknown) {
    throw new ToolError("corrupt_record", `${what} is damaged: it is not JSON.`, { cause: error });
  }
}
