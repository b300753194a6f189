/** Folds a session's events into the log of a timeline, outside of React: thousands of events cost one rendering. */
import type { LogEvent, LogEventOf } from "../server/log-event.ts";
import { truncateText, firstCharacters } from "../show/text-pieces.ts";
import { toEndedPhases, createCallEntry, type CallEntry, type CallResult, type Phase } from "./call-entry.ts";
import type { TimelineEntry } from "./timeline-entry.ts";
import { SortedTimes } from "./sorted-times.ts";
import { RowTree, type Row } from "./row-tree.ts";
import { AxisBuilder, type TimeAxis } from "./time-axis.ts";

const MAX_OUTPUTS = 200;
/** Maximum length of the text of a message, as much as a saved file shows of it. */
const MAX_TEXT = 20_000;
const MAX_PROGRESS = 400;
const MAX_TITLE = 400;

export class SessionLog {
  readonly calls = new Map<string, CallEntry>();
  /** Grows with each event. */
  version = 0;
  running = 0;
  failed = 0;
  /** The first message of a user or the name of the first called tool, whichever came first, as in the list of sessions; "" if there is neither. */
  title = "";
  /** Whether its source has no times: positions on the axis are turns. */
  isTimeless = false;
  /** For a log from a file: its last moment, which counts as the present for unfinished calls. */
  endAt: number | undefined;
  /** Maximum length of texts; longer ones are cut. */
  readonly maxText: number;
  /** When calls began. `ends`, `failures`: when they ended, and failed. */
  readonly starts = new SortedTimes();
  readonly ends = new SortedTimes();
  readonly failures = new SortedTimes();
  readonly #entries: TimelineEntry[] = [];
  readonly #tree = new RowTree();
  readonly #times = new AxisBuilder();

  constructor({ maxText = MAX_TEXT }: { readonly maxText?: number } = {}) {
    this.maxText = maxText;
  }

  add(event: LogEvent): void {
    this.version++;
    const fold = EVENT_FOLDS[event.type];
    // Each function of the table takes events of its key.
    if (fold !== undefined) (fold as (log: SessionLog, event: LogEvent) => void)(this, event);
  }

  addEntry(entry: TimelineEntry): void {
    this.#entries.push(entry);
    this.#tree.add(entry);
    this.#times.add(entry.at);
    if (this.title === "") this.title = toTitle(entry);
    if (entry.kind !== "call") return;
    this.calls.set(entry.id, entry);
    this.starts.add(entry.at);
    this.running++;
  }

  endCall(call: CallEntry, at: number, result: CallResult): void {
    call.result = result;
    call.endedAt = Math.max(at, call.at);
    this.#times.add(call.endedAt);
    this.ends.add(call.endedAt);
    this.running--;
    if (result.status !== "error") return;
    this.failures.add(call.endedAt);
    this.failed++;
  }

  /** Returns all entries in the order in which they began, with nested calls below their callers. It is always the same array, which grows. */
  rows(): readonly Row[] {
    return this.#tree.rows();
  }

  /** Returns the axis. @param now the present, for unfinished calls */
  axis(now: number): TimeAxis {
    return this.#times.axis(this.running > 0 || this.#entries.length === 0 ? now : undefined);
  }

  /** Returns the entries in the order in which they began. */
  entries(): readonly TimelineEntry[] {
    return this.#entries;
  }
}

function toTitle(entry: TimelineEntry): string {
  if (entry.kind === "call") return entry.call.name;
  return entry.role === "user" ? firstCharacters(entry.text, MAX_TITLE).trim().replaceAll(/\s+/gu, " ") : "";
}

type EventFolds = { readonly [Type in LogEvent["type"]]?: (log: SessionLog, event: LogEventOf<Type>) => void };

const EVENT_FOLDS: EventFolds = {
  "call-start": (log, event) => {
    if (!log.calls.has(event.callId)) log.addEntry(createCallEntry(event));
  },
  "call-intent": (log, { callId, input, idempotencyKey }) => {
    const call = log.calls.get(callId);
    if (call !== undefined) Object.assign(call, { input, idempotencyKey });
  },
  "approval-ask": (log, { callId, at, digest, reason, input }) => {
    const call = log.calls.get(callId);
    if (call === undefined || call.result !== undefined) return;
    Object.assign(call, { approval: { digest, reason }, input });
    call.phases.push({ phase: "approval", atMs: at - call.at });
  },
  "approval-answer": (log, { callId, at, status, by, digest }) => {
    const call = log.calls.get(callId);
    if (call === undefined) return;
    call.approval = { reason: "", digest, ...call.approval, status, ...(by === undefined ? {} : { by }) };
    endLastPhase(call, "approval", at);
  },
  "call-wait": (log, { callId, at, waitMs, reason, waitedFor }) => {
    const call = log.calls.get(callId);
    if (call === undefined || call.result !== undefined) return;
    const holders = reason === "lock" ? { holders: waitedFor } : {};
    call.phases.push({ phase: reason, atMs: Math.max(0, at - waitMs - call.at), ms: waitMs, ...holders });
  },
  "call-attempt": (log, { callId, at }) => {
    const call = log.calls.get(callId);
    if (call !== undefined && call.result === undefined) call.phases.push({ phase: "attempt", atMs: at - call.at });
  },
  "call-retry": (log, { callId, at, delayMs, error }) => {
    const call = log.calls.get(callId);
    if (call === undefined || call.result !== undefined) return;
    endLastPhase(call, "attempt", at, { error: error.code });
    call.phases.push({ phase: "backoff", atMs: at - call.at, ms: delayMs });
  },
  "call-orphan": (log, { callId, at }) => {
    const call = log.calls.get(callId);
    if (call !== undefined && call.result === undefined) endLastPhase(call, "attempt", at, { abandoned: true });
  },
  "call-late": (log, { callId, lateMs }) => {
    const call = log.calls.get(callId);
    const index = call?.phases.findLastIndex(({ phase }) => phase === "attempt") ?? -1;
    const phase = call?.phases[index];
    if (call !== undefined && phase !== undefined) call.phases[index] = { ...phase, abandoned: true, lateMs };
  },
  "call-progress": (log, { callId, update }) => {
    const call = log.calls.get(callId);
    if (call !== undefined) call.progress = formatProgress(update);
  },
  "call-end": (log, event) => {
    const call = log.calls.get(event.callId);
    if (call === undefined || call.result !== undefined) return;
    if (event.input !== undefined) call.input = event.input;
    call.phases = toEndedPhases(event, call.phases);
    log.endCall(call, event.at, event.result);
  },
  "job-start": (log, { callId, mode }) => {
    const call = log.calls.get(callId);
    if (call !== undefined) call.job = mode;
  },
  "job-output": (log, { callId, at }) => {
    const call = log.calls.get(callId);
    if (call === undefined) return;
    call.outputs.push(at - call.at);
    if (call.outputs.length > MAX_OUTPUTS) call.outputs.shift();
  },
  "outcome-resolve": (log, { callId, outcome }) => {
    const call = log.calls.get(callId);
    if (call !== undefined) call.lateOutcome = outcome;
  },
  "message-add": (log, { at, message: { role, content } }) => {
    log.addEntry({ kind: "message", id: `message-${log.version}`, at, role, text: formatContent(content, log.maxText) });
  },
  "round-end": (log, { at, message: { content }, voided, callIds }) => {
    if (voided !== undefined) markUndone(log, callIds, "voided");
    const text = formatContent(content, log.maxText);
    if (text !== "" || voided !== undefined)
      log.addEntry({
        kind: "message",
        id: `message-${log.version}`,
        at,
        role: "assistant",
        text,
        callIds,
        ...(voided === undefined ? {} : { voided }),
      });
  },
  "batch-rollback": (log, { callIds }) => markUndone(log, callIds, "rolled back"),
};

function markUndone(log: SessionLog, callIds: readonly string[], undone: NonNullable<CallEntry["undone"]>): void {
  for (const id of callIds) {
    const call = log.calls.get(id);
    if (call !== undefined) call.undone = undone;
  }
}

function endLastPhase(call: CallEntry, kind: Phase["phase"], at: number, more: Partial<Phase> = {}): void {
  const index = call.phases.findLastIndex(({ phase, ms }) => phase === kind && ms === undefined);
  const open = call.phases[index];
  if (open !== undefined) call.phases[index] = { ...open, ...more, ms: Math.max(0, at - call.at - open.atMs) };
}

export function formatContent(content: LogEventOf<"message-add">["message"]["content"], maxText: number): string {
  if (typeof content === "string") return truncateText(content, maxText);
  return content.map((part) => (part.type === "text" ? truncateText(part.text, maxText) : `[${part.type}]`)).join(" ");
}

function formatProgress({ message, done, total }: LogEventOf<"call-progress">["update"]): string {
  const count = done === undefined ? "" : total === undefined ? String(done) : `${done} of ${total}`;
  return [message === undefined ? undefined : firstCharacters(message, MAX_PROGRESS), count]
    .filter((part) => part !== undefined && part !== "")
    .join(" · ");
}
