/** The audit of a store: who called what, when, where and with which outcome. Read from session events, calls outside sessions, keys and refusals. */
import {
  MAX_REFUSALS,
  type AuditedCall,
  type AuditedCallPlace,
  type RefusedRequest,
  type StoredKey,
} from "../../core/store/access-store.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { CopiedEventsFinder } from "../../core/copied-events.ts";
import type { SessionEvent } from "../../core/event.ts";
import { ToolError } from "../../core/error.ts";
import { ERROR_CODES } from "../../core/error-codes.ts";
import type { Store, StoredSession } from "../../core/store/store.ts";
import { AUDIT_OUTCOMES } from "./audit-types.ts";
import { matchesPieces, createFastMatcher } from "../../policy/permission.ts";

export type AuditEntry = CallEntry | ApprovalEntry | SentEntry | KeyEntry | (RefusedRequest & { readonly type: "refusal" });

/** A call. One outside a session has `via`. Outcome `open`: the call has not ended, or its server stopped first. */
interface CallEntry extends Omit<AuditedCall, "via"> {
  readonly type: "call";
  readonly via?: AuditedCall["via"];
}

/** The request for an approval of a call, or its answer. `principal` of an answer is the principal that answered, if the answer names it. */
interface ApprovalEntry extends AuditEntryBase {
  readonly type: "approval-ask" | "approval-answer";
  readonly toolName: string;
  readonly approvalId: string;
  /** Set for an answer. */
  readonly status?: string;
  /** How far an approval reaches. */
  readonly scope?: string;
  /** The rule that answered, or that was made from the answer. */
  readonly ruleId?: string;
}

/** A message, or the input of a job. */
interface SentEntry extends AuditEntryBase {
  readonly type: "message" | "input";
}

/** A key that was made, by `principal`, or revoked. */
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

/** A place among all entries. It stays valid when other sessions are removed. */
export interface AuditPosition {
  readonly at: number;
  /** Empty for an entry outside sessions. */
  readonly sessionId: string;
  /** How many entries of that time and session are at or before the place. */
  readonly count: number;
}

interface AuditEntryBase {
  readonly at: number;
  readonly principal?: string;
  readonly sessionId: string;
  readonly callId?: string;
}

export interface AuditOptions {
  /** Only entries of principals that match this pattern, such as `key:*`. @default all */
  readonly principal?: string;
  /** Only calls of tools that match this pattern, such as `files::*`, their approvals, and refused requests for them. @default all */
  readonly tool?: string;
  /** Only calls with this outcome, such as `cancelled`, or this error code. @default all */
  readonly outcome?: string;
  /** Only entries at or after this time, in wall-clock milliseconds since the epoch. @default all */
  readonly since?: number;
  /** Only entries before this time. @default all */
  readonly until?: number;
  /** Maximum number of entries. @default 1_000 */
  readonly limit?: number;
  /** Only entries of the principal with exactly this id, without counts of other principals' missed entries. @default all */
  readonly own?: string;
  /** Only calls and keys of this session. @default all */
  readonly sessionId?: string;
  /** Only entries after this place. @default from the newest entry on */
  readonly after?: AuditPosition | undefined;
  /** Its abort ends the reading: the promise rejects with its reason. */
  readonly signal?: AbortSignal;
  /** Called often, with the number of events of sessions that were read so far. */
  readonly onProgress?: (events: number) => void;
}

const PAGE_SIZE = 500;
/** Maximum number of keys that the audit reads, newest first. */
const MAX_KEYS = 10_000;
const DEFAULT_LIMIT = 1_000;

/**
 * Reads audit entries, newest first. There is no second log that could disagree: the calls of a session are its recorded events, verified as they are
 * read, and a damaged log is read up to the damage. Calls outside sessions come from a table of their own.
 *
 * @param onDamage called for each session whose log cannot be read to its end
 * @throws ToolError `invalid_argument` for an unusable pattern or an unknown outcome, as a rejection
 */
export async function readAudit(
  store: Store,
  options: AuditOptions,
  onDamage: (sessionId: string, reason: string) => void,
): Promise<readonly AuditEntry[]> {
  const { since = -Infinity, limit = DEFAULT_LIMIT, after, sessionId, signal, onProgress } = options;
  let events = 0;
  const onPage = (size: number): void => onProgress?.((events += size));
  const found = new NewestEntries(limit, after);
  const wanted = entryFilter(options);
  for (const refusal of await store.access.refusals({ limit: MAX_REFUSALS })) found.add({ type: "refusal", ...refusal }, wanted);
  for (const key of await store.access.keys({ sessionKeys: true, limit: MAX_KEYS }))
    for (const entry of toKeyEntries(key)) found.add(entry, wanted);
  await readCalls(store, options, (call) => {
    found.add({ type: "call", ...call }, wanted);
    return call.at >= found.oldest;
  });
  await readSessions(store, sessionId, async (session) => {
    // sessions are listed newest first: none after this one has anything newer than what was found
    if (session.updatedAt < since || session.updatedAt < found.oldest) return false;
    signal?.throwIfAborted();
    for (const entry of await readSessionEntries(store, session, onDamage, { signal, onPage })) found.add(entry, wanted);
    return true;
  });
  const entries = found.entries();
  return options.own === undefined ? entries : entries.map(removeMissedCount);
}

/** Removes the count of entries that were not kept: it covers all principals, and is not shown to one of them. */
function removeMissedCount(entry: AuditEntry): AuditEntry {
  if (!("missed" in entry)) return entry;
  const { missed: _missed, ...rest } = entry;
  return rest;
}

/** The position of the last of these entries; `after` is the position that they were read from. */
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
 * Reads each session once, newest first, until `read` resolves to false. A session that is written to meanwhile moves to the front of the list and
 * shifts the others back by one, so the front is listed again at the end. Removed sessions shift the others forward, so pages overlap by one session:
 * if a page does not begin with a session that was seen, the page before it is read again.
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
      const page = await store.list({ limit: PAGE_SIZE, offset, ...omitUndefined({ sessionId }) });
      const [first] = page;
      newest ??= first?.updatedAt;
      if (offset > 0 && (first === undefined || !seen.has(first.sessionId))) {
        offset = Math.max(0, offset - PAGE_SIZE);
        continue;
      }
      for (const session of page) {
        if (session.updatedAt < oldest) return;
        if (seen.has(session.sessionId)) continue;
        seen.add(session.sessionId);
        if (!(await read(session))) return;
      }
      if (page.length < PAGE_SIZE) return;
      offset += PAGE_SIZE - 1;
    }
  };
  await readSince(-Infinity);
  if (seen.size >= PAGE_SIZE && newest !== undefined) await readSince(newest);
}

/** Reads the calls outside sessions, newest first, until `take` returns false. */
async function readCalls(
  { access }: Store,
  { principal, since, until, own, after: place }: AuditOptions,
  addCall: (call: AuditedCall) => boolean,
): Promise<void> {
  const exact = own ?? (principal?.includes("*") === true ? undefined : principal);
  const before = place === undefined ? until : Math.min(until ?? Infinity, Math.floor(place.at) + 1);
  const query = { limit: PAGE_SIZE, ...omitUndefined({ since, until: before, principal: exact }) };
  let after: AuditedCallPlace | undefined;
  do {
    const page: Awaited<ReturnType<typeof access.calls>> = await access.calls({ ...query, ...omitUndefined({ after }) });
    if (!page.calls.every(addCall)) return;
    after = page.next;
  } while (after !== undefined);
}

/** Keeps the newest `limit` entries, each once, skipping those of the place's time and session up to its count. */
class NewestEntries {
  readonly #limit: number;
  readonly #after: AuditPosition | undefined;
  /** How many entries of the place's time and session were skipped: they come in the same order for each page. */
  #skipped = 0;
  #entries: AuditEntry[] = [];
  /** Keys of calls and approvals that were taken: those of a committed branch are also in the log of the session it was committed to. */
  readonly #seen = new Set<string>();
  /** The time of the oldest entry kept, once `limit` entries are kept. */
  oldest = -Infinity;

  constructor(limit: number, after: AuditPosition | undefined) {
    this.#limit = limit;
    this.#after = after;
  }

  add(entry: AuditEntry, wanted: (entry: AuditEntry) => boolean): void {
    if (entry.at < this.oldest || !wanted(entry)) return;
    if ("toolName" in entry && entry.callId !== undefined) {
      const key = JSON.stringify([entry.type, entry.sessionId, entry.callId, entry.type === "call" ? "" : entry.approvalId]);
      if (this.#seen.has(key)) return;
      this.#seen.add(key);
    }
    if (this.#isBeforePosition(entry)) return;
    this.#entries.push(entry);
    if (this.#entries.length > 2 * this.#limit) this.#drop();
  }

  entries(): readonly AuditEntry[] {
    this.#drop();
    return this.#entries;
  }

  #isBeforePosition(entry: AuditEntry): boolean {
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

/** Sorts newest first. Entries of one time are ordered by session, so that the order of pages does not depend on how sessions are listed. */
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
  const isTool = tool === undefined ? undefined : createFastMatcher([tool], "tool");
  const pieces = principal?.split("*");
  return (entry) => {
    if (entry.at < since || entry.at >= until || (after !== undefined && isBefore(entry, after))) return false;
    if (own !== undefined && entry.principal !== own) return false;
    if (sessionId !== undefined && (!("sessionId" in entry) || entry.sessionId !== sessionId)) return false;
    if (outcome !== undefined && (entry.type !== "call" || (entry.outcome !== outcome && entry.errorCode !== outcome))) return false;
    if (isTool !== undefined && !toolsOf(entry).some((name) => isTool(name) !== undefined)) return false;
    return pieces === undefined || (entry.principal !== undefined && matchesPieces(entry.principal, pieces));
  };
}

/** Whether an entry's time or session comes before that of a place. */
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
  throw new ToolError("invalid_argument", `${JSON.stringify(outcome)} is not an outcome of a call.`, {
    hint: `An outcome is ${AUDIT_OUTCOMES.join(", ")}, or an error code such as permission_denied.`,
  });
}

function toKeyEntries({ id, name, scopes, createdAt, createdBy, revokedAt, sessionId }: StoredKey): readonly KeyEntry[] {
  const facts = { keyId: id, name, scopes, ...omitUndefined({ sessionId }) };
  const made: KeyEntry = { type: "key-add", at: createdAt, ...facts, ...omitUndefined({ principal: createdBy }) };
  return revokedAt === undefined ? [made] : [made, { type: "key-revoke", at: revokedAt, ...facts }];
}

interface ReadingOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called for each page of events, with their number. */
  readonly onPage?: (size: number) => void;
}

/** The entries of a session in the order of their calls' starts, without those of its parent. @throws the signal's reason */
export async function readSessionEntries(
  store: Store,
  { sessionId, parent }: Pick<StoredSession, "sessionId" | "parent">,
  onDamage: (sessionId: string, reason: string) => void,
  { signal, onPage }: ReadingOptions = {},
): Promise<readonly AuditEntry[]> {
  const entries: AuditEntry[] = [];
  /** Indexes of the entries of calls that have not ended, by call id. */
  const open = new Map<string, number>();
  const places: number[] = [];
  const copiedEvents = new CopiedEventsFinder();
  try {
    let position = (parent?.length ?? 0) + 1;
    let from: number | undefined = position;
    while (from !== undefined) {
      signal?.throwIfAborted();
      const page: Awaited<ReturnType<Store["read"]>> = await store.read(sessionId, { from });
      onPage?.(page.events.length);
      for (const event of page.events) {
        copiedEvents.add(event, position);
        addEventEntry(event, entries, open);
        if (entries.length > places.length) places.push(position);
        position++;
      }
      if (page.damage !== undefined) onDamage(sessionId, page.damage.reason);
      from = page.damage === undefined ? page.next : undefined;
    }
  } catch (thrown: unknown) {
    signal?.throwIfAborted();
    onDamage(sessionId, ToolError.fromUnknown(thrown).message); // the session may have been removed meanwhile
  }
  const last = copiedEvents.findLast(sessionId);
  return entries.filter((_entry, index) => (places[index] ?? 0) > last);
}

function addEventEntry(event: SessionEvent, entries: AuditEntry[], open: Map<string, number>): void {
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
    const started = index === undefined ? undefined : entries[index];
    if (index === undefined || started?.type !== "call") return;
    const { name, status, durationMs, error } = event.result;
    const outcome = status === "pending" ? "open" : status;
    entries[index] = {
      ...started,
      toolName: name === "" ? started.toolName : name,
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
