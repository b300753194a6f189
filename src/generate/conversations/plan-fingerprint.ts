import { hash } from "node:crypto";
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { copyJson } from "../../core/base/json.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { ModelTool } from "../../core/model.ts";
import { plainWriter } from "./plain-writer.ts";
import { DEFAULT_CALLS, type ConversationPlan } from "./conversation-plan.ts";
import type { TrajectoryFormat } from "./trajectory-formats.ts";

export interface PlanFingerprintParts {
  readonly plan: ConversationPlan;
  readonly seed: string;
  readonly format: TrajectoryFormat;
  readonly maxTools: number;
  readonly parallelCalls: boolean;
  readonly weights: boolean;
  /** The share of conversations that are written to the test file. */
  readonly split: number;
  readonly tools: readonly ModelTool[];
  readonly label: string;
  /** For a recorded plan, the digest of all its conversations. */
  readonly recorded: string | undefined;
}

/** Incremented whenever the same plan gives other lines. */
const VERSION = 8;
const LENGTH = 16;
const MAX_DEPTH = 1_000;

/** Returns a fingerprint that distinguishes the conversations of one plan from those of another, and does not depend on their number. */
export function planFingerprint({ plan, tools, recorded, ...rest }: PlanFingerprintParts): string {
  const content = { version: VERSION, ...rest, ...omitUndefined({ recorded }), tools: tools.map(toolParts), plan: planParts(plan) };
  const text = canonicalJson(copyJson(content, { maxDepth: MAX_DEPTH, maxNodes: Infinity, maxChars: Infinity }).value);
  return hash("sha256", text).slice(0, LENGTH);
}

function toolParts({ name, description, inputSchema, outputSchema }: ModelTool): object {
  return { name, description, inputSchema, outputSchema: outputSchema ?? null };
}

function planParts(plan: ConversationPlan): object {
  const { onProblems = "mark" } = plan;
  if (plan.kind === "sampled") {
    const { kind, calls = DEFAULT_CALLS, sample = "chain", sampler, writer = plainWriter() } = plan;
    return { kind, calls, sample: sampler === undefined ? sample : "sampler", writer: writer.name, onProblems };
  }
  if (plan.kind === "scripted") {
    const { kind, templates, writer = plainWriter() } = plan;
    return { kind, templates, writer: writer === false ? "none" : writer.name, onProblems };
  }
  if (plan.kind === "recorded") {
    const { kind, redact, writer, faults, retry } = plan;
    return { kind, onProblems, redact: redact ?? null, writer: writer?.name ?? "none", faults: faults ?? null, retry: retry ?? null };
  }
  const { kind, templates, model, loop = {} } = plan;
  const { system, toolChoice, maxOutputTokens, temperature, reasoningEffort } = loop;
  return {
    kind,
    templates,
    onProblems,
    model: model.name,
    system,
    maxOutputTokens,
    temperature,
    reasoningEffort,
    toolChoice: typeof toolChoice === "function" ? "function" : toolChoice,
  };
}
