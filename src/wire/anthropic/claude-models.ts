/**
 * The settings that Claude models take, by the family and the version in their names. A family without a version is a new model. For third-party
 * models that use the format, and for names without family and version (`my-claude`), requested settings are sent unchanged.
 */
import type { JsonObject } from "../../core/base/json.ts";
import type { ReasoningEffort, ToolChoice } from "../../core/model.ts";
import { mapEfforts, type EffortFields } from "../reasoning-effort.ts";

/** Claude decides itself when to think, guided by the effort. */
export const ADAPTIVE: JsonObject = { type: "adaptive" };
const DISABLED: JsonObject = { type: "disabled" };
/** Claude thinks only between calls. */
const BETWEEN_TOOLS: JsonObject = { type: "between_tools" };

const NAME =
  /claude[-_]?(?:(?<family>(?!v\d)[a-z]+)[-_]?)?v?(?:(?<major>\d+)(?:[._-](?<minor>\d{1,2})(?!\d))?)?(?:[-_]?(?<behind>[a-z]+))?/u;
const FAMILIES: ReadonlySet<string> = new Set(["opus", "sonnet", "haiku", "fable", "mythos"]);

/** The version whose settings third-party models have adopted. */
const OTHERS = 5;

interface ClaudeModel {
  /** `opus`, `sonnet`; undefined if the name has none. */
  readonly family: string | undefined;
  readonly version: number;
}

/** Returns family and version from a model's name; undefined if the name has neither. */
function claudeModel(model: string): ClaudeModel | undefined {
  const { family: before, major, minor, behind } = NAME.exec(model)?.groups ?? {};
  const family = before ?? behind;
  if (major !== undefined) return { family, version: Number(`${major}.${(minor ?? "0").slice(0, 1)}`) };
  return family !== undefined && FAMILIES.has(family) ? { family, version: Infinity } : undefined;
}

/** Whether thinking cannot be turned off: of the newest models that is possible only for `haiku`. */
function alwaysThinks({ family, version }: ClaudeModel): boolean {
  return isFable(family) || (version >= 5.5 && family !== "haiku");
}

function isFable(family: string | undefined): boolean {
  return family === "fable" || family === "mythos";
}

/**
 * Returns the efforts that can be requested of a model, as `thinking` and `effort`. Thinking is not requested if a call is required, because the API
 * refuses both together. Efforts were introduced with Opus 4.5, thinking without a budget and `max` with 4.6, `xhigh` with 4.7.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/effort
 * @see https://platform.claude.com/docs/en/build-with-claude/thinking (2026-11)
 */
export function claudeEfforts(model: string, toolChoice: ToolChoice = "auto"): EffortFields {
  const claude = claudeModel(model) ?? { family: undefined, version: OTHERS };
  const { family, version } = claude;
  const none = noThinking(claude);
  if (version < 4.6 && !(version === 4.5 && family === "opus")) return none;
  const thinks = version >= 4.6 && (toolChoice === "auto" || toolChoice === "none");
  return { ...none, ...mapEfforts((effort) => (thinks ? { thinking: ADAPTIVE, effort } : { effort }), effortLevels(version)) };
}

function noThinking(claude: ClaudeModel): EffortFields {
  if (claude.family === "sonnet" && claude.version >= 5.5) return { none: { thinking: BETWEEN_TOOLS } };
  if (alwaysThinks(claude)) return {};
  return { none: claude.version < 3.7 ? {} : { thinking: DISABLED } };
}

function effortLevels(version: number): readonly ReasoningEffort[] {
  if (version < 4.6) return ["low", "medium", "high"];
  return version < 4.7 ? ["low", "medium", "high", "max"] : ["low", "medium", "high", "xhigh", "max"];
}

/**
 * Whether a model takes a temperature: those released after Opus 4.6 refuse every value but 1, their default.
 *
 * @see https://platform.claude.com/docs/en/api/messages (2026-11)
 */
export function claudeTakesTemperature(model: string): boolean {
  return (claudeModel(model)?.version ?? 0) <= 4.6;
}

/**
 * Whether a request may require a call: models that always think refuse that.
 *
 * @see https://platform.claude.com/docs/en/models/opus-5-5/whats-new-opus-5-5#forced-tool-use-is-not-supported
 * @see https://platform.claude.com/docs/en/models/sonnet-5-5/whats-new-sonnet-5-5#forced-tool-use-is-not-supported
 */
export function claudeCanBeForced(model: string): boolean {
  const claude = claudeModel(model);
  return claude === undefined || !alwaysThinks(claude) || (isFable(claude.family) && claude.version === 5);
}
