/** A reference model of registry, cache, retries and history: what a sequence of commands comes to if calls were made one after the other. */

export const NAMES = ["a", "b", "c"] as const;
export const ITEMS = 2;
export const SESSIONS = 2;
export const RETRY_MS = 3;

/** A tool that reads one item, or adds 1 to it. */
export interface ToolPlan {
  readonly name: (typeof NAMES)[number];
  readonly writes: boolean;
  readonly scope: "turn" | "session" | "runtime" | undefined;
  readonly ttlMs: number | undefined;
  readonly maxAttempts: number;
}

export interface CallPlan {
  readonly name: (typeof NAMES)[number];
  /** An index of the items, or something that the schema of every tool refuses. */
  readonly item: number | string;
  /** How many attempts of the handler fail before one succeeds. */
  readonly fails: number;
}

export type Command =
  | { readonly kind: "register"; readonly tool: ToolPlan }
  | { readonly kind: "unregister"; readonly name: (typeof NAMES)[number] }
  | { readonly kind: "execute"; readonly session: number; readonly calls: readonly CallPlan[] }
  | { readonly kind: "advance"; readonly ms: number }
  | { readonly kind: "renew"; readonly session: number };

export interface ModelResult {
  readonly status: "ok" | "error";
  readonly code: string | undefined;
  readonly origin: "live" | "cache";
  readonly attempts: number;
  readonly output: unknown;
}

interface Registered {
  readonly plan: ToolPlan;
  /** A number that no other registration has. */
  readonly version: number;
}

interface CachedResult {
  readonly version: number;
  readonly item: number;
  /** The turn, the session or the runtime that it may be used in. */
  readonly place: string;
  readonly endsAt: number;
  readonly output: unknown;
}

export class CallModel {
  readonly tools = new Map<string, Registered>();
  readonly items: number[] = Array.from({ length: ITEMS }, () => 0);
  /** Of each session, the results in the order of their calls. */
  histories: (readonly ModelResult[])[] = Array.from({ length: SESSIONS }, () => []);
  /** Attempts of handlers so far. */
  attempts = 0;
  /** Milliseconds since the beginning. */
  now = 0;
  #versions = 0;
  #turns = 0;
  #renewals = 0;
  readonly #places = Array.from({ length: SESSIONS }, (_, index) => `session ${index}`);
  #cache: CachedResult[] = [];

  /** Returns the number of the registration; undefined if it is refused. */
  register(plan: ToolPlan): number | undefined {
    const isRefused = this.tools.has(plan.name) || (plan.writes && plan.scope !== undefined);
    if (isRefused) return undefined;
    this.tools.set(plan.name, { plan, version: ++this.#versions });
    return this.#versions;
  }

  get nextVersion(): number {
    return this.#versions + 1;
  }

  unregister(name: string): boolean {
    return this.tools.delete(name);
  }

  advance(ms: number): void {
    this.now += ms;
  }

  /** Closes a session, and begins another in its place. */
  renew(session: number): void {
    this.#places[session] = `renewed ${++this.#renewals}`;
    this.histories[session] = [];
  }

  execute(session: number, calls: readonly CallPlan[]): readonly ModelResult[] {
    this.#turns++;
    const results = calls.map((call) => this.#call(session, call));
    this.histories[session] = [...(this.histories[session] ?? []), ...results];
    return results;
  }

  #call(session: number, { name, item, fails }: CallPlan): ModelResult {
    const tool = this.tools.get(name);
    if (tool === undefined) return failed("not_found", 0);
    if (typeof item === "string") return failed("invalid_input", 0);
    const { plan, version } = tool;
    const place = plan.scope === undefined ? undefined : this.#placeOf(plan.scope, session);
    const hit = this.#cache.find((one) => one.version === version && one.item === item && one.place === place && this.now < one.endsAt);
    if (hit !== undefined) return { status: "ok", code: undefined, origin: "cache", attempts: 0, output: hit.output };
    if (plan.writes) this.#cache = this.#cache.filter((one) => one.item !== item);
    const attempts = Math.min(fails + 1, plan.maxAttempts);
    this.attempts += attempts;
    this.now += RETRY_MS * (attempts - 1);
    if (fails >= attempts) return failed("unavailable", attempts);
    if (plan.writes) this.items[item] = (this.items[item] ?? 0) + 1;
    const output = { version, value: this.items[item] };
    if (place !== undefined) this.#cache.push({ version, item, place, output, endsAt: this.now + (plan.ttlMs ?? Infinity) });
    return { status: "ok", code: undefined, origin: "live", attempts, output };
  }

  #placeOf(scope: NonNullable<ToolPlan["scope"]>, session: number): string | undefined {
    return scope === "turn" ? `turn ${this.#turns}` : scope === "session" ? this.#places[session] : "runtime";
  }
}

function failed(code: string, attempts: number): ModelResult {
  return { status: "error", code, origin: "live", attempts, output: undefined };
}
