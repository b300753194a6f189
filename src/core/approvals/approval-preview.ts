/** The preview of a call: what it would change, for the person who approves it. */
import type { JsonPatch } from "../base/json-patch.ts";
import type { JsonObject, JsonValue } from "../base/json.ts";

/** The result of simulating a call, or the reason why there is none. Plain JSON of limited size. */
export type ApprovalPreview = { readonly available: false; readonly reason: string } | ({ readonly available: true } & PreviewedEffects);

/** The changes that a call would make, according to a simulation. */
export interface PreviewedEffects {
  /** The values of the session's state that would change. */
  readonly state: readonly PreviewedChange[];
  /** The calls that the call would make; none unless it is composite, like a program or chain. */
  readonly calls: readonly PreviewedCall[];
  /** The resources that would be written, as the tools name them. */
  readonly writes: readonly string[];
  /** The call's simulated answer, as text. Some toolsets describe there what the call would do to files. Left out if it is a generated example. */
  readonly answer?: string;
  /** Set if parts were left out because the preview was too large. */
  readonly isCut?: true;
}

/** A state value before and after the call. */
export interface PreviewedChange {
  readonly toolset: string;
  readonly key: string;
  /** Left out if the value does not exist before the call. */
  readonly before?: JsonValue;
  /** Left out if the value would not exist after the call. */
  readonly after?: JsonValue;
  readonly patch: JsonPatch;
}

/** A call that the previewed call would make. */
export interface PreviewedCall {
  readonly toolName: string;
  readonly input: JsonObject;
  /** How the call ended in the simulation: `ok`, or the code of its error. */
  readonly outcome: string;
}
