/** Answers calls by asking a language model for the result. */
import { quoteValue } from "../core/base/wording.ts";
import { COUNT, SIZE, checkNumber, type Bounds } from "../core/base/number-bounds.ts";
import type { ToolContext } from "../core/context.ts";
import type { Engine, EngineRequest } from "../core/engine.ts";
import { checkModel } from "../core/check-argument.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { JsonValue } from "../core/base/json.ts";
import type { ModelMessage } from "../core/message.ts";
import { checkReasoningEffort, endedWell } from "../core/model.ts";
import type { FinishReason, Model, ModelReply, ModelRequest, ReasoningEffort } from "../core/model.ts";
import type { Tool } from "../core/tool.ts";
import { rejectOnAbort } from "../core/base/reject-on-abort.ts";
import { askModel } from "./lm/ask-model.ts";
import { selectHistory } from "./lm/history.ts";
import { chooseCandidate, type ReplyRules, type Verdict } from "./lm/choose-candidate.ts";
import { OutputContract } from "./lm/output-contract.ts";
import { callText, correctionText, systemInstruction } from "./lm/prompt.ts";
import { runReducerStep } from "./reducer-step.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { getOrAdd } from "../core/base/get-or-add.ts";

/** Options of an `lmEngine`: the model that plays the tools, and the context that it gets. */
export interface LmEngineOptions {
  readonly model: Model;
  /** Maximum number of the session's latest calls that the model is shown. Integer ≥ 0. @default 20 */
  readonly maxHistory?: number;
  /** Maximum number of characters of these calls. @default 100_000 */
  readonly maxHistoryChars?: number;
  /** Number of replies that a request asks for, if the provider supports it; the most likely valid one is used. Integer from 1 to 128. @default 1 */
  readonly candidates?: number;
  /** Maximum number of requests until a reply is a valid result, the first included. Integer from 1 to 100. @default 1 */
  readonly tries?: number;
  /** @default the model's default */
  readonly maxOutputTokens?: number;
  /** From 0 to 2. @default the provider's default */
  readonly temperature?: number;
  /** How much the model reasons before it answers, if its provider supports that. @default the provider's default */
  readonly reasoningEffort?: ReasoningEffort;
  /** Added to the system instruction: a description of the simulated world. */
  readonly instructions?: string;
  /** Maximum length of a reply, in characters. A longer one is cancelled and is not a valid result. @default 262_144 */
  readonly maxReplyChars?: number;
}

const OPTIONS: OptionNames<LmEngineOptions> = {
  model: true,
  maxHistory: true,
  maxHistoryChars: true,
  candidates: true,
  tries: true,
  maxOutputTokens: true,
  temperature: true,
  reasoningEffort: true,
  instructions: true,
  maxReplyChars: true,
};
const BOUNDS = {
  maxHistory: SIZE,
  maxHistoryChars: SIZE,
  candidates: { ...COUNT, max: 128 },
  tries: { ...COUNT, max: 100 },
  maxOutputTokens: COUNT,
  maxReplyChars: COUNT,
  temperature: { min: 0, max: 2, integer: false },
} as const satisfies Partial<Record<keyof LmEngineOptions, Bounds>>;

/**
 * An engine whose model generates the results.
 *
 * The model is shown the session's earlier calls with their results and errors, whichever engine answered them, and then the call; nothing of other
 * sessions. Its reply must be one JSON object that fits the tool's output schema. Keys that the schema does not declare are dropped, and so are empty
 * values that it does not require. Without an output schema any object is valid.
 *
 * A tool's `reducer` decides the facts of a result, which replace the model's values for them. If the facts are the whole result, the model is not
 * asked. The state changes only if the result is not an error.
 *
 * A call fails with `invalid_output` if no reply is valid, `execution_failed` if the model says that the tool failed, `model_failed` or `too_large`
 * if the model fails. It throws `NoAnswer` if the model cannot be reached.
 *
 * @throws ToolError `invalid_argument` at once for options that cannot work
 */
export function lmEngine(options: LmEngineOptions): Engine {
  checkOptions(options);
  return new LmEngine(options);
}

class LmEngine implements Engine {
  readonly kind = "lm";
  /** Sequential, so that each call sees the results before it. */
  readonly order = "sequential";
  readonly state = "value";
  readonly effectFree = true;
  readonly origin = "simulated";
  readonly #options: Settings;
  readonly #contracts = new WeakMap<Tool, OutputContract>();

  constructor(options: LmEngineOptions) {
    const { maxHistory = 20, maxHistoryChars = 100_000, candidates = 1, tries = 1, maxReplyChars = 262_144 } = options;
    this.#options = { ...options, maxHistory, maxHistoryChars, candidates, tries, maxReplyChars };
  }

  async call(request: EngineRequest, context: ToolContext): Promise<JsonValue> {
    const contract = getOrAdd(this.#contracts, request.tool, (tool) => new OutputContract(tool));
    const step = runReducerStep(request, context);
    const decided = step === undefined ? undefined : factsOnlyOutput(contract, step.facts, context.toolName);
    const output = decided ?? (await rejectOnAbort(this.#generate(request, context, { contract, facts: step?.facts }), context.signal));
    step?.commit();
    return output;
  }

  async #generate(request: EngineRequest, context: ToolContext, { contract, facts }: GenerationContext): Promise<JsonValue> {
    const { model, tries, maxReplyChars: maxChars } = this.#options;
    const settings = this.#settings(contract);
    let messages = this.#conversation(request, context, facts);
    for (let tried = 1; ; tried++) {
      const reply = await askModel(model, { ...settings, messages }, { signal: context.signal, maxChars });
      const verdict = evaluateReply(reply, { contract, facts, maxChars });
      if ("output" in verdict) return verdict.output;
      if ("error" in verdict) throw new ToolError("execution_failed", verdict.error, { retryable: false, outcome: "failed" });
      if (tried === tries) throw invalidReplyError(verdict.problems);
      messages = withCorrection(messages, reply?.text ?? "", verdict.problems);
    }
  }

  /** A user message and an assistant message for each earlier call, and a user message for the call itself. */
  #conversation({ tool, input, findTool }: EngineRequest, context: ToolContext, facts: JsonValue | undefined): readonly ModelMessage[] {
    const { maxHistory: maxEntries, maxHistoryChars: maxChars } = this.#options;
    const { toolName, history } = context;
    const toolOf = (name: string, given: unknown): Tool | undefined => findTool?.(name, given) ?? (name === toolName ? tool : undefined);
    const shown = maxEntries === 0 ? [] : selectHistory(history, { maxEntries, maxChars }, toolOf);
    const earlier = shown.flatMap(({ call, result }, index) => [
      message("user", call, 2 * index),
      message("assistant", result, 2 * index + 1),
    ]);
    return [...earlier, message("user", callText({ name: toolName, input, tool, facts }), earlier.length)];
  }

  #settings({ responseFormat }: OutputContract): Omit<ModelRequest, "messages"> {
    const { model, instructions, candidates, maxOutputTokens, temperature, reasoningEffort } = this.#options;
    return {
      system: systemInstruction(instructions),
      ...(DEVELOPER_ROLE_MODELS.test(model.name) ? { systemRole: "developer" } : {}),
      responseFormat,
      ...(candidates === 1 ? {} : { candidates }),
      ...omitUndefined({ maxOutputTokens, temperature, reasoningEffort }),
    };
  }
}

/** Names of models that take instructions from the role `developer`, not `system`. */
const DEVELOPER_ROLE_MODELS = /gpt/iu;

type NumericOption = "maxHistory" | "maxHistoryChars" | "candidates" | "tries" | "maxReplyChars";
type Settings = LmEngineOptions & Readonly<Record<NumericOption, number>>;

interface GenerationContext {
  readonly contract: OutputContract;
  readonly facts: JsonValue | undefined;
}

/** The output, if the facts are all of it. @throws ToolError if it does not fit the output schema */
function factsOnlyOutput(contract: OutputContract, facts: JsonValue, toolName: string): JsonValue | undefined {
  const output = contract.outputFromFacts(facts);
  const problems = output === undefined ? [] : contract.findProblems(output);
  if (problems.length === 0) return output;
  throw new ToolError("invalid_output", `The facts that the reducer of ${toolName} returned do not match its output schema.`, {
    details: problems,
    retryable: false,
    outcome: "failed",
    operatorHint: "Let the reducer return facts that fit the output schema, or an object with some of its properties.",
  });
}

/** Finish reasons of the first candidate after which the others may still be complete. */
const SINGLE_CANDIDATE_FINISHES: ReadonlySet<FinishReason> = new Set<FinishReason>(["length", "content-filter", "refusal"]);

function evaluateReply(reply: ModelReply | undefined, rules: ReplyRules): Verdict {
  if (reply === undefined) return { problems: [`the reply has more than ${rules.maxChars} characters`] };
  const { finish, finishDetail, text, candidates } = reply;
  if (endedWell(finish)) return chooseCandidate(candidates ?? [{ text }], rules);
  const others = SINGLE_CANDIDATE_FINISHES.has(finish) ? chooseCandidate((candidates ?? []).slice(1), rules) : undefined;
  if (others !== undefined && !("problems" in others)) return others;
  const detail = finishDetail === undefined || finishDetail === finish ? "" : ` (${finishDetail})`;
  return { problems: [`the reply did not end well: ${finish}${detail}`] };
}

/** Maximum number of characters of an invalid reply that the model is shown again. */
const MAX_SHOWN_REPLY = 8_192;

function withCorrection(messages: readonly ModelMessage[], reply: string, problems: readonly string[]): readonly ModelMessage[] {
  const at = messages.length;
  const replyMessage = reply.trim() === "" ? [] : [message("assistant", reply.slice(0, MAX_SHOWN_REPLY), at)];
  return [...messages, ...replyMessage, message("user", correctionText(problems), at + replyMessage.length)];
}

function message(role: "user" | "assistant", content: string, at: number): ModelMessage {
  return { role, at, content };
}

function invalidReplyError(details: readonly string[]): ToolError {
  return new ToolError("invalid_output", "failed to generate valid tool result", {
    details,
    retryable: false,
    outcome: "failed",
    operatorHint: "Call it again, or let the engine try more often.",
  });
}

function checkOptions(options: LmEngineOptions): void {
  if (options?.model === undefined) throw new ToolError("invalid_argument", "The engine lm needs a model.", { hint: "Pass it as model." });
  checkModel(options.model, "lmEngine({ model })");
  checkKnownKeys(options, OPTIONS, "lmEngine()");
  const { instructions } = options;
  for (const [name, bounds] of Object.entries(BOUNDS)) checkNumber(Reflect.get(options, name), `${name} of the engine lm`, bounds);
  checkReasoningEffort(options.reasoningEffort, "reasoningEffort of the engine lm");
  if (instructions !== undefined && typeof instructions !== "string")
    throw new ToolError("invalid_argument", `instructions of the engine lm is ${quoteValue(instructions)}; it takes a string.`);
}
