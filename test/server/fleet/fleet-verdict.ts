/** Compares what a store has of a fleet's sessions with the answers of clients and the effects that were counted. */
import { isDeepStrictEqual } from "node:util";
import type { ToolResult } from "../../../src/core/result.ts";
import type { Store } from "../../../src/core/store/store.ts";
import { withoutStorePlace } from "../../../src/server/store-failures.ts";
import type { EffectService } from "./effect-service.ts";
import { claimsOf, type Order } from "./fleet-orders.ts";

/** Those of clients, and one of each delegate. */
const MOST_SESSIONS = 100_000;

export interface StoreFacts {
  readonly jobs: number;
  readonly unknown: number;
  readonly results: Readonly<Record<string, number>>;
}

/** @throws Error that says what is wrong */
export async function checkStore(
  store: Store,
  { answers, service }: { readonly answers: ReadonlyMap<Order, readonly ToolResult[]>; readonly service: EffectService },
): Promise<StoreFacts> {
  const ended = new Map<string, ToolResult>();
  let jobs = 0;
  for (const { sessionId } of await store.list({ limit: MOST_SESSIONS })) jobs += await readSession(store, sessionId, ended);
  const results: Record<string, number> = {};
  let unknown = 0;
  for (const [{ key, sessionId, calls }, given] of answers) {
    for (const [index, result] of given.entries()) {
      const stored = ended.get(`${sessionId} ${result.callId}`);
      if (stored === undefined) throw new Error(`${result.callId} of ${key} was acknowledged, and is not stored.`);
      const isPlaceholder = result.status === "pending";
      if (!isPlaceholder && !isDeepStrictEqual(withoutProblem(result), JSON.parse(JSON.stringify(withoutStorePlace(stored)))))
        throw new Error(`${key} was answered ${JSON.stringify(result)}, and stored is ${JSON.stringify(stored)}.`);
      const what = `${stored.name} ${stored.error?.code ?? stored.status}`;
      results[what] = (results[what] ?? 0) + 1;
      if (stored.error?.code === "outcome_unknown") unknown++;
      requireDone(service, calls[index], stored);
    }
  }
  checkOnce(service);
  return { jobs, unknown, results };
}

/** The API adds a problem object to results that have an error. */
function withoutProblem(result: ToolResult): unknown {
  return Object.fromEntries(Object.entries(result).filter(([name]) => name !== "problem"));
}

/** Each call and each job ends once, and the log is whole. Returns how many jobs there were. */
async function readSession(store: Store, sessionId: string, ended: Map<string, ToolResult>): Promise<number> {
  const jobs = new Map<string, boolean>();
  for (let from: number | undefined = 1; from !== undefined;) {
    const { events, next, damage } = await store.read(sessionId, { from });
    if (damage !== undefined) throw new Error(`${sessionId} is damaged at ${damage.position}: ${damage.reason}`);
    for (const event of events) {
      if (event.type === "job-start") jobs.set(event.callId, false);
      if (event.type === "job-end") {
        if (jobs.get(event.callId) !== false) throw new Error(`The job ${event.callId} ended twice, or never began.`);
        jobs.set(event.callId, true);
      }
      if (event.type !== "call-end") continue;
      const place = `${sessionId} ${event.callId}`;
      if (ended.has(place)) throw new Error(`${event.callId} ended twice.`);
      ended.set(place, event.result);
    }
    from = next;
  }
  const open = [...jobs].find(([, hasEnded]) => !hasEnded);
  if (open !== undefined) throw new Error(`The job ${open[0]} of ${sessionId} never ended.`);
  return jobs.size;
}

function requireDone(service: EffectService, call: Order["calls"][number] | undefined, result: ToolResult): void {
  const { paid, bumped } = call === undefined ? { paid: [], bumped: [] } : claimsOf(call, result);
  for (const tag of paid) if (!service.paid.has(tag)) throw new Error(`${tag} is said to be paid, and was not.`);
  for (const tag of bumped) if (!service.bumped.has(tag)) throw new Error(`${tag} is said to be counted, and was not.`);
}

function checkOnce({ paid, bumped, lostUpdates }: EffectService): void {
  for (const [tag, times] of [...paid, ...bumped]) if (times > 1) throw new Error(`${tag} was done ${times} times.`);
  if (lostUpdates > 0) throw new Error(`${lostUpdates} changes of the counter were lost.`);
}
