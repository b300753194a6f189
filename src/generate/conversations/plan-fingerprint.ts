import { createHash, type Hash } from "node:crypto";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { ModelTool } from "../../core/model.ts";
import { yieldToEventLoop } from "../run-limited.ts";
import { plainWriter } from "./plain-writer.ts";
import { SchemaTexts, formatCanonicalJson } from "./schema-text.ts";
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
const VERSION = 10;
const LENGTH = 16;

/** Number of tools that are hashed before yielding to the event loop. */
const AT_ONCE = 50;

/**
 * Resolves to a fingerprint that distinguishes the conversations of one plan from those of another, and does not depend on their number: the beginning
 * of the SHA-256 of the canonical JSON of all parts. The text is hashed tool by tool, because that of thousands of tools takes gigabytes of memory.
 *
 * @throws ToolError `not_json` for a part that is not JSON, `cancelled` if the signal aborts; as a rejection
 */
export async function planFingerprint({ plan, tools, recorded, ...rest }: PlanFingerprintParts, signal?: AbortSignal): Promise<string> {
  const parts: Readonly<Record<string, unknown>> = {
    version: VERSION,
    ...rest,
    ...omitUndefined({ recorded }),
    plan: planParts(plan),
    tools,
  };
  const hash = createHash("sha256");
  let separator = "{";
  for (const key of Object.keys(parts).sort()) {
    hash.update(`${separator}${JSON.stringify(key)}:`);
    if (key === "tools") await hashTools(tools, hash, signal);
    else hash.update(formatCanonicalJson(parts[key]));
    separator = ",";
  }
  return hash.update("}").digest("hex").slice(0, LENGTH);
}

async function hashTools(tools: readonly ModelTool[], hash: Hash, signal: AbortSignal | undefined): Promise<void> {
  const schemas = new SchemaTexts();
  hash.update("[");
  for (const [index, { name, description, inputSchema, outputSchema = null }] of tools.entries()) {
    const words = `"description":${formatCanonicalJson(description)},"inputSchema":${schemas.format(inputSchema)}`;
    const text = `{${words},"name":${formatCanonicalJson(name)},"outputSchema":${schemas.format(outputSchema)}}`;
    hash.update(index === 0 ? text : `,${text}`);
    if (index % AT_ONCE === AT_ONCE - 1) await yieldToEventLoop(signal);
  }
  hash.update("]");
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
