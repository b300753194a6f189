/** The reads and writes of a call, and whether it may be repeated or undone: one declaration that controls locks, retries, caching and simulation. */
import { checkString } from "../check-argument.ts";
import type { JsonObject } from "../base/json.ts";
import type { ResourceKeys } from "./resource-keys.ts";

/**
 * The resources that a tool's calls use, and how the calls may be treated. `Input` is the JSON that a model sends, as described by the tool's schema.
 */
export interface Effects<Input = JsonObject> {
  readonly reads?: ResourceKeys<Input>;
  readonly writes?: ResourceKeys<Input>;
  /** Whether running a call twice has the same effect as running it once. @default false; always true for a call that writes nothing */
  readonly idempotent?: boolean;
  /** Whether a call reaches beyond this machine's own data (mail, payments, a remote service). @default false */
  readonly external?: boolean;
  /** Whether a call may destroy something, and so needs approval. @default false */
  readonly destructive?: boolean;
  /** Whether writers of the same key may run concurrently, because their order does not matter. @default false */
  readonly commutative?: boolean;
  /**
   * Undoes the call. Called if a batch with `onError: "throw"` fails after the handler succeeded, even if a hook withheld its answer, or the call was
   * cancelled before it had its result.
   */
  readonly undo?: (undo: UndoContext<Input>) => void | Promise<void>;
  /**
   * Finds out what happened to a call that a crash interrupted, by its idempotency key. Return its answer; or that it did not happen, and the call is
   * run; or nothing if that is unknown. Called when a session is resumed.
   */
  readonly reconcile?: (reconcile: ReconcileContext<Input>) => Reconciled | undefined | Promise<Reconciled | undefined>;
}

/** The outcome of an interrupted call. */
export type Reconciled = { readonly happened: true; readonly output: unknown } | { readonly happened: false };

/** The context for `reconcile`. */
export interface ReconcileContext<Input = JsonObject> {
  readonly callId: string;
  readonly toolName: string;
  readonly idempotencyKey: string;
  /** The data passed to `Runtime.resume`, or to the runtime. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly input: Input;
  readonly signal: AbortSignal;
}

/** The context for `undo`. */
export interface UndoContext<Input = JsonObject> {
  readonly callId: string;
  readonly toolName: string;
  /** The data that the handler got. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly input: Input;
  /** The answer of the handler; undefined if it could not be recorded, or had not been when the call ended. */
  readonly output: unknown;
  readonly signal: AbortSignal;
}

/** The effects of one call, computed from its input. */
export interface ResolvedEffects {
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  readonly lock: LockKeys;
  /** Whether the effects were undeclared or unusable: the call then writes everything of its toolset. */
  readonly undeclared: boolean;
  /** Whether the call may be sent again although an earlier attempt may have had its effect. */
  readonly repeatable: boolean;
  readonly external: boolean;
  readonly destructive: boolean;
  readonly commutative: boolean;
  /** Whether the call changes more than the session's own state. */
  readonly writesWorld: boolean;
  /** Whether some of its keys are the session's own: these lock something different in each session. */
  readonly hasSessionKeys: boolean;
}

/**
 * The locks of a call. Besides the keys that it declares, it locks keys of its toolset, so that the lock rules alone determine which calls wait:
 *
 * | the call | locks | so it waits for |
 * |---|---|---|
 * | undeclared | writes `toolset:x` | all of the toolset |
 * | reads without keys | reads `toolset:x` | every writer of the toolset |
 * | reads keys | reads `toolset:x/reads` and them | undeclared calls, writers of its keys |
 * | writes keys | writes them, each as itself and inside `toolset:x/writes` | undeclared calls, reads without keys, users of its keys |
 * | neither | nothing | none |
 *
 * Two writers conflict inside `toolset:x/writes` only if their own keys conflict.
 */
export interface LockKeys {
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  readonly commutative: boolean;
}

/** Effects of a tool that uses nothing but its input: always safe to run, repeat and cache. */
export const pure: Effects<unknown> = Object.freeze({ reads: [], writes: [], idempotent: true });

/** Effects of a tool that only reads, from the given keys. Without keys it reads everything of its toolset. */
export function readOnly(...reads: readonly string[]): Effects<unknown> {
  for (const read of reads) checkString(read, "readOnly()", "each resource");
  return { ...(reads.length === 0 ? {} : { reads }), writes: [], idempotent: true };
}

/** Effects of a tool that reaches outside and may not be repeated, such as sending a mail. */
export const external: Effects<unknown> = Object.freeze({ external: true });

/** Whether a key names something in the session's own state. */
export function isSessionKey(key: string): boolean {
  return key.startsWith("session:");
}

/** Whether `inner` is `outer` or lies inside it. */
export function isSameOrInside(inner: string, outer: string): boolean {
  return (
    inner === outer || (inner.length > outer.length && inner.startsWith(outer) && (outer.endsWith("/") || inner[outer.length] === "/"))
  );
}

/** Whether a tool declares its reads and that it writes nothing, for every input. */
export function declaresNoWrites(effects: Effects<never> | undefined): boolean {
  if (effects?.writes === undefined) return effects?.reads !== undefined;
  return Array.isArray(effects.writes) && effects.writes.length === 0;
}
