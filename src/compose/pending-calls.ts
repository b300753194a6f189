/** The calls of a session that wait for approval, computed from its log, so that a restart loses none. */
import type { ApprovalAnswer } from "../core/approvals/ask.ts";
import type { SessionEvent } from "../core/event.ts";
import { copyJson, isJsonObject, type JsonObject } from "../core/base/json.ts";
import { approvalDigest } from "../policy/approval/approval-digest.ts";
import { getDefinitionFingerprint } from "../registry/definition-fingerprint.ts";
import type { Registry } from "../registry/registry.ts";
import type { RuntimeSession } from "../runtime/runtime-session.ts";
import { latestEvents } from "../session/latest-events.ts";

/** A call that ended `approval_required`, as it is shown to a person. */
export interface PendingCall {
  readonly callId: string;
  /** The tool's qualified name. */
  readonly name: string;
  /** The final input: exactly this input runs if it is approved. */
  readonly input: JsonObject;
  /** SHA-256 over name, definition and input, in hex. The answer is bound to it, and is void if the tool's definition changes. */
  readonly digest: string;
  /** The fingerprint of the tool's current definition. */
  readonly definition: string;
  readonly turnId: string;
  readonly reason: string;
}

/** A person's answers, by digest. Calls without an answer keep waiting. */
export type ApprovalDecisions = Readonly<Record<string, Exclude<ApprovalAnswer, "allow-input">>>;

type Started = SessionEvent & { readonly type: "call-start" };
type Ended = SessionEvent & { readonly type: "call-end" };

/** The parts of a session that `pendingCalls` reads. */
type PendingCallsSource = Pick<RuntimeSession, "length" | "log" | "logSince" | "firstKept" | "registry">;

/**
 * Returns the calls of the model's latest message that wait for approval, in call order; none after a later message.
 *
 * A round that only repeats waiting calls answers these, and the others keep waiting.
 */
export function pendingCalls(session: PendingCallsSource): readonly PendingCall[] {
  const { registry } = session;
  const starts = new Map<string, Started>();
  const ends = new Map<string, Ended>();
  const rounds: (readonly string[])[] = [];
  for (const event of eventsSinceUserMessage(session)) {
    if (event.type === "call-start") starts.set(event.callId, event);
    else if (event.type === "call-end") ends.set(event.callId, event);
    else if (event.type === "round-end" && event.voided === undefined) rounds.push(event.callIds);
  }
  let pending: readonly PendingCall[] = [];
  for (const callIds of rounds) {
    const stillPending = findStillPending(pending, callIds, starts);
    const waiting = callIds.flatMap((callId) => toPendingCalls(ends.get(callId), registry));
    pending = [...(stillPending ?? []), ...waiting];
  }
  return pending;
}

/** The events after the latest message of a user, oldest first. */
function eventsSinceUserMessage(session: PendingCallsSource): readonly SessionEvent[] {
  const events: SessionEvent[] = [];
  for (const event of latestEvents(session)) {
    if (event.type === "message-add" && event.message.role === "user") break;
    events.push(event);
  }
  return events.reverse();
}

/** Returns the calls that still wait after a round that repeated waiting calls; undefined if the round made any other call. */
function findStillPending(
  pending: readonly PendingCall[],
  callIds: readonly string[],
  starts: ReadonlyMap<string, Started>,
): readonly PendingCall[] | undefined {
  const stillPending = [...pending];
  for (const callId of callIds) {
    const made = identityOf(starts.get(callId));
    const index = stillPending.findIndex(({ name, input }) => made === approvalDigest({ toolName: name, input, definition: "" }));
    if (index < 0) return undefined;
    stillPending.splice(index, 1);
  }
  return stillPending;
}

/** Identifies the call by name and input, whatever the current definition of its tool. */
function identityOf(start: Started | undefined): string | undefined {
  const input = start?.call.input;
  return start === undefined || !isJsonObject(input) ? undefined : approvalDigest({ toolName: start.call.name, input, definition: "" });
}

function toPendingCalls(end: Ended | undefined, registry: Registry): readonly PendingCall[] {
  const { callId, turnId = "", result, input: shown = {} } = end ?? {};
  const { error, name = "" } = result ?? {};
  const input = copyJson(shown).value;
  if (callId === undefined || error?.code !== "approval_required" || !isJsonObject(input)) return [];
  const definition = getDefinitionFingerprint(registry, name);
  const digest = approvalDigest({ toolName: name, input, definition });
  return [{ callId, turnId, name, input, digest, definition, reason: error.message }];
}
