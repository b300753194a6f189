/** One conversation: its log, its state, its turns. */
import type { ToolCall } from "../core/call.ts";
import type { ToolState } from "../core/context.ts";
import { ToolError } from "../core/error.ts";
import type { RuntimeEvent } from "../core/event.ts";
import { copyJson } from "../core/json.ts";
import type { JsonValue } from "../core/json.ts";
import type { Ids } from "../core/ports.ts";
import type { ToolResult } from "../core/result.ts";

/** One call and its one result; the result is undefined while the call runs. */
export interface HistoryEntry {
  readonly callId: string;
  readonly turnId: string;
  readonly call: ToolCall;
  readonly result: ToolResult | undefined;
}

const NO_EVENTS: readonly RuntimeEvent[] = Object.freeze([]);

/**
 * The log and state that calls of one conversation share.
 *
 * The log only grows: a batch that was rolled back stays in it, and leaves `history`. State values are frozen
 * JSON under keys private to each toolset.
 */
export class Session {
  readonly recorded: boolean;
  readonly #ids: Ids;
  #id: string | undefined;
  #closed = false;
  #log: RuntimeEvent[] | undefined;
  #state: Map<string, JsonValue> | undefined;

  constructor(options: { readonly ids: Ids; readonly id?: string; readonly recorded: boolean }) {
    this.#ids = options.ids;
    this.#id = options.id;
    this.recorded = options.recorded;
  }

  get id(): string {
    return (this.#id ??= this.#ids.next("session"));
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Ends the session: its calls are refused from now on. Idempotent. */
  close(): void {
    this.#closed = true;
  }

  /** True while a later call of the session can read a result that was cut. */
  get keepsResults(): boolean {
    return this.recorded && !this.#closed;
  }

  /** Everything that was recorded, oldest first. */
  get log(): readonly RuntimeEvent[] {
    return this.#log ?? NO_EVENTS;
  }

  record(event: RuntimeEvent): void {
    (this.#log ??= []).push(event);
  }

  /** Every call in the order it arrived, each with its result, without the batches that were rolled back. */
  get history(): readonly HistoryEntry[] {
    const entries = new Map<string, HistoryEntry>();
    for (const event of this.log) {
      if (event.type === "call-start")
        entries.set(event.callId, { callId: event.callId, turnId: event.turnId, call: event.call, result: undefined });
      else if (event.type === "batch-rollback") for (const callId of event.callIds) entries.delete(callId);
      else if (event.type === "call-end") addResult(entries, event.callId, event.result);
    }
    return [...entries.values()];
  }

  /** The state that the tools of one toolset see. */
  stateOf(toolset: string): ToolState {
    const prefix = `${toolset}\u0000`;
    return {
      get: (key) => this.#state?.get(prefix + key),
      update: (key, change) => this.#update(prefix + key, change),
    };
  }

  #update(key: string, change: (before: JsonValue | undefined) => JsonValue | undefined): void {
    const after = change(this.#state?.get(key));
    if (after === undefined) this.#state?.delete(key);
    else (this.#state ??= new Map()).set(key, copyJson(after).value);
  }
}

function addResult(entries: Map<string, HistoryEntry>, callId: string, result: ToolResult): void {
  const entry = entries.get(callId);
  if (entry !== undefined) entries.set(callId, { ...entry, result });
}

/** From one input to the loop's end: what once-per-turn rules and the end of a turn hang on. */
export class Turn {
  readonly session: Session;
  readonly #ids: Ids;
  #id: string | undefined;
  #used: Set<string> | undefined;
  #changes: Map<string, StateChange> | undefined;
  /** The tool that ended the turn; calls after it are skipped. */
  endedBy: string | undefined;

  constructor(session: Session, ids: Ids) {
    this.session = session;
    this.#ids = ids;
  }

  get id(): string {
    return (this.#id ??= this.#ids.next("turn"));
  }

  /** Takes the one use of a once-per-turn tool; an error when it was taken before. */
  useOnce(qualifiedName: string): ToolError | undefined {
    this.#used ??= new Set();
    if (this.#used.has(qualifiedName)) {
      return new ToolError("limit_exceeded", `${qualifiedName} may run once a turn, and has run in this one.`, {
        hint: "Call it again in the next turn.",
      });
    }
    this.#used.add(qualifiedName);
    return undefined;
  }

  /** The state that the tools of one toolset see, with each change noted so that it can be taken back. */
  stateOf(toolset: string): ToolState {
    const state = this.session.stateOf(toolset);
    return {
      get: (key) => state.get(key),
      update: (key, change) => {
        const before = state.get(key);
        state.update(key, change);
        this.#note(`${toolset}\u0000${key}`, { state, key, before, after: state.get(key) });
      },
    };
  }

  /** Takes back what this turn changed in the state, except where another turn has changed it since. */
  rollBack(): void {
    for (const { state, key, before, after } of this.#changes?.values() ?? [])
      if (state.get(key) === after) state.update(key, () => before);
  }

  #note(place: string, change: StateChange): void {
    this.#changes ??= new Map();
    const earlier = this.#changes.get(place);
    this.#changes.set(place, earlier === undefined ? change : { ...change, before: earlier.before });
  }
}

interface StateChange {
  readonly state: ToolState;
  readonly key: string;
  /** The value before the turn's first change of the key. */
  readonly before: JsonValue | undefined;
  /** The value after its last. */
  readonly after: JsonValue | undefined;
}
