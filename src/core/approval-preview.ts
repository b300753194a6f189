/** The preview of a call: its changes, for the person who is asked about it. */
import type { JsonPatch } from "./base/json-patch.ts";
import type { JsonObject, JsonValue } from "./base/json.ts";

/** The result of simulating a call, or the reason why there is none. Plain JSON, of a limited size. */
export type ApprovalPreview = { readonly available: false; readonly reason: string } | ({ readonly available: true } & PreviewedEffects);

/** The changes that a call would make, by a simulation of it. */
export interface PreviewedEffects {
  /** Values of the session's state that would differ. */
  readonly state: readonly PreviewedChange[];
  /** The calls that it would make: one that is no program or chain makes none. */
  readonly calls: readonly PreviewedCall[];
  /** The resources that it would write, in the words of the tools. */
  readonly writes: readonly string[];
  /** The answer that the call would have, as text: a toolset that can tell says there what it would do to files. Left out where a generated example answered. */
  readonly answer?: string;
  /** Parts were left out, as it would be too large. */
  readonly isCut?: true;
}

/** A value of the state as it is, and as it would be. */
export interface PreviewedChange {
  readonly toolset: string;
  readonly key: string;
  /** Left out where there is no such value. */
  readonly before?: JsonValue;
  /** Left out where there would be none any more. */
  readonly after?: JsonValue;
  readonly patch: JsonPatch;
}

/** A call that the call would make. */
export interface PreviewedCall {
  readonly toolName: string;
  readonly input: JsonObject;
  /** How it ended in the simulation: `ok`, or the code of its error. */
  readonly outcome: string;
}
