/** The rows of keys, refused requests and keyed requests: their JSON, and what is read of it. */
import type { KeyedRequest, RefusedRequest, StoredKey } from "../core/access-store.ts";
import {
  anyText,
  count,
  describeProblem,
  jsonObject,
  listOf,
  numberOf,
  optional,
  shape,
  textOf,
  type ShapeCheck,
} from "../core/base/check-shape.ts";
import { parseJson } from "../core/base/parse-json.ts";
import { ToolError } from "../core/error.ts";
import { originalText } from "./stored-text.ts";
import type { KeyTable, RefusalTable, RequestTable } from "./tables.ts";

export const DEFAULT_ACCESS_LIMIT = 1_000;
/** Session keys are kept for so long after they expired. */
export const DAY_MS = 86_400_000;

const some = textOf(1, Infinity);
const at = numberOf(-8.64e15, 8.64e15);
const KEY = shape({
  id: some,
  name: some,
  salt: some,
  hash: some,
  scopes: listOf(anyText),
  allow: optional(listOf(anyText)),
  deny: optional(listOf(anyText)),
  sessionId: optional(anyText),
  createdBy: optional(anyText),
  maker: optional(shape({ name: some, claims: optional(jsonObject), allow: optional(listOf(anyText)), deny: optional(listOf(anyText)) })),
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
  missed: optional(count),
});

export function takenKey(id: string): ToolError {
  return new ToolError("duplicate", `There is a key ${JSON.stringify(id)} already.`);
}

/** @throws ToolError `corrupt_record`: a key that cannot be read opens nothing */
export function readKey({ id, revoked_at: revokedAt, body }: KeyTable): StoredKey {
  const key = readRow(body, KEY, `The row of the key ${id}`) as StoredKey; // every field was just checked
  return Object.freeze({ ...key, ...(revokedAt === null ? {} : { revokedAt }) });
}

/** @throws ToolError `corrupt_record` */
export function readRefusal({ number, body }: RefusalTable): RefusedRequest {
  return readRow(body, REFUSAL, `The row of the refused request ${number}`) as RefusedRequest; // as above
}

/** @throws ToolError `corrupt_record`: an answer that cannot be read is not given, and the request is not done again */
export function readRequest(key: string, { fingerprint, at, answer, holder, beats }: RequestTable): KeyedRequest {
  const state = answer === null ? (holder === null ? {} : { hold: { holder, beats } }) : { answer: originalText(answer) };
  return { key, fingerprint: originalText(fingerprint), at, ...state };
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
