import { COUNT, checkNumber } from "../../core/base/number-bounds.ts";
import type { LoopOptions } from "../../compose/loop-options.ts";
import { ToolError } from "../../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import type { Model } from "../../core/model.ts";
import { plural } from "../../core/base/wording.ts";
import type { Sampler } from "../sampler.ts";
import type { CheckedPlan } from "./checked-plan.ts";
import type { ConversationWriter } from "./conversation-writer.ts";
import { findReferenceProblems } from "./template-references.ts";
import type { ConversationTemplate } from "./conversation-template.ts";
import { checkRecordedPlan, type RecordedPlan } from "./recorded/recorded-plan.ts";

/** Which conversations are generated: drawn from the tools, written in templates, played by a model, or recorded. */
export type ConversationPlan = SampledPlan | ScriptedPlan | PlayedPlan | RecordedPlan;

/** The ways to draw the tools of a conversation. */
export const SAMPLE_KINDS = ["chain", "random", "neighbour"] as const;
/** A way to draw the tools of a conversation: one of `SAMPLE_KINDS`. */
export type SampleKind = (typeof SAMPLE_KINDS)[number];

/** Draws tools, and calls them with generated inputs; needs no model and no file. */
export interface SampledPlan extends CheckedPlan {
  readonly kind: "sampled";
  /** Number of conversations. Integer ≥ 1. */
  readonly count: number;
  /** Number of calls in each conversation. Integer ≥ 1. @default 5 */
  readonly calls?: number;
  /**
   * `chain`: tools that take what others return, each after one that returns its ids; `random`; `neighbour`: tools with similar names and
   * descriptions. If no tool takes what another returns, a chain is drawn at random, with a note in the summary.
   *
   * @default "chain"
   */
  readonly sample?: SampleKind;
  /** Draws the tools instead of `sample`. They are called in its order, starting again from the first if there are more calls. */
  readonly sampler?: Sampler;
  /** Writes the requests and the answers. @default `plainWriter()`, without a model */
  readonly writer?: ConversationWriter;
}

/** Makes the calls that are in the templates. */
export interface ScriptedPlan extends CheckedPlan {
  readonly kind: "scripted";
  readonly templates: readonly ConversationTemplate[];
  /** Number of conversations, using the templates in turn. Integer ≥ 1. @default one of each template */
  readonly count?: number;
  /** Writes the answers of turns that the template ends with calls; `false` = they have no answer. @default `plainWriter()` */
  readonly writer?: ConversationWriter | false;
}

/** Lets a model answer the user messages of the templates. */
export interface PlayedPlan extends CheckedPlan {
  readonly kind: "played";
  /** Templates without messages of the assistant, which the model writes. */
  readonly templates: readonly ConversationTemplate[];
  readonly model: Model;
  /** Number of conversations, using the templates in turn. Integer ≥ 1. @default one of each template */
  readonly count?: number;
  /** Further options of each conversation's loop. The `system` of a template overrides the one here. */
  readonly loop?: Omit<LoopOptions, "model" | "session" | "system" | "tools" | "allow" | "onEvent"> & { readonly system?: string };
}

const OF_EVERY_PLAN = { kind: true, onProblems: true } as const;
const SAMPLED: OptionNames<SampledPlan> = { ...OF_EVERY_PLAN, count: true, calls: true, sample: true, sampler: true, writer: true };
const SCRIPTED: OptionNames<ScriptedPlan> = { ...OF_EVERY_PLAN, templates: true, count: true, writer: true };
const PLAYED: OptionNames<PlayedPlan> = { ...OF_EVERY_PLAN, templates: true, model: true, count: true, loop: true };

export const DEFAULT_CALLS = 5;

/** Returns the number of conversations; undefined if it depends on the recordings. @throws ToolError `invalid_argument` for an invalid plan */
export function checkPlan(plan: ConversationPlan): number | undefined {
  const owner = "the plan of generateConversations()";
  if (typeof plan !== "object" || plan === null)
    throw new ToolError("invalid_argument", "generateConversations() needs a plan.", {
      hint: 'Such as { kind: "sampled", count: 10, calls: 5 }.',
    });
  if (plan.onProblems !== undefined && plan.onProblems !== "mark" && plan.onProblems !== "remake")
    throw new ToolError(
      "invalid_argument",
      `The onProblems of ${owner} is ${JSON.stringify(plan.onProblems)}; it must be "mark" or "remake".`,
    );
  if (plan.kind === "sampled") {
    checkKnownKeys(plan, SAMPLED, owner);
    checkNumber(plan.count, `count of ${owner}`, COUNT);
    checkNumber(plan.calls, `calls of ${owner}`, COUNT);
    if (plan.sample !== undefined && !SAMPLE_KINDS.includes(plan.sample))
      throw new ToolError(
        "invalid_argument",
        `The sample of ${owner} is ${JSON.stringify(plan.sample)}; it must be one of ${SAMPLE_KINDS.join(", ")}.`,
      );
    checkWriter(plan.writer, owner);
    return plan.count;
  }
  if (plan.kind === "recorded") {
    checkRecordedPlan(plan, owner);
    checkWriter(plan.writer, owner);
    return undefined;
  }
  return checkTemplatesPlan(plan, owner);
}

function checkTemplatesPlan(plan: ScriptedPlan | PlayedPlan, owner: string): number {
  const { kind, templates, count = templates?.length } = plan;
  if (kind !== "scripted" && kind !== "played")
    throw new ToolError(
      "invalid_argument",
      `The kind of ${owner} is ${String(kind)}; it must be "sampled", "scripted", "played" or "recorded".`,
    );
  if (plan.kind === "played") checkKnownKeys(plan, PLAYED, owner);
  else checkKnownKeys(plan, SCRIPTED, owner);
  if (!Array.isArray(templates) || templates.length === 0)
    throw new ToolError("invalid_argument", `The templates of ${owner} are missing.`);
  checkNumber(count, `count of ${owner}`, COUNT);
  checkReferences(templates, owner);
  if (kind === "played") checkPlayed(templates);
  else if (plan.writer !== false) checkWriter(plan.writer, owner);
  return count;
}

function checkWriter(writer: ConversationWriter | undefined, owner: string): void {
  if (writer === undefined || (typeof writer.request === "function" && typeof writer.answer === "function")) return;
  throw new ToolError("invalid_argument", `The writer of ${owner} must have request() and answer().`);
}

/** Refuses templates with references that cannot be resolved. */
function checkReferences(templates: readonly ConversationTemplate[], owner: string): void {
  const problems = templates.flatMap(({ messages }, index) =>
    findReferenceProblems(messages).map((problem) => `Template ${index + 1}: ${problem}`),
  );
  if (problems.length === 0) return;
  const [first = ""] = problems;
  throw new ToolError(
    "invalid_argument",
    problems.length === 1 ? first : `${plural(problems.length, "reference")} in the templates of ${owner} cannot be filled.`,
    {
      details: problems.slice(0, MAX_PROBLEMS),
    },
  );
}

const MAX_PROBLEMS = 20;

function checkPlayed(templates: readonly ConversationTemplate[]): void {
  const spoken = templates.findIndex(({ messages }) => messages.some(({ role }) => role === "assistant"));
  if (spoken >= 0)
    throw new ToolError(
      "invalid_argument",
      `Template ${spoken + 1} has messages of the assistant, but with a model, the model writes those.`,
      {
        hint: "Leave those messages out, or leave out the model to make the calls as written.",
      },
    );
  const silent = templates.findIndex(({ messages }) => !messages.some(({ role }) => role === "user"));
  if (silent >= 0)
    throw new ToolError("invalid_argument", `Template ${silent + 1} has no message of a user, so the model has nothing to answer.`);
}
