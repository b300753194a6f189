/** The settings that OpenAI's models take, by the beginning of a name, the first that fits; names that fit none are those of other servers. */
import type { JsonObject } from "../core/base/json.ts";
import type { ReasoningEffort } from "../core/model.ts";
import { effortsAs, type EffortFields } from "./reasoning-effort.ts";

interface OpenAiModel {
  readonly efforts: readonly ReasoningEffort[];
  /** The model reasons where it is not asked to: it takes a temperature only with the effort `none`. @default true */
  readonly reasons?: boolean;
}

const LOW_TO_HIGH: readonly ReasoningEffort[] = ["low", "medium", "high"];
const LOW_TO_MAX: readonly ReasoningEffort[] = [...LOW_TO_HIGH, "xhigh", "max"];

/** Models that do not reason: they refuse to be asked for encrypted reasoning, and to be given that of others. */
const PLAIN = /^gpt-(?:[34]|audio|realtime|5(?:\.\d+)?-chat)|^chatgpt-/u;

/**
 * The models that reason. A new model of OpenAI's is like the newest; other names with `gpt-` are those of deployments (`gpt-prod`) and of
 * models of others (`gpt-oss`, `gpt-neo`, `gpt-7b`).
 *
 * @see https://developers.openai.com/api/docs/guides/reasoning
 * @see https://developers.openai.com/api/docs/models (2026-11)
 */
const MODELS: readonly (readonly [name: RegExp, model: OpenAiModel])[] = [
  [/^o\d/u, { efforts: LOW_TO_HIGH }],
  [/^gpt-5-pro/u, { efforts: ["high"] }],
  [/^gpt-5-codex/u, { efforts: LOW_TO_HIGH }],
  [/^gpt-5(?![.\d])/u, { efforts: ["minimal", ...LOW_TO_HIGH] }],
  [/^gpt-5\.\d+-pro/u, { efforts: ["medium", "high", "xhigh"] }],
  [/^gpt-5\.1-codex-max/u, { efforts: ["none", ...LOW_TO_HIGH, "xhigh"], reasons: false }],
  [/^gpt-5\.1(?!\d)/u, { efforts: ["none", ...LOW_TO_HIGH], reasons: false }],
  [/^gpt-5\.[2-4](?!\d)/u, { efforts: ["none", ...LOW_TO_HIGH, "xhigh"], reasons: false }],
  [/^gpt-5\.5(?!\d)/u, { efforts: ["none", ...LOW_TO_HIGH, "xhigh"] }],
  [/^gpt-(?:5\.\d|6-(?:sol|luna)|6\.1-terra)/u, { efforts: ["none", ...LOW_TO_MAX] }],
  [/^gpt-(?:(?:[5-9]|[1-9]\d)(?![\d.]*b)|daybreak|rosalind)/u, { efforts: LOW_TO_MAX }],
];

/** Without the provider that a gateway puts before it, and the mark of a tuned model. */
function nameOf(model: string): string {
  return model.slice(model.lastIndexOf("/") + 1).replace(/^ft:/u, "");
}

function reasoningModel(model: string): OpenAiModel | undefined {
  const name = nameOf(model);
  return PLAIN.test(name) ? undefined : MODELS.find(([known]) => known.test(name))?.[1];
}

/** True for a model that is known not to reason. */
export function isPlainModel(model: string): boolean {
  return PLAIN.test(nameOf(model));
}

/** True for a model that is known to reason: it does not tell how probable its tokens are. */
export function isReasoningModel(model: string): boolean {
  return reasoningModel(model) !== undefined;
}

/** The efforts that a model can be asked for. One that does not reason need not be given the effort `none`. */
export function openAiEfforts(model: string, write: (effort: ReasoningEffort) => JsonObject): EffortFields {
  return isPlainModel(model) ? { none: {} } : effortsAs(write, reasoningModel(model)?.efforts);
}

/** Whether a model takes a temperature in a request for this effort: those that reason refuse it. */
export function takesTemperature(model: string, effort: unknown): boolean {
  const known = reasoningModel(model);
  if (known === undefined) return true;
  const { reasons = true } = known;
  return effort === undefined || effort === null ? !reasons : effort === "none";
}
