/** One call in a timeline, folded from its events so far. */
import type { LogEvent } from "../server/log-event.ts";

type CallEnd = Extract<LogEvent, { readonly type: "call-end" }>;
type CallStart = Extract<LogEvent, { readonly type: "call-start" }>;

/** A result as it is in events. */
export type CallResult = CallEnd["result"];
export type CallInput = CallStart["call"];
export type Origin = CallResult["origin"];

/** A phase of a call's time. */
export interface Phase {
  readonly phase: "approval" | "slot" | "lock" | "attempt" | "backoff";
  /** When it began, in milliseconds after the call's start. */
  readonly atMs: number;
  /** Its length in milliseconds; undefined while it lasts. */
  readonly ms?: number;
  /** For a lock: the calls that held it. */
  readonly holders?: readonly string[];
  /** For an attempt: the code of its error. */
  readonly error?: string;
  /** For an attempt: set if its handler was abandoned. */
  readonly abandoned?: true;
  /** For an abandoned attempt: how much longer its handler ran, in milliseconds. */
  readonly lateMs?: number;
}

export interface CallEntry {
  readonly kind: "call";
  readonly id: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly call: CallInput;
  readonly parentId: string | undefined;
  readonly principal: string | undefined;
  readonly at: number;
  endedAt?: number;
  /** The input that ran. */
  input?: CallEnd["input"];
  result?: CallResult;
  phases: Phase[];
  /** When it wrote output, in milliseconds after its start; the latest ones only. */
  readonly outputs: number[];
  approval?: { readonly digest: string; readonly reason: string; status?: string; by?: string };
  idempotencyKey?: string;
  progress?: string;
  job?: "background" | "stateful";
  /** Set if its message was voided, or its batch rolled back. */
  undone?: "voided" | "rolled back";
  lateOutcome?: "applied";
}

export function createCallEntry(event: CallStart): CallEntry {
  const { callId, sessionId, turnId, call, parentCallId, principal, at } = event;
  return { kind: "call", id: callId, sessionId, turnId, call, parentId: parentCallId, principal, at, phases: [], outputs: [] };
}

/** Returns the name of the tool that answered, else the name in the call. */
export function callName(entry: CallEntry): string {
  return entry.result?.name ?? entry.call.name;
}

/** Returns the phases of an ended call: the recorded ones, else those seen live, else its one attempt. */
export function toEndedPhases(event: CallEnd, live: readonly Phase[]): Phase[] {
  if (event.timing !== undefined) return [...event.timing];
  const { attempts, durationMs, error } = event.result;
  if (live.length > 0)
    return live.map((phase) => (phase.ms === undefined ? { ...phase, ms: Math.max(0, durationMs - phase.atMs) } : phase));
  if (attempts === 0) return [];
  return [{ phase: "attempt", atMs: 0, ms: durationMs, ...(error === undefined ? {} : { error: error.code }) }];
}

/** Returns the state of a call. `begun`: its log does not say whether it waits or runs. */
export function callState(entry: CallEntry): "begun" | "approval" | "running" | "backoff" | "ended" {
  if (entry.result !== undefined) return "ended";
  const last = entry.phases.at(-1);
  if (last === undefined || last.ms !== undefined) {
    if (last?.phase === "backoff") return "backoff";
    return entry.outputs.length > 0 || entry.idempotencyKey !== undefined ? "running" : "begun";
  }
  return last.phase === "approval" ? "approval" : "running";
}
