/** The reasoning efforts that a provider, or one of its models, supports. */
import type { JsonObject } from "../core/base/json.ts";
import { REASONING_EFFORTS, checkReasoningEffort, type ModelRequest, type ReasoningEffort } from "../core/model.ts";
import type { WireNote } from "./wire-format.ts";

/** The request fields by effort; empty for the model's default. A missing effort cannot be requested. */
export type EffortFields = Readonly<Partial<Record<ReasoningEffort, JsonObject>>>;

/** Writes the same field for each of some efforts. */
export function mapEfforts(
  write: (effort: ReasoningEffort) => JsonObject,
  efforts: readonly ReasoningEffort[] = REASONING_EFFORTS,
): EffortFields {
  return Object.fromEntries(efforts.map((effort) => [effort, write(effort)]));
}

/**
 * Returns the request fields for the request's effort; none if it has none, or if the effort cannot be requested, with a note.
 *
 * @throws ToolError `invalid_argument` for an effort that does not exist
 */
export function effortFields(
  { reasoningEffort: effort }: ModelRequest,
  { format, model, efforts }: { readonly format: string; readonly model: string; readonly efforts: EffortFields },
  notes: WireNote[],
): JsonObject {
  if (effort === undefined) return {};
  checkReasoningEffort(effort, "reasoningEffort of a request");
  const fields = efforts[effort];
  if (fields !== undefined) return fields;
  const known = REASONING_EFFORTS.filter((one) => efforts[one] !== undefined);
  const instead = known.length === 0 ? "" : `, only for ${known.map((one) => JSON.stringify(one)).join(", ")}`;
  notes.push({ kind: "unsupported", note: `${format} cannot ask ${model} for the reasoning effort "${effort}"${instead}.` });
  return {};
}

/** Returns the note about a temperature that was left out. */
export function noTemperatureNote(format: string, model: string): WireNote {
  return { kind: "unsupported", note: `${format} takes no temperature for ${model} in such a request.` };
}
