/** The audit of a store: who called what, when, where and with which outcome, read from the events of its sessions, the calls that no session has, its keys and the refused requests. */
import { MAX_REFUSALS, type AuditedCall, type AuditedCallPlace, type RefusedRequest, type StoredKey } from "../../core/access-store.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { CopiedPart } from "../../core/copied-events.ts";
import type { SessionEvent } from "../../core/event.ts";
import { ToolError } from "../../core/error.ts";
import { ERROR_CODES } from "../../core/error-codes.ts";
import type { Store, StoredSession } from "../../core/store.ts";
import { AUDIT_OUTCOMES } from "./audit-words.ts";
import { fitsPieces, quickMatcher } from "../../policy/permission.ts";

/** One line of the audit. */
export type AuditEntry = CallEntry | ApprovalEntry | SentEntry | KeyEntry | (RefusedRequest & { readonly type: "refusal" });

/** A call of a session, or of none, which has `via`. `open`: it has not ended, or its server stopped before. */
interface CallEntry extends Omit<AuditedCall, "via"> {
  readonly type: "call";
  readonly via?: AuditedCall["via"];
}

/** A question whether a call may run, or the answer to it: its principal is the one who answered, as far as the answer says. */
interface ApprovalEntry extends AuditPlace {
  readonly type: "approval-ask" | "approval-answer";
  readonly toolName: string;
  readonly approvalId: string;
  /** Of an answer. */
  readonly status?: string;
  /** How far a yes reaches. */
  readonly scope?: string;
  /** The rule that answered, or that was made of the answer. */
  readonly ruleId?: string;
}

/** A message, or the input of a job. */
interface SentEntry extends AuditPlace {
  readonly type: "message" | "input";
}

/** A key that was made, by this principal, or that was revoked. */
interface KeyEntry {
  readonly type: "key-add" | "key-revoke";
  readonly at: number;
  readonly principal?: string;
  readonly keyId: string;
  readonly name: string;
  readonly scopes: readonly string[];
  /** Set for the key of a session. */
  readonly sessionId?: string;
}

/** The place of an entry among all: it holds also when other sessions are removed. */
export interface AuditPosition {
  readonly at: number;
  /** Empty for an entry of no session. */
  readonly sessionId: string;
  /** How many entries of that time and session come before it, or are it. */
  readonly count: number;
}

interface AuditPlace {
  readonly at: number;
  readonly principal?: string;
  readonly sessionId: string;
  readonly callId?: string;
}

export interface AuditOptions {
  /** Those of principals that fit this pattern, such as `key:*`. @default all */
  readonly principal?: string;
  /** Calls of tools that fit this pattern, such as `files::*`, their approvals, and requests for them that were refused; leaves out the rest. @default all */
  readonly tool?: string;
  /** Calls that ended so, as `cancelled`, or with this error code; leaves out the rest. @default all */
  readonly outcome?: string;
  /** Those at or after this time, in wall-clock milliseconds since the epoch. @default all */
  readonly since?: number;
  /** Those before this time. @default all */
  readonly until?: number;
  /** Most of them. @default 1_000 */
  readonly limit?: number;
  /** Those of the principal with this very id, without how many of others are missing before them. @default all */
  readonly own?: string;
  /** Calls and keys of this session only. @default all */
  readonly sessionId?: string;
  /** Those behind this place. @default from the newest on */
  readonly after?: AuditPosition | undefined;
  /** Ends the reading: the promise rejects with its reason. */
  readonly signal?: AbortSignal;
}

const PAGE = 500;
/** The newest keys, which the audit looks at. */
const MAX_KEYS = 10_000;
const DEFAULT_LIMIT = 1_000;

/**
 * The newest first. No second log could disagree with the first: the calls of a session are what it has recorded, verified as they
 * are read, and a log that is damaged is read up to the damage. Calls that no session has come from a table of their own.
 *
 * @param onDamage called for each session whose log cannot be read to its end
 * @throws ToolError `invalid_argument` for a pattern that cannot be used, or no outcome. By rejecting
 */
export async function readAudit(
  store: Store,
  options: AuditOptions,
  onDamage: (sessionId: string, reason: string) => void,
): Promise<readonly AuditEntry[]> {
  const { since = -Infinity, limit = DEFAULT_LIMIT, after, sessionId, signal } = options;
  const found = new Newest(limit, after);
  const wanted = entryFilter(options);
  for (const refusal of await store.access.refusals({ limit: MAX_REFUSALS })) found.take({ type: "refusal", ...refusal }, wanted);
  for (const key of await store.access.keys({ sessionKeys: true, limit: MAX_KEYS }))
    for (const entry of keyEntries(key)) found.take(entry, wanted);
  await takeCalls(store, options, (call) => {
    found.take({ type: "call", ...call }, wanted);
    return call.at >= found.oldest;
  });
  await readSessions(store, sessionId, async (session) => {
    // The list is by time: what comes later has nothing newer than what was found.
    if (session.updatedAt < since || session.updatedAt < found.oldest) return false;
    signal?.throwIfAborted();
    for (const entry of await entriesOf(store, session, onDamage)) found.take(entry, wanted);
    return true;
  });
  const entries = found.entries();
  return options.own === undefined ? entries : entries.map(withoutMissed);
}

/** How many entries of all principals were not kept is not said to one of them. */
function withoutMissed(entry: AuditEntry): AuditEntry {
  if (!("missed" in entry)) return entry;
  const { missed: _missed, ...rest } = entry;
  return rest;
}

/** The position of the last of these entries. */
export function lastPosition(entries: readonly AuditEntry[], after: AuditPosition | undefined): AuditPosition {
  const last = entries.at(-1);
  const [at, sessionId] = last === undefined ? [0, ""] : [last.at, sessionOf(last)];
  const earlier = after?.at === at && after.sessionId === sessionId ? after.count : 0;
  return { at, sessionId, count: earlier + entries.filter((entry) => entry.at === at && sessionOf(entry) === sessionId).length };
}

function sessionOf(entry: AuditEntry): string {
  return ("sessionId" in entry ? entry.sessionId : undefined) ?? "";
}

/**
 * The newest first, each once, until one is not wanted any more. A session that is written to meanwhile moves to the front of the list and the others
 * back by one: the front is listed again at the end. Where some were removed, the others have moved to the front: a page begins with the last session of the
 * one before, or it is looked for further in front.
 */
async function readSessions(
  store: Store,
  sessionId: string | undefined,
  read: (session: StoredSession) => Promise<boolean>,
): Promise<void> {
  const seen = new Set<string>();
  let newest: number | undefined;
  const readSince = async (oldest: number): Promise<void> => {
    for (let offset = 0; ;) {
      const page = await store.list({ limit: PAGE, offset, ...omitUndefined({ sessionId }) });
      const [first] = page;
      newest ??= first?.updatedAt;
      if (offset > 0 && (first === undefined || !seen.has(first.sessionId))) {
        offset = Math.max(0, offset - PAGE);
        continue;
      }
      for (const session of page) {
        if (session.updatedAt < oldest) return;
        if (seen.has(session.sessionId)) continue;
        seen.add(session.sessionId);
        if (!(await read(session))) return;
      }
      if (page.length < PAGE) return;
      offset += PAGE - 1;
    }
  };
  await readSince(-Infinity);
  if (seen.size >= PAGE && newest !== undefined) await readSince(newest);
}

/** Calls that no session has, the newest first, until one is not wanted any more. */
async function takeCalls(
  { access }: Store,
  { principal, since, until, own, after: place }: AuditOptions,
  take: (call: AuditedCall) => boolean,
): Promise<void> {
  const exact = own ?? (principal?.includes("*") === true ? undefined : principal);
  const before = place === undefined ? until : Math.min(until ?? Infinity, Math.floor(place.at) + 1);
  const query = { limit: PAGE, ...omitUndefined({ since, until: before, principal: exact }) };
  let after: AuditedCallPlace | undefined;
  do {
    const page: Awaited<ReturnType<typeof access.calls>> = await access.calls({ ...query, ...omitUndefined({ after }) });
    if (!page.calls.every(take)) return;
    after = page.next;
  } while (after !== undefined);
}

/** Keeps so many of the newest, each once, without those of a place's time and session up to it. */
class Newest {
  readonly #limit: number;
  readonly #after: AuditPosition | undefined;
  /** How many of the place's time and session were skipped: they come in the same order for each page. */
  #skipped = 0;
  #entries: AuditEntry[] = [];
  /** Calls and approvals that were seen: those of a branch are in the log of the session it became part of as well. */
  readonly #seen = new Set<string>();
  /** The time of the oldest that is kept, once there are as many as may be. */
  oldest = -Infinity;

  constructor(limit: number, after: AuditPosition | undefined) {
    this.#limit = limit;
    this.#after = after;
  }

  take(entry: AuditEntry, wanted: (entry: AuditEntry) => boolean): void {
    if (entry.at < this.oldest || !wanted(entry)) return;
    if ("toolName" in entry && entry.callId !== undefined) {
      const key = JSON.stringify([entry.type, entry.sessionId, entry.callId, entry.type === "call" ? "" : entry.approvalId]);
      if (this.#seen.has(key)) return;
      this.#seen.add(key);
    }
    if (this.#isBeforePlace(entry)) return;
    this.#entries.push(entry);
    if (this.#entries.length > 2 * this.#limit) this.#drop();
  }

  entries(): readonly AuditEntry[] {
    this.#drop();
    return this.#entries;
  }

  #isBeforePlace(entry: AuditEntry): boolean {
    const after = this.#after;
    if (after === undefined || entry.at !== after.at || sessionOf(entry) !== after.sessionId || this.#skipped >= after.count) return false;
    this.#skipped++;
    return true;
  }

  #drop(): void {
    this.#entries = this.#entries.sort(byTime).slice(0, this.#limit);
    if (this.#entries.length === this.#limit) this.oldest = this.#entries.at(-1)?.at ?? -Infinity;
  }
}

/** The newest first. Those of one time are in the same order however their sessions are listed, so that pages fit one another. */
function byTime(one: AuditEntry, other: AuditEntry): number {
  if (one.at !== other.at) return other.at - one.at;
  const [a, b] = [sessionOf(one), sessionOf(other)];
  return a < b ? -1 : Number(a > b);
}

/** @throws ToolError `invalid_argument` */
function entryFilter({
  principal,
  tool,
  outcome,
  own,
  sessionId,
  after,
  since = -Infinity,
  until = Infinity,
}: AuditOptions): (entry: AuditEntry) => boolean {
  if (outcome !== undefined) checkOutcome(outcome);
  const isTool = tool === undefined ? undefined : quickMatcher([tool], "tool");
  const pieces = principal?.split("*");
  return (entry) => {
    if (entry.at < since || entry.at >= until || (after !== undefined && isBefore(entry, after))) return false;
    if (own !== undefined && entry.principal !== own) return false;
    if (sessionId !== undefined && (!("sessionId" in entry) || entry.sessionId !== sessionId)) return false;
    if (outcome !== undefined && (entry.type !== "call" || (entry.outcome !== outcome && entry.errorCode !== outcome))) return false;
    if (isTool !== undefined && !toolsOf(entry).some((name) => isTool(name) !== undefined)) return false;
    return pieces === undefined || (entry.principal !== undefined && fitsPieces(entry.principal, pieces));
  };
}

/** Whether an entry is of a time or a session that comes before those of a place. */
function isBefore(entry: AuditEntry, { at, sessionId }: AuditPosition): boolean {
  return entry.at > at || (entry.at === at && sessionOf(entry) < sessionId);
}

function toolsOf(entry: AuditEntry): readonly string[] {
  if (entry.type === "refusal") return entry.toolNames ?? [];
  return "toolName" in entry ? [entry.toolName] : [];
}

/** @throws ToolError `invalid_argument` */
function checkOutcome(outcome: string): void {
  if (AUDIT_OUTCOMES.some((one) => one === outcome) || Object.hasOwn(ERROR_CODES, outcome)) return;
  throw new ToolError("invalid_argument", `${JSON.stringify(outcome)} is no outcome of a call.`, {
    hint: `An outcome is ${AUDIT_OUTCOMES.join(", ")}, or an error code such as permission_denied.`,
  });
}

function keyEntries({ id, name, scopes, createdAt, createdBy, revokedAt, sessionId }: StoredKey): readonly KeyEntry[] {
  const facts = { keyId: id, name, scopes, ...omitUndefined({ sessionId }) };
  const made: KeyEntry = { type: "key-add", at: createdAt, ...facts, ...omitUndefined({ principal: createdBy }) };
  return revokedAt === undefined ? [made] : [made, { type: "key-revoke", at: revokedAt, ...facts }];
}

/** In the order they began, and without what is the parent's. */
export async function entriesOf(
  store: Store,
  { sessionId, parent }: Pick<StoredSession, "sessionId" | "parent">,
  onDamage: (sessionId: string, reason: string) => void,
): Promise<readonly AuditEntry[]> {
  const entries: AuditEntry[] = [];
  /** Where the entry of a call is that has not ended. */
  const open = new Map<string, number>();
  const places: number[] = [];
  const brought = new CopiedPart();
  try {
    let position = (parent?.length ?? 0) + 1;
    let from: number | undefined = position;
    while (from !== undefined) {
      const page: Awaited<ReturnType<Store["read"]>> = await store.read(sessionId, { from });
      for (const event of page.events) {
        brought.notice(event, position);
        noteEvent(event, entries, open);
        if (entries.length > places.length) places.push(position);
        position++;
      }
      if (page.damage !== undefined) onDamage(sessionId, page.damage.reason);
      from = page.damage === undefined ? page.next : undefined;
    }
  } catch (thrown: unknown) {
    onDamage(sessionId, ToolError.fromUnknown(thrown).message); // it may have been removed meanwhile
  }
  const last = brought.last(sessionId);
  return entries.filter((_entry, index) => (places[index] ?? 0) > last);
}

function noteEvent(event: SessionEvent, entries: AuditEntry[], open: Map<string, number>): void {
  const { at, sessionId } = event;
  if (event.type === "call-start") {
    const { callId, call, parentCallId, principal } = event;
    open.set(callId, entries.length);
    entries.push({
      type: "call",
      at,
      sessionId,
      callId,
      toolName: call.name,
      outcome: "open",
      ...omitUndefined({ principal, parentCallId }),
    });
  } else if (event.type === "call-end") {
    const index = open.get(event.callId);
    const begun = index === undefined ? undefined : entries[index];
    if (index === undefined || begun?.type !== "call") return;
    const { name, status, durationMs, error } = event.result;
    const outcome = status === "pending" ? "open" : status;
    entries[index] = {
      ...begun,
      toolName: name === "" ? begun.toolName : name,
      outcome,
      durationMs,
      ...omitUndefined({ errorCode: error?.code }),
    };
  } else if (event.type === "approval-ask") {
    const { type, callId, toolName, approvalId } = event;
    entries.push({ type, at, sessionId, callId, toolName, approvalId });
  } else if (event.type === "approval-answer") {
    const { type, callId, toolName, approvalId, status, scope, ruleId, by } = event;
    entries.push({ type, at, sessionId, callId, toolName, approvalId, status, ...omitUndefined({ principal: by, scope, ruleId }) });
  } else if ((event.type === "message-add" || event.type === "inbox-add") && event.principal !== undefined) {
    entries.push({ type: "message", at, sessionId, principal: event.principal });
  } else if (event.type === "job-input") {
    const { callId, principal } = event;
    entries.push({ type: "input", at, sessionId, callId, ...omitUndefined({ principal }) });
  }
}
