/** The once-per-turn rule after a crash: the calls of a turn that had ended count as they did before. */
import type { SessionEvent } from "../core/event.ts";
import { runsOnce } from "../call/turn-rules.ts";
import type { Turn } from "../session/turn.ts";
import type { RuntimeSession } from "./runtime-session.ts";

/**
 * Notes the uses of once-per-turn tools in the turn of a call without a result, and in all that was made in it. Calls that were not started,
 * or were taken back, do not count. A tool that ends the turn needs nothing here: calls after it were skipped as they came.
 */
export function enterAgain(session: RuntimeSession, turn: Turn, callId: string): void {
  const { log } = session.head;
  const events = session.log;
  const roots = outermostTurns(events);
  const root = roots.get(callId);
  for (const event of events) {
    if (event.type !== "call-end" || roots.get(event.callId) !== root || log.wasTakenBack(event.callId)) continue;
    const { name, error } = event.result;
    const tool = error?.outcome === "not_started" ? undefined : session.registry.get(name)?.tool;
    if (tool !== undefined && runsOnce(tool)) turn.useOnce(name);
  }
}

/** By the id of a call, the turn of the outermost call that it was made in. */
function outermostTurns(events: readonly SessionEvent[]): ReadonlyMap<string, string> {
  const turns = new Map<string, string>();
  for (const event of events) if (event.type === "call-start") turns.set(event.callId, turns.get(event.parentCallId ?? "") ?? event.turnId);
  return turns;
}
