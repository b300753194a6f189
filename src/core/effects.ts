/** The reads and writes of a call, and whether it may be repeated or undone: one declaration that drives the runtime. */
import { checkText } from "./check-argument.ts";
import type { JsonObject } from "./base/json.ts";
import type { ResourceKeys } from "./resource-keys.ts";

/** The resources that a tool's calls touch, and how they may be treated. `Input` is the JSON that a model sends, as the tool's schema describes it. */
export interface Effects<Input = JsonObject> {
  readonly reads?: ResourceKeys<Input>;
  readonly writes?: ResourceKeys<Input>;
  /** Running it twice does what running it once does. @default false; a call that writes nothing always is */
  readonly idempotent?: boolean;
  /** It reaches outside this machine's own data (mail, payments, a remote service). @default false */
  readonly external?: boolean;
  /** It may destroy something: approval is asked. @default false */
  readonly destructive?: boolean;
  /** Writers of the same key may run at the same time, because their order does not matter. @default false */
  readonly commutative?: boolean;
  /**
   * Takes back what the call did; run when a batch with `onError: "throw"` fails after the handler succeeded, also where a hook kept its
   * answer back, or the call was cancelled before it had its result.
   */
  readonly undo?: (undo: UndoContext<Input>) => void | Promise<void>;
  /**
   * Finds out what became of a call that a crash interrupted, by its idempotency key. Return what it answered, or say that it
   * never happened, and it is run; return nothing when that is not known either. Asked when a session is resumed.
   */
  readonly reconcile?: (reconcile: ReconcileContext<Input>) => Reconciled | undefined | Promise<Reconciled | undefined>;
}

/** The outcome of an interrupted call. */
export type Reconciled = { readonly happened: true; readonly output: unknown } | { readonly happened: false };

/** The context of a tool that finds out the outcome of an interrupted call. */
export interface ReconcileContext<Input = JsonObject> {
  readonly callId: string;
  readonly toolName: string;
  readonly idempotencyKey: string;
  /** As given to `Runtime.resume`, or to the runtime. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly input: Input;
  readonly signal: AbortSignal;
}

/** The context of a tool that takes back a call. */
export interface UndoContext<Input = JsonObject> {
  readonly callId: string;
  readonly toolName: string;
  /** As the handler was given it. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly input: Input;
  /** The answer of the handler; undefined where that could not be recorded, or had not been when the call ended. */
  readonly output: unknown;
  readonly signal: AbortSignal;
}

/** The effects of one call, worked out from its input. */
export interface ResolvedEffects {
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  readonly lock: LockKeys;
  /** Nothing was declared, or it could not be used: the call writes everything of its toolset. */
  readonly undeclared: boolean;
  /** True when the call may be sent again although an earlier attempt may have had its effect. */
  readonly repeatable: boolean;
  readonly external: boolean;
  readonly destructive: boolean;
  readonly commutative: boolean;
  /** It changes more than the session's own state. */
  readonly writesWorld: boolean;
  /** Some of its keys are the session's own, and lock something else in every session. */
  readonly hasSessionKeys: boolean;
}

/**
 * The locks of a call. The keys besides those it declares place it in its toolset, so that the lock rules alone say who waits for whom:
 *
 * | the call | locks | so it waits for |
 * |---|---|---|
 * | undeclared | writes `toolset:x` | all of the toolset |
 * | reads without keys | reads `toolset:x` | every writer of the toolset |
 * | reads keys | reads `toolset:x/reads` and them | undeclared calls, writers of its keys |
 * | writes keys | writes them, each as itself and inside `toolset:x/writes` | undeclared calls, reads without keys, users of its keys |
 * | neither | nothing | none |
 *
 * Two writers meet inside `toolset:x/writes` only where their own keys meet.
 */
export interface LockKeys {
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  readonly commutative: boolean;
}

/** Touches nothing but its input: always safe to run, repeat and cache. */
export const pure: Effects<unknown> = Object.freeze({ reads: [], writes: [], idempotent: true });

/** Only reads, from the given keys. Without keys it reads all of its toolset. */
export function readOnly(...reads: readonly string[]): Effects<unknown> {
  for (const read of reads) checkText(read, "readOnly()", "each resource");
  return { ...(reads.length === 0 ? {} : { reads }), writes: [], idempotent: true };
}

/** Reaches outside and may not be repeated, such as sending a mail. */
export const external: Effects<unknown> = Object.freeze({ external: true });

/** True for the key of something that lives in the session's own state. */
export function isSessionKey(key: string): boolean {
  return key.startsWith("session:");
}

/** True when `inner` is `outer` or lies inside it. */
export function isInside(inner: string, outer: string): boolean {
  return (
    inner === outer || (inner.length > outer.length && inner.startsWith(outer) && (outer.endsWith("/") || inner[outer.length] === "/"))
  );
}

/** True for a tool that says what it reads and that it writes nothing, whatever its input. */
export function declaresNoWrites(effects: Effects<never> | undefined): boolean {
  if (effects?.writes === undefined) return effects?.reads !== undefined;
  return Array.isArray(effects.writes) && effects.writes.length === 0;
}
