/** Whether the log of a session and its state say the same. */
import type { SessionEvent } from "../../src/core/event.ts";
import { applyPatch } from "../../src/core/base/json-patch.ts";
import type { JsonValue } from "../../src/core/base/json.ts";
import type { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import type { SessionSnapshot } from "../../src/runtime/snapshot.ts";
import { Broken } from "./broken.ts";

/** Folding the log of a session gives its state. */
export function checkState(session: RuntimeSession): void {
  checkFold(session.id, session.log, (toolset, key) => session.state(toolset, key));
}

/** Nothing is left of calls that were made in those of voided messages, at whatever depth. Returns how many there are. */
export function checkVoided(session: RuntimeSession): number {
  const voided = new Map<string, string>();
  let nested = 0;
  for (const event of session.log) {
    if (event.type === "round-end" && event.voided !== undefined) for (const callId of event.callIds) voided.set(callId, "");
  }
  for (const event of session.log) {
    if (event.type !== "call-start") continue;
    const isNested = event.parentCallId !== undefined && voided.has(event.parentCallId);
    if (isNested) nested++;
    if (!isNested && !voided.has(event.callId)) continue;
    voided.set(event.callId, String(asOrder(event.call.input)["tag"]));
    if (!session.wasRevoked(event.callId)) throw new Broken(16, `${event.callId} counts, and what it was made in is void.`);
  }
  const shown = session.messages({ maxTurns: 0 }).find((message) => "callId" in message && voided.has(message.callId));
  if (shown !== undefined) throw new Broken(16, `a model is shown ${JSON.stringify(shown)}, which is void.`);
  const notes = session.state("notes", "notes");
  const left = [...voided.values()].find((tag) => tag !== "" && Array.isArray(notes) && notes.includes(tag));
  if (left !== undefined) throw new Broken(16, `the state of ${session.id} has what "${left}" noted, which is void.`);
  return nested;
}

function asOrder(input: unknown): Readonly<Record<string, unknown>> {
  return typeof input === "object" && input !== null ? (input as Readonly<Record<string, unknown>>) : {}; // any object can be read so
}

/** A snapshot can be used, and its state is that of its events. */
export function checkSnapshot({ sessionId, events, state }: SessionSnapshot): void {
  checkFold(`the snapshot of ${sessionId}`, events, (toolset, key) => state[toolset]?.[key]);
}

function checkFold(whose: string, events: readonly SessionEvent[], stateOf: (toolset: string, key: string) => JsonValue | undefined): void {
  const state = new Map<string, { readonly toolset: string; readonly key: string; readonly value: JsonValue | undefined }>();
  for (const event of events) {
    if (event.type !== "state-change") continue;
    const { toolset, key, patch } = event;
    const at = `${toolset} ${key}`;
    state.set(at, { toolset, key, value: applyPatch(state.get(at)?.value, patch) });
  }
  for (const { toolset, key, value } of state.values()) {
    const real = stateOf(toolset, key);
    if (JSON.stringify(real) !== JSON.stringify(value))
      throw new Broken(5, `${key} of ${whose} is ${JSON.stringify(real)}, and its log says ${JSON.stringify(value)}.`);
  }
}

/** A session as far as a simulation must leave it alone. */
export function fingerprintOf(session: RuntimeSession): unknown {
  const log: readonly SessionEvent[] = session.log;
  return [session.id, session.closed, session.length, session.history.length, log.at(-1), stateOf(session)];
}

function stateOf(session: RuntimeSession): unknown {
  return ["notes", "last a", "last b", "last c"].map((key) => session.state("notes", key) ?? null);
}
