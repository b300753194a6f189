/** What tells the conversations of one plan from those of another. */
import { hash } from "node:crypto";
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { copyJson } from "../../core/base/json.ts";
import type { ModelTool } from "../../core/model.ts";
import { DEFAULT_CALLS, type ConversationPlan } from "./conversation-plan.ts";
import type { TrajectoryFormat } from "./trajectory-formats.ts";

export interface PlanFingerprintParts {
  readonly plan: ConversationPlan;
  readonly seed: string;
  readonly format: TrajectoryFormat;
  readonly maxTools: number;
  readonly tools: readonly ModelTool[];
  readonly label: string;
}

/** Changed whenever the same plan makes other lines. */
const VERSION = 1;
const LENGTH = 16;
const MAX_DEPTH = 1_000;

/** The same for the same conversations, however many of them are asked for. */
export function planFingerprint({ plan, tools, ...rest }: PlanFingerprintParts): string {
  const content = { version: VERSION, ...rest, tools: tools.map(toolParts), plan: planParts(plan) };
  const text = canonicalJson(copyJson(content, { maxDepth: MAX_DEPTH, maxNodes: Infinity, maxChars: Infinity }).value);
  return hash("sha256", text).slice(0, LENGTH);
}

function toolParts({ name, description, inputSchema, outputSchema }: ModelTool): object {
  return { name, description, inputSchema, outputSchema: outputSchema ?? null };
}

function planParts(plan: ConversationPlan): object {
  if (plan.kind === "sampled") return { kind: plan.kind, calls: plan.calls ?? DEFAULT_CALLS };
  if (plan.kind === "scripted") return { kind: plan.kind, templates: plan.templates };
  const { kind, templates, model, loop = {} } = plan;
  const { system, toolChoice, maxOutputTokens, temperature, reasoningEffort } = loop;
  return {
    kind,
    templates,
    model: model.name,
    system,
    maxOutputTokens,
    temperature,
    reasoningEffort,
    toolChoice: typeof toolChoice === "function" ? "function" : toolChoice,
  };
}
