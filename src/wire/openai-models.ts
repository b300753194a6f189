/** The settings that OpenAI's models take, by the prefix of a name. The first match counts; names without a match are models of other servers. */
import type { JsonObject } from "../core/base/json.ts";
import type { ReasoningEffort } from "../core/model.ts";
import { mapEfforts, type EffortFields } from "./reasoning-effort.ts";

interface OpenAiModel {
  readonly efforts: readonly ReasoningEffort[];
  /** Whether the model reasons by default: then it takes a temperature only with the effort `none`. @default true */
  readonly reasonsByDefault?: boolean;
}

const LOW_TO_HIGH: readonly ReasoningEffort[] = ["low", "medium", "high"];
const LOW_TO_MAX: readonly ReasoningEffort[] = [...LOW_TO_HIGH, "xhigh", "max"];

/** Models that do not reason: they refuse requests for encrypted reasoning, and the encrypted reasoning of other models. */
const NON_REASONING_MODELS = /^gpt-(?:[34]|audio|realtime|5(?:\.\d+)?-chat)|^chatgpt-/u;

/**
 * The models that reason. An unknown new OpenAI model is treated like the newest; other names with `gpt-` are deployments (`gpt-prod`) and
 * third-party models (`gpt-oss`, `gpt-neo`, `gpt-7b`).
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
  [/^gpt-5\.1-codex-max/u, { efforts: ["none", ...LOW_TO_HIGH, "xhigh"], reasonsByDefault: false }],
  [/^gpt-5\.1(?!\d)/u, { efforts: ["none", ...LOW_TO_HIGH], reasonsByDefault: false }],
  [/^gpt-5\.[2-4](?!\d)/u, { efforts: ["none", ...LOW_TO_HIGH, "xhigh"], reasonsByDefault: false }],
  [/^gpt-5\.5(?!\d)/u, { efforts: ["none", ...LOW_TO_HIGH, "xhigh"] }],
  [/^gpt-(?:5\.\d|6-(?:sol|luna)|6\.1-terra)/u, { efforts: ["none", ...LOW_TO_MAX] }],
  [/^gpt-(?:(?:[5-9]|[1-9]\d)(?![\d.]*b)|daybreak|rosalind)/u, { efforts: LOW_TO_MAX }],
];

/** Removes the provider prefix of a gateway, and the `ft:` of a fine-tuned model. */
function nameOf(model: string): string {
  return model.slice(model.lastIndexOf("/") + 1).replace(/^ft:/u, "");
}

function findReasoningModel(model: string): OpenAiModel | undefined {
  const name = nameOf(model);
  return NON_REASONING_MODELS.test(name) ? undefined : MODELS.find(([known]) => known.test(name))?.[1];
}

/** Whether a model is known not to reason. */
export function isNonReasoningModel(model: string): boolean {
  return NON_REASONING_MODELS.test(nameOf(model));
}

/** Whether a model is known to reason: it does not report the probabilities of its tokens. */
export function isReasoningModel(model: string): boolean {
  return findReasoningModel(model) !== undefined;
}

/** Returns the efforts that can be requested of a model. For one that does not reason, the effort `none` needs no field. */
export function openAiEfforts(model: string, write: (effort: ReasoningEffort) => JsonObject): EffortFields {
  return isNonReasoningModel(model) ? { none: {} } : mapEfforts(write, findReasoningModel(model)?.efforts);
}

/** Whether a model takes a temperature in a request with this effort: models refuse it while they reason. */
export function takesTemperature(model: string, effort: unknown): boolean {
  const known = findReasoningModel(model);
  if (known === undefined) return true;
  const { reasonsByDefault = true } = known;
  return effort === undefined || effort === null ? !reasonsByDefault : effort === "none";
}
