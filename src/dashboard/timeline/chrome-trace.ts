/**
 * A session in Chrome's trace format, for chrome://tracing and Perfetto. @see
 * https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
 */
import { pushAll } from "../../core/collections/push-all.ts";
import { callName, type CallEntry } from "./call-entry.ts";
import type { SessionLog } from "./session-log.ts";

interface TraceEvent {
  readonly name: string;
  readonly ph: "X" | "M" | "i";
  readonly ts: number;
  readonly dur?: number;
  readonly pid: 1;
  readonly tid: number;
  readonly s?: "t";
  readonly cat?: string;
  readonly args?: object;
}

const MICROSECONDS = 1_000;

/** Formats a session as a trace. Overlapping calls are on separate tracks; a nested call is on its caller's track if nothing else overlaps it. */
export function formatChromeTrace(sessionId: string, log: SessionLog): string {
  const events: TraceEvent[] = [{ name: "process_name", ph: "M", ts: 0, pid: 1, tid: 0, args: { name: sessionId } }];
  const tracks = new Tracks();
  const last = findLastTime(log);
  for (const { entry } of log.rows()) {
    if (entry.kind === "message") {
      events.push({ name: entry.role, ph: "i", ts: entry.at * MICROSECONDS, pid: 1, tid: 0, s: "t", args: { text: entry.text } });
      continue;
    }
    const endedAt = Math.max(entry.at, entry.endedAt ?? last);
    const tid = tracks.assignTrack(entry, endedAt);
    pushAll(events, toTraceEvents(entry, endedAt, tid));
  }
  for (let tid = 1; tid <= tracks.count; tid++)
    events.push({ name: "thread_name", ph: "M", ts: 0, pid: 1, tid, args: { name: `calls ${tid}` } });
  return JSON.stringify({ traceEvents: events, displayTimeUnit: "ms" });
}

function* toTraceEvents(entry: CallEntry, endedAt: number, tid: number): Generator<TraceEvent, void, undefined> {
  const { result, call, input } = entry;
  const place = { ph: "X", pid: 1, tid } as const;
  yield {
    ...place,
    name: callName(entry),
    cat: result?.origin ?? "open",
    ts: entry.at * MICROSECONDS,
    dur: (endedAt - entry.at) * MICROSECONDS,
    args: {
      callId: entry.id,
      status: result?.status ?? "open",
      input: input ?? call.input ?? {},
      error: result?.error,
      attempts: result?.attempts,
    },
  };
  for (const { phase, atMs, ms, holders, error } of entry.phases) {
    const from = Math.min(entry.at + atMs, endedAt);
    const to = Math.min(endedAt, ms === undefined ? endedAt : entry.at + atMs + ms);
    const waits = phase === "attempt" || phase === "backoff" ? phase : `wait: ${phase}`;
    yield {
      ...place,
      name: waits,
      cat: "phase",
      ts: from * MICROSECONDS,
      dur: (to - from) * MICROSECONDS,
      args: { waitedFor: holders, error },
    };
  }
}

/** Assigns tracks, on which nothing overlaps. */
class Tracks {
  readonly #ends: number[] = [];

  get count(): number {
    return this.#ends.length;
  }

  assignTrack({ at }: CallEntry, endedAt: number): number {
    const free = this.#ends.findIndex((end) => end <= at);
    const index = free < 0 ? this.#ends.length : free;
    this.#ends[index] = endedAt;
    return index + 1;
  }
}

function findLastTime(log: SessionLog): number {
  return log
    .entries()
    .reduce((last, entry) => Math.max(last, entry.at, (entry.kind === "call" ? entry.endedAt : undefined) ?? entry.at), 0);
}
