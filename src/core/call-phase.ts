/** The phases of a call, as its `call-end` keeps them, so that its time can be drawn later. */
import type { ErrorCode } from "./error-codes.ts";

interface Phase {
  /** When it began, in milliseconds after the call's start. */
  readonly atMs: number;
  readonly ms: number;
}

/** One phase of a call: a wait of a millisecond or more, or an attempt. */
export type CallPhase =
  | (Phase & { readonly phase: "approval" | "slot" | "backoff" })
  | (Phase & {
      readonly phase: "lock";
      /** The ids of the calls that held what it waited for, when it began to wait; at most 20. */
      readonly holders: readonly string[];
    })
  | (Phase & {
      readonly phase: "attempt";
      /** Why it failed. */
      readonly error?: ErrorCode;
      /** It was given up, at its timeout or because the call was cancelled. */
      readonly abandoned?: true;
      /** How long its handler still ran after that; left out where it had not ended when the call did. */
      readonly lateMs?: number;
    });
