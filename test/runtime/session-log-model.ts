/** What the reference model keeps of a session, and what its log comes to. */
import type { JsonValue } from "../../src/core/base/json.ts";
import { KEYS, RULES, type CallPlan } from "./session-plan.ts";

export interface ModelResult {
  readonly status: string;
  readonly code?: string | undefined;
  readonly output?: JsonValue | undefined;
  readonly origin: string;
  readonly attempts: number;
}

/** A call that was begun; begun again when its session is resumed after a crash. */
export interface Call {
  readonly plan: CallPlan;
  readonly batch: Batch;
  readonly ended: PromiseWithResolvers<void>;
  result: ModelResult | undefined;
  attempts: number;
  seen: JsonValue[];
}

export interface Batch {
  readonly plans: readonly CallPlan[];
  readonly throwOnError: boolean;
  readonly key: string | undefined;
  readonly aborted: PromiseWithResolvers<void> & { yes: boolean };
  calls: readonly Call[];
}

export type State = Readonly<Record<string, JsonValue | undefined>>;

interface Change {
  readonly type: "change";
  readonly call: Call;
  readonly key: string;
  readonly before: JsonValue | undefined;
  readonly after: JsonValue | undefined;
}

export type Entry =
  | { readonly type: "start" | "commit" }
  | { readonly type: "batch"; readonly owner: string; readonly batch: Batch; readonly calls: readonly Call[] }
  | { readonly type: "call" | "intent" | "resolve"; readonly call: Call }
  | { readonly type: "end"; readonly call: Call; readonly result: ModelResult }
  | Change
  | { readonly type: "rollback"; readonly calls: readonly Call[] };

/** Why an operation was refused, or a batch rolled back. */
export class Refusal extends Error {
  readonly code: string;
  readonly results: readonly ModelResult[] | undefined;

  constructor(code: string, results?: readonly ModelResult[]) {
    super(code);
    this.code = code;
    this.results = results;
  }
}

export interface Beginning {
  readonly name: string;
  readonly stored: boolean;
  readonly log: Entry[];
  readonly state: State;
  readonly base?: number;
  readonly parent?: ModelSession;
  readonly simulated?: boolean;
  readonly allow?: boolean;
}

/** A batch that may be submitted again. */
interface Submitted {
  readonly digest: string;
  readonly results: Promise<readonly ModelResult[]>;
  isOver: boolean;
}

export class ModelSession {
  readonly name: string;
  readonly stored: boolean;
  readonly parent: ModelSession | undefined;
  readonly simulated: boolean;
  /** Its calls happen for real although it is a simulation. */
  readonly allow: boolean;
  readonly log: Entry[];
  /** How much of the log is its parent's, and the state it began with. */
  readonly base: number;
  readonly baseState: State;
  state: State;
  /** How much of the log survives a crash. */
  durable: number;
  ready: Promise<void> = Promise.resolve();
  /** Resolves when every turn that was asked for is over. */
  turns: Promise<unknown> = Promise.resolve();
  /** What the session was when the turn that runs began. */
  head: { readonly length: number; readonly state: State } | undefined;
  closed = false;
  committed = false;
  /** The store has nothing of it any more. */
  removed = false;
  readonly keys = new Map<string, Submitted>();

  constructor({ name, stored, log, state, base = log.length, parent, simulated = false, allow = false }: Beginning) {
    this.name = name;
    this.stored = stored;
    this.parent = parent;
    this.simulated = simulated;
    this.allow = allow;
    this.log = log;
    this.base = base;
    this.baseState = state;
    this.state = state;
    this.durable = log.length;
  }

  /** The call would write, and this is a simulation. */
  pretends({ tool }: CallPlan): boolean {
    return this.simulated && !this.allow && RULES[tool].writesWorld;
  }

  /** Which of its own batches may be submitted again: those that were not rolled back. */
  rememberSubmissions(): void {
    const rolledBack = new Set(this.log.flatMap((entry) => (entry.type === "rollback" ? entry.calls : [])));
    for (const entry of this.log) {
      if (entry.type !== "batch" || entry.owner !== this.name || entry.batch.key === undefined) continue;
      const results = Promise.resolve(entry.calls.flatMap((call) => call.result ?? []));
      const submitted = { digest: JSON.stringify(entry.batch.plans), results, isOver: true };
      if (!entry.calls.some((call) => rolledBack.has(call))) this.keys.set(entry.batch.key, submitted);
    }
  }
}

/** `none`: there is no store; `memory`: it keeps everything at once; `disk`: it keeps what was flushed, and is waited for. */
export type Keeping = "none" | "memory" | "disk";

export function newBatch(
  plans: readonly CallPlan[],
  options: { readonly throwOnError?: boolean; readonly key?: string | undefined } = {},
): Batch {
  const aborted = Object.assign(Promise.withResolvers<void>(), { yes: false });
  return { plans, throwOnError: options.throwOnError ?? false, key: options.key, aborted, calls: [] };
}

export function beginCall(plan: CallPlan, batch: Batch): Call {
  return { plan, batch, ended: Promise.withResolvers<void>(), result: undefined, attempts: 0, seen: [] };
}

/** What the changes come to. */
export function stateOf(log: readonly Entry[]): State {
  const state: Record<string, JsonValue | undefined> = {};
  for (const entry of log) if (entry.type === "change") state[entry.key] = entry.after;
  return state;
}

/** Every call in the order they began, with its result, without the batches that were rolled back. */
export function historyOf(log: readonly Entry[]): readonly { readonly n: number; readonly result: ModelResult | undefined }[] {
  const rolledBack = new Set(log.flatMap((entry) => (entry.type === "rollback" ? entry.calls : [])));
  const results = new Map(log.flatMap((entry) => (entry.type === "end" ? [[entry.call, entry.result] as const] : [])));
  return log.flatMap((entry) =>
    entry.type === "call" && !rolledBack.has(entry.call) ? [{ n: entry.call.plan.n, result: results.get(entry.call) }] : [],
  );
}

/** The log with its unfinished calls begun again, and those calls. */
export function restartCalls(log: readonly Entry[]): { readonly log: Entry[]; readonly open: readonly Call[] } {
  const ended = new Set(log.map((entry) => (entry.type === "end" ? entry.call : undefined)));
  const open = log.flatMap((entry) => (entry.type === "call" && !ended.has(entry.call) ? [entry.call] : []));
  const batches = new Map(open.map(({ batch }) => [batch, newBatch(batch.plans)])); // nobody aborts it any more, nor waits for it
  const restarted = new Map(open.map((call) => [call, beginCall(call.plan, batches.get(call.batch) ?? call.batch)]));
  const renew = (call: Call): Call => restarted.get(call) ?? call;
  const renewed = log.map((entry): Entry => {
    if ("calls" in entry) return { ...entry, calls: entry.calls.map(renew) };
    return "call" in entry ? { ...entry, call: renew(entry.call) } : entry;
  });
  return { log: renewed, open: [...restarted.values()] };
}

/** The change of each value to take back: the first of the latest ones, as far as only unfinished calls made them. */
export function unfinishedChanges(log: readonly Entry[], open: readonly Call[]): readonly Change[] {
  const changes = log.filter((entry) => entry.type === "change");
  return KEYS.flatMap((key) => {
    const ofKey = changes.filter((change) => change.key === key);
    return ofKey.slice(ofKey.findLastIndex((change) => !open.includes(change.call)) + 1).slice(0, 1);
  });
}

export function withoutUndefined(state: State): Readonly<Record<string, JsonValue>> {
  return Object.fromEntries(Object.entries(state).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])));
}
