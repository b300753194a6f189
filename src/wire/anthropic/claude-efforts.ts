/** How much Claude may be asked to reason, by the version in the name of a model. */
import type { JsonObject } from "../../core/base/json.ts";
import type { ToolChoice } from "../../core/model.ts";
import { effortsAs, type EffortFields } from "../reasoning-effort.ts";

/** Claude decides by itself when to think, guided by the effort. */
export const ADAPTIVE: JsonObject = { type: "adaptive" };
const DISABLED: JsonObject = { type: "disabled" };

const VERSION = /claude-(?:[a-z]+-)?v?(?<major>\d+)(?:[.-](?<minor>\d{1,2})(?!\d))?/u;
/** Models that always think. */
const ALWAYS_THINKS = /claude-(?:fable|mythos)/u;

/**
 * The efforts that a model can be asked for, as `thinking` and `effort`. Thinking is not asked for where a call is required, as the API refuses both at
 * once. Efforts came with Opus 4.5, thinking without a budget with 4.6; a name without a version is a new model.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/effort
 * @see https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking
 */
export function claudeEfforts(model: string, toolChoice: ToolChoice = "auto"): EffortFields {
  const version = versionOf(model);
  const none: EffortFields = ALWAYS_THINKS.test(model) ? {} : { none: version < 3.7 ? {} : { thinking: DISABLED } };
  if (version < 4.6 && !(version === 4.5 && model.includes("opus"))) return none;
  const thinks = version >= 4.6 && (toolChoice === "auto" || toolChoice === "none");
  return { ...none, ...effortsAs((effort) => (thinks ? { thinking: ADAPTIVE, effort } : { effort }), LEVELS) };
}

const LEVELS = ["low", "medium", "high"] as const;

function versionOf(model: string): number {
  const { major, minor } = VERSION.exec(model)?.groups ?? {};
  if (major === undefined) return Infinity;
  return Number(`${major}.${(minor ?? "0").slice(0, 1)}`);
}
