/** The calls of a session that wait for a person's yes, worked out from its log, so that a restart forgets none. */
import type { ApprovalAnswer } from "../core/ask.ts";
import type { SessionEvent } from "../core/event.ts";
import { copyJson, isJsonObject, type JsonObject } from "../core/base/json.ts";
import { approvalDigest } from "../policy/approval.ts";

/** A call that ended `approval_required`: what is shown to a person. */
export interface PendingCall {
  readonly callId: string;
  /** The tool's qualified name. */
  readonly name: string;
  /** The final input: what is approved is exactly what runs. */
  readonly input: JsonObject;
  /** SHA-256 over name and input, in hex: what the answer is bound to. */
  readonly digest: string;
  readonly reason: string;
}

/** A person's answers by digest; calls that have none still wait. */
export type ApprovalDecisions = Readonly<Record<string, ApprovalAnswer>>;

type Started = SessionEvent & { readonly type: "call-start" };
type Ended = SessionEvent & { readonly type: "call-end" };

/**
 * The calls of the model's latest message that wait for approval, in call order; none after a later message.
 *
 * A round that does nothing but make waiting calls again is their answer, and leaves the others waiting.
 */
export function pendingCalls(events: readonly SessionEvent[]): readonly PendingCall[] {
  const since = events.findLastIndex((event) => event.type === "message-add" && event.message.role === "user") + 1;
  const starts = new Map<string, Started>();
  const ends = new Map<string, Ended>();
  const rounds: (readonly string[])[] = [];
  for (let index = since; index < events.length; index++) {
    const event = events[index];
    if (event?.type === "call-start") starts.set(event.callId, event);
    else if (event?.type === "call-end") ends.set(event.callId, event);
    else if (event?.type === "round-end" && event.voided === undefined) rounds.push(event.callIds);
  }
  let pending: readonly PendingCall[] = [];
  for (const callIds of rounds) {
    const left = answered(pending, callIds, starts);
    const waiting = callIds.flatMap((callId) => waitingCall(ends.get(callId)));
    pending = [...(left ?? []), ...waiting];
  }
  return pending;
}

/** The calls that still wait after a round that made waiting calls again; undefined for a round that made another one. */
function answered(
  pending: readonly PendingCall[],
  callIds: readonly string[],
  starts: ReadonlyMap<string, Started>,
): readonly PendingCall[] | undefined {
  const left = [...pending];
  for (const callId of callIds) {
    const digest = digestOf(starts.get(callId));
    const index = left.findIndex((call) => call.digest === digest);
    if (index < 0) return undefined;
    left.splice(index, 1);
  }
  return left;
}

function digestOf(start: Started | undefined): string | undefined {
  const input = start?.call.input;
  return start === undefined || !isJsonObject(input) ? undefined : approvalDigest(start.call.name, input);
}

function waitingCall(end: Ended | undefined): readonly PendingCall[] {
  const { callId, result, input: shown = {} } = end ?? {};
  const { error, name = "" } = result ?? {};
  const input = copyJson(shown).value;
  if (callId === undefined || error?.code !== "approval_required" || !isJsonObject(input)) return [];
  return [{ callId, name, input, digest: approvalDigest(name, input), reason: error.message }];
}
