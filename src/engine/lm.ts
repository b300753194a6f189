/** Answers calls by asking a language model what the tool would have said. */
import { quoted } from "../core/base/wording.ts";
import { COUNT, SIZE, checkNumber, type Bounds } from "../core/base/number-bounds.ts";
import type { ToolContext } from "../core/context.ts";
import type { Engine, EngineRequest } from "../core/engine.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { JsonValue } from "../core/base/json.ts";
import type { ModelMessage } from "../core/message.ts";
import { checkReasoningEffort, endedWell } from "../core/model.ts";
import type { FinishReason, Model, ModelReply, ModelRequest, ReasoningEffort } from "../core/model.ts";
import type { Tool } from "../core/tool.ts";
import { untilAborted } from "../core/base/until-aborted.ts";
import { askModel } from "./lm/ask-model.ts";
import { shownHistory } from "./lm/history.ts";
import { chooseCandidate, type ReplyRules, type Verdict } from "./lm/judge-reply.ts";
import { OutputContract } from "./lm/output-contract.ts";
import { callText, correctionText, systemInstruction } from "./lm/prompt.ts";
import { stepWorld } from "./world.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { getOrAdd } from "../core/base/get-or-add.ts";

/** Which model plays the tools, and what it is shown. */
export interface LmEngineOptions {
  readonly model: Model;
  /** Most earlier calls of the session that the model is shown, the newest. Integer ≥ 0. @default 20 */
  readonly maxHistory?: number;
  /** Most characters of these. @default 100_000 */
  readonly maxHistoryChars?: number;
  /** How many replies a request asks for, where the provider can; the likeliest valid one counts. Integer from 1 to 128. @default 1 */
  readonly candidates?: number;
  /** How often the model is asked, the first time included, while its reply is not a valid result. Integer from 1 to 100. @default 1 */
  readonly tries?: number;
  /** @default what the model does */
  readonly maxOutputTokens?: number;
  /** From 0 to 2. @default what the provider does */
  readonly temperature?: number;
  /** How much the model reasons before it answers, where its provider can be asked for it. @default what the provider does */
  readonly reasoningEffort?: ReasoningEffort;
  /** Added to the system instruction: what the simulated world is like. */
  readonly instructions?: string;
  /** A longer reply is no result, and is not waited for. @default 262_144 */
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
 * The model is shown the session's earlier calls with their results, whatever answered them, errors included, and then the call; nothing
 * of other sessions. Its reply must be one JSON object that fits the tool's output schema; keys that the schema does not declare are
 * dropped, and so are empty values unless it requires them. Without an output schema any object will do.
 *
 * A tool's `reducer` decides the facts of a result, which replace what the model says about them; where they are all of the result the
 * model is not asked. The state changes only with a result that is no error.
 *
 * A call fails as `invalid_output` where no reply is valid, `execution_failed` where the model says that the tool failed, `model_failed`
 * or `too_large` where the model did. It throws `NoAnswer` where the model cannot be reached.
 *
 * @throws ToolError `invalid_argument` at once for options that cannot work
 */
export function lmEngine(options: LmEngineOptions): Engine {
  checkOptions(options);
  return new LmEngine(options);
}

class LmEngine implements Engine {
  readonly kind = "lm";
  /** So that each call sees the results before it. */
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
    const step = stepWorld(request, context);
    const decided = step === undefined ? undefined : decidedOutput(contract, step.facts, context.toolName);
    const output = decided ?? (await untilAborted(this.#ask(request, context, { contract, facts: step?.facts }), context.signal));
    step?.commit();
    return output;
  }

  async #ask(request: EngineRequest, context: ToolContext, { contract, facts }: Asked): Promise<JsonValue> {
    const { model, tries, maxReplyChars: maxChars } = this.#options;
    const settings = this.#settings(contract);
    let messages = this.#conversation(request, context, facts);
    for (let tried = 1; ; tried++) {
      const reply = await askModel(model, { ...settings, messages }, { signal: context.signal, maxChars });
      const verdict = judge(reply, { contract, facts, maxChars });
      if ("output" in verdict) return verdict.output;
      if ("error" in verdict) throw new ToolError("execution_failed", verdict.error, { retryable: false, outcome: "failed" });
      if (tried === tries) throw invalidReply(verdict.problems);
      messages = corrected(messages, reply?.text ?? "", verdict.problems);
    }
  }

  /** One message of the user and one of the assistant for each earlier call, and the call itself. */
  #conversation({ tool, input, toolNamed }: EngineRequest, context: ToolContext, facts: JsonValue | undefined): readonly ModelMessage[] {
    const { maxHistory: maxEntries, maxHistoryChars: maxChars } = this.#options;
    const { toolName, history } = context;
    const toolOf = (name: string): Tool | undefined => (name === toolName ? tool : toolNamed?.(name));
    const shown = maxEntries === 0 ? [] : shownHistory(history, { maxEntries, maxChars }, toolOf);
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
      ...(OF_DEVELOPER.test(model.name) ? { systemRole: "developer" } : {}),
      responseFormat,
      ...(candidates === 1 ? {} : { candidates }),
      ...omitUndefined({ maxOutputTokens, temperature, reasoningEffort }),
    };
  }
}

/** Models that take instructions from the role developer, not system. */
const OF_DEVELOPER = /gpt/iu;

type Counted = "maxHistory" | "maxHistoryChars" | "candidates" | "tries" | "maxReplyChars";
type Settings = LmEngineOptions & Readonly<Record<Counted, number>>;

interface Asked {
  readonly contract: OutputContract;
  readonly facts: JsonValue | undefined;
}

/** The output that the facts leave nothing to say about. @throws ToolError where they alone are the output, and do not fit it */
function decidedOutput(contract: OutputContract, facts: JsonValue, toolName: string): JsonValue | undefined {
  const output = contract.outputOf(facts);
  const problems = output === undefined ? [] : contract.problems(output);
  if (problems.length === 0) return output;
  throw new ToolError("invalid_output", `The facts of the reducer of ${toolName} break its output schema.`, {
    details: problems,
    retryable: false,
    outcome: "failed",
    operatorHint: "Let the reducer return facts that fit the output schema, or an object with some of its properties.",
  });
}

/** How the first candidate may have ended while the others are whole. */
const OF_ONE_CANDIDATE: ReadonlySet<FinishReason> = new Set<FinishReason>(["length", "content-filter", "refusal"]);

function judge(reply: ModelReply | undefined, rules: ReplyRules): Verdict {
  if (reply === undefined) return { problems: [`the reply has more than ${rules.maxChars} characters`] };
  const { finish, finishDetail, text, candidates } = reply;
  if (endedWell(finish)) return chooseCandidate(candidates ?? [{ text }], rules);
  const others = OF_ONE_CANDIDATE.has(finish) ? chooseCandidate((candidates ?? []).slice(1), rules) : undefined;
  if (others !== undefined && !("problems" in others)) return others;
  const detail = finishDetail === undefined || finishDetail === finish ? "" : ` (${finishDetail})`;
  return { problems: [`the reply did not end well: ${finish}${detail}`] };
}

/** Most characters of a reply that is held out to the model again. */
const MAX_SHOWN_REPLY = 8_192;

function corrected(messages: readonly ModelMessage[], reply: string, problems: readonly string[]): readonly ModelMessage[] {
  const at = messages.length;
  const said = reply.trim() === "" ? [] : [message("assistant", reply.slice(0, MAX_SHOWN_REPLY), at)];
  return [...messages, ...said, message("user", correctionText(problems), at + said.length)];
}

function message(role: "user" | "assistant", content: string, at: number): ModelMessage {
  return { role, at, content };
}

function invalidReply(details: readonly string[]): ToolError {
  return new ToolError("invalid_output", "failed to generate valid tool result", {
    details,
    retryable: false,
    outcome: "failed",
    operatorHint: "Call it again, or let the engine try more often.",
  });
}

function checkOptions(options: LmEngineOptions): void {
  if (typeof options?.model?.stream !== "function")
    throw new ToolError("invalid_argument", "The engine lm needs a model.", { hint: "Give it as model." });
  checkKnownKeys(options, OPTIONS, "lmEngine()");
  const { instructions } = options;
  for (const [name, bounds] of Object.entries(BOUNDS)) checkNumber(Reflect.get(options, name), `${name} of the engine lm`, bounds);
  checkReasoningEffort(options.reasoningEffort, "reasoningEffort of the engine lm");
  if (instructions !== undefined && typeof instructions !== "string")
    throw new ToolError("invalid_argument", `instructions of the engine lm is ${quoted(instructions)}; it takes a string.`);
}
