/** Which conversations are made: drawn from the tools, told by templates, or played by a model. */
import { COUNT, checkNumber } from "../../core/base/number-bounds.ts";
import type { LoopOptions } from "../../compose/loop-options.ts";
import { ToolError } from "../../core/error.ts";
import type { Model } from "../../core/model.ts";
import type { Sampler } from "../sampler.ts";
import type { ConversationTemplate } from "./conversation-template.ts";

/** Which conversations are made. */
export type ConversationPlan = SampledPlan | ScriptedPlan | PlayedPlan;

/** Tools are drawn, and called with inputs that are made up; no model and no file is needed. */
export interface SampledPlan {
  readonly kind: "sampled";
  /** How many conversations. Integer ≥ 1. */
  readonly count: number;
  /** Calls of each. Integer ≥ 1. @default 5 */
  readonly calls?: number;
  /** Draws the tools of a conversation, which are called in its order, again from the first where there are more calls. @default `calls` tools at random */
  readonly sampler?: Sampler;
}

/** The calls stand in the templates. */
export interface ScriptedPlan {
  readonly kind: "scripted";
  readonly templates: readonly ConversationTemplate[];
  /** How many conversations, of the templates in turn. Integer ≥ 1. @default one of each template */
  readonly count?: number;
}

/** A model answers what the users of the templates say. */
export interface PlayedPlan {
  readonly kind: "played";
  /** Without lines of the assistant: the model says those. */
  readonly templates: readonly ConversationTemplate[];
  readonly model: Model;
  /** How many conversations, of the templates in turn. Integer ≥ 1. @default one of each template */
  readonly count?: number;
  /** What the loop of each conversation is given besides; the `system` of a template goes before the one here. */
  readonly loop?: Omit<LoopOptions, "model" | "session" | "system" | "tools" | "allow" | "onEvent"> & { readonly system?: string };
}

export const DEFAULT_CALLS = 5;

/** How many conversations the plan comes to. @throws ToolError `invalid_argument` for a plan that cannot be */
export function checkPlan(plan: ConversationPlan): number {
  const owner = "the plan of generateConversations()";
  if (typeof plan !== "object" || plan === null)
    throw new ToolError("invalid_argument", "generateConversations() needs a plan.", {
      hint: 'Such as { kind: "sampled", count: 10, calls: 5 }.',
    });
  if (plan.kind === "sampled") {
    checkNumber(plan.count, `count of ${owner}`, COUNT);
    checkNumber(plan.calls, `calls of ${owner}`, COUNT);
    return plan.count;
  }
  const { kind, templates, count = templates?.length } = plan;
  if (kind !== "scripted" && kind !== "played")
    throw new ToolError("invalid_argument", `The kind of ${owner} is ${String(kind)}; it is "sampled", "scripted" or "played".`);
  if (!Array.isArray(templates) || templates.length === 0)
    throw new ToolError("invalid_argument", `The templates of ${owner} are missing.`);
  checkNumber(count, `count of ${owner}`, COUNT);
  if (kind === "played") checkPlayed(templates);
  return count;
}

function checkPlayed(templates: readonly ConversationTemplate[]): void {
  const spoken = templates.findIndex(({ messages }) => messages.some(({ role }) => role === "assistant"));
  if (spoken >= 0)
    throw new ToolError("invalid_argument", `Template ${spoken + 1} has lines of the assistant, and with a model the model says those.`, {
      hint: "Leave those lines out, or leave out the model to make the calls as they stand.",
    });
  const silent = templates.findIndex(({ messages }) => !messages.some(({ role }) => role === "user"));
  if (silent >= 0)
    throw new ToolError("invalid_argument", `Template ${silent + 1} has no line of a user, so the model has nothing to answer.`);
}
