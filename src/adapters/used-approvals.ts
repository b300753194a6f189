/** Which approvals in a framework's messages calls of a session have used: each counts for one call, as the same messages may be sent again. */
import type { HistoryEntry } from "../core/history.ts";
import type { RuntimeSession } from "../runtime/runtime-session.ts";

/** A call for which an approval is looked for. */
export interface ApprovedCall {
  readonly qualifiedName: string;
  readonly id: string;
}

const OF_SESSIONS = new WeakMap<RuntimeSession, UsedApprovals>();

export class UsedApprovals {
  readonly #session: RuntimeSession | undefined;
  readonly #used = new Set<unknown>();
  /** How many calls of each tool and id were made before the first approval was looked for: in an earlier process, or in the session that was forked. */
  #earlier: Map<string, number> | undefined;

  constructor(session?: RuntimeSession) {
    this.#session = session;
  }

  /** The approvals used in a session. Undefined without a session: an approval then counts each time that it is sent. */
  static of(session: RuntimeSession | undefined): UsedApprovals | undefined {
    if (session === undefined) return undefined;
    const known = OF_SESSIONS.get(session) ?? new UsedApprovals(session);
    OF_SESSIONS.set(session, known);
    return known;
  }

  /** Whether one of the approvals is unused; it then is used. `ids` are the approvals of this call, in the order in which they were given. */
  use(call: ApprovedCall, ids: readonly unknown[]): boolean {
    this.#passEarlier(call, ids);
    const unused = ids.find((id) => !this.#used.has(id));
    if (unused === undefined) return false;
    this.#used.add(unused);
    return true;
  }

  /** Counts the first approvals as used by the earlier calls. */
  #passEarlier(call: ApprovedCall, ids: readonly unknown[]): void {
    this.#earlier ??= countStarted(this.#session?.history ?? []);
    const key = keyOf(call.qualifiedName, call.id);
    let left = this.#earlier.get(key) ?? 0;
    for (const id of ids) {
      if (left === 0) break;
      if (this.#used.has(id)) continue;
      this.#used.add(id);
      left--;
    }
    this.#earlier.set(key, left);
  }
}

/** Counts calls by tool and id, without those that certainly did not begin. */
function countStarted(history: readonly HistoryEntry[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { call, result } of history) {
    if (call.id === undefined || result?.error?.outcome === "not_started") continue;
    const key = keyOf(call.name, call.id);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

function keyOf(qualifiedName: string, id: string): string {
  return JSON.stringify([qualifiedName, id]);
}
