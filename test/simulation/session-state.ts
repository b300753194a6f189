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
