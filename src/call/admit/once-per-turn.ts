/** The tools that run once per turn, after a crash in the turn. */
import { runsOncePerTurn } from "./turn-rules.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";
import { describeThrown } from "../../core/error.ts";
import type { SessionEvent } from "../../core/event.ts";
import type { Log } from "../../core/ports.ts";
import { findCalledTool } from "../../registry/called-tool.ts";
import type { Registry } from "../../registry/registry.ts";
import { wholeLog } from "../../session/read-events.ts";
import type { SessionLog } from "../../session/session-log.ts";
import type { Turn } from "../../session/turn.ts";
import type { Session } from "../../session/session.ts";

type ResumedSession = Session & { readonly registry: Registry; readonly ports: { readonly log: Log } };

/** Reads the logs of the sessions that calls of a session began, such as those of delegates. */
export type ReadSessionsOf = (
  sessionId: string,
  callIds: readonly string[],
) => AsyncIterable<{ readonly sessionId: string; readonly log: SessionLog }>;

/** The uses of once-per-turn tools in one turn, with all nested calls. */
interface TurnUses {
  readonly names: Set<string>;
  /** The calls that may have begun a session. */
  readonly composites: string[];
}

/**
 * Restores the once-per-turn rule after a crash: notes the uses of such tools in the outermost turn of a call without a result, with all nested
 * calls, including those in sessions that belong to its calls. Calls that were not started, or were taken back, do not count. A tool that ends the
 * turn needs no note: calls after it were skipped when they arrived.
 */
export async function restoreOncePerTurn(
  session: ResumedSession,
  turn: Turn,
  callId: string,
  readSessionsOf: ReadSessionsOf,
): Promise<void> {
  const { registry, head, ports } = session;
  if (![...registry].some(({ tool }) => runsOncePerTurn(tool))) return; // a long log takes seconds to read
  const warn = (thrown: unknown, known: string): void =>
    ports.log.warn(`The tools that a turn has used are known only ${known}: ${describeThrown(thrown)}`);
  const { turns, rootOf } = await findUses(registry, head.log, wholeLog(session)).catch((thrown: unknown) => {
    warn(thrown, "from the latest events");
    return findUses(registry, head.log, session.log);
  });
  const own = turns.get(rootOf(callId) ?? "");
  if (own === undefined) return;
  own.names.forEach((name) => turn.useOnce(name));
  try {
    for await (const name of usesWithin(registry, { sessionId: session.id, callIds: own.composites }, readSessionsOf)) turn.useOnce(name);
  } catch (thrown: unknown) {
    warn(thrown, "from the session itself, not from those of its delegates");
  }
}

/** The once-per-turn tools that were used in the sessions that calls began, and in those that calls of these began. */
async function* usesWithin(
  registry: Registry,
  outermost: { readonly sessionId: string; readonly callIds: readonly string[] },
  readSessionsOf: ReadSessionsOf,
): AsyncGenerator<string> {
  const left = [outermost];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    for await (const { sessionId, log } of readSessionsOf(next.sessionId, next.callIds)) {
      const { turns } = await findUses(registry, log, log.events());
      for (const { names, composites } of turns.values()) {
        yield* names;
        left.push({ sessionId, callIds: composites });
      }
    }
  }
}

/** The once-per-turn tools that have been used, by the id of the outermost turn. */
async function findUses(
  registry: Registry,
  log: SessionLog,
  events: Iterable<SessionEvent> | AsyncIterable<SessionEvent>,
): Promise<{ readonly turns: ReadonlyMap<string, TurnUses>; readonly rootOf: (callId: string) => string | undefined }> {
  const roots = new Map<string, string>();
  const inputs = new Map<string, unknown>();
  const turns = new Map<string, TurnUses>();
  const usesOf = (root: string): TurnUses => getOrAdd(turns, root, () => ({ names: new Set(), composites: [] }));
  for await (const event of events) {
    if (event.type === "call-start") {
      const root = roots.get(event.parentCallId ?? "") ?? event.turnId;
      roots.set(event.callId, root);
      inputs.set(event.callId, event.call.input);
      if (mayBeginSession(registry, event.call.name)) usesOf(root).composites.push(event.callId);
    }
    if (event.type !== "call-end") continue;
    const { name, error } = event.result;
    const tool = findCalledTool(registry, name, event.input ?? inputs.get(event.callId))?.tool;
    inputs.delete(event.callId);
    const root = roots.get(event.callId);
    const isUse = tool !== undefined && runsOncePerTurn(tool) && error?.outcome !== "not_started" && !log.wasRevoked(event.callId);
    if (isUse && root !== undefined) usesOf(root).names.add(name);
  }
  return { turns, rootOf: (callId) => roots.get(callId) };
}

/** Whether a call of this name may have begun a session: one of a composite tool, or of a tool that no longer exists. */
function mayBeginSession(registry: Registry, name: string): boolean {
  const overloads = registry.overloads(name);
  return overloads.length === 0 || overloads.some(({ tool }) => tool.composite === true);
}
