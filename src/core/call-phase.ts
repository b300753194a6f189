/** The phases of a call, as its `call-end` records them for a timeline. */
import type { ErrorCode } from "./error-codes.ts";

interface Phase {
  /** When the phase began, in milliseconds after the call's start. */
  readonly atMs: number;
  readonly ms: number;
}

/** One phase of a call: a wait of a millisecond or more, or an attempt. */
export type CallPhase =
  | (Phase & { readonly phase: "approval" | "slot" | "backoff" })
  | (Phase & {
      readonly phase: "lock";
      /** The ids of the calls that held the resources when this call began to wait; at most 20. */
      readonly holders: readonly string[];
    })
  | (Phase & {
      readonly phase: "attempt";
      /** Why the attempt failed. */
      readonly error?: ErrorCode;
      /** Set if the attempt was abandoned, at its timeout or because the call was cancelled. */
      readonly abandoned?: true;
      /** How long the handler continued after that, in milliseconds; left out if it was still running when the call ended. */
      readonly lateMs?: number;
    });
