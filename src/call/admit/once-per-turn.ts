/** The tools that run once per turn, after a crash in the turn. */
import { runsOncePerTurn } from "./turn-rules.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";
import { describeThrown } from "../../core/error.ts";
import type { SessionEvent } from "../../core/event.ts";
import type { Log } from "../../core/ports.ts";
import { findCalledTool } from "../../registry/called-tool.ts";
import type { Registry } from "../../registry/registry.ts";
import { wholeLog } from "../../session/read-events.ts";
import type { Turn } from "../../session/turn.ts";
import type { Session } from "../../session/session.ts";

type ResumedSession = Session & { readonly registry: Registry; readonly ports: { readonly log: Log } };

/**
 * Restores the once-per-turn rule after a crash: notes the uses of such tools in the outermost turn of a call without a result, with all nested
 * calls. Calls that were not started, or were taken back, do not count. A tool that ends the turn needs no note: calls after it were skipped when
 * they arrived.
 */
export async function restoreOncePerTurn(session: ResumedSession, turn: Turn, callId: string): Promise<void> {
  if (![...session.registry].some(({ tool }) => runsOncePerTurn(tool))) return; // a long log takes seconds to read
  const uses = await findUses(session, callId, wholeLog(session)).catch((thrown: unknown) => {
    session.ports.log.warn(`The tools that a turn has used are known only from the latest events: ${describeThrown(thrown)}`);
    return findUses(session, callId, session.log);
  });
  for (const name of uses) turn.useOnce(name);
}

/** The once-per-turn tools that have been used in the outermost turn around a call. */
async function findUses(
  session: ResumedSession,
  callId: string,
  events: Iterable<SessionEvent> | AsyncIterable<SessionEvent>,
): Promise<ReadonlySet<string>> {
  const { head, registry } = session;
  const roots = new Map<string, string>();
  const inputs = new Map<string, unknown>();
  const uses = new Map<string, Set<string>>();
  for await (const event of events) {
    if (event.type === "call-start") {
      roots.set(event.callId, roots.get(event.parentCallId ?? "") ?? event.turnId);
      inputs.set(event.callId, event.call.input);
    }
    if (event.type !== "call-end") continue;
    const { name, error } = event.result;
    const tool = findCalledTool(registry, name, event.input ?? inputs.get(event.callId))?.tool;
    inputs.delete(event.callId);
    const root = roots.get(event.callId);
    const isUse = tool !== undefined && runsOncePerTurn(tool) && error?.outcome !== "not_started" && !head.log.wasRevoked(event.callId);
    if (isUse && root !== undefined) getOrAdd(uses, root, () => new Set<string>()).add(name);
  }
  return uses.get(roots.get(callId) ?? "") ?? new Set();
}
