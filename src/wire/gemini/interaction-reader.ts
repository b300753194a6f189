/** Reads replies of Gemini's Interactions API, whole and streamed. */
import { ToolError } from "../../core/error.ts";
import { DEFAULT_MAX_CHARS, isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { FinishReason, ModelEvent, ModelReply, TokenUsage } from "../../core/model.ts";
import { toInputObject } from "../conversation-steps.ts";
import { checkStreamPiece } from "../framing/wire-json.ts";
import { numberField, asString } from "../read-field.ts";
import { ReplyBuilder, parseInput } from "../reply-builder.ts";
import type { DecodeOptions, StreamDecoder } from "../wire-format.ts";
import { answerFields, resolveCalledTool, toolInput } from "./computer-use.ts";
import { geminiError } from "./gemini-error.ts";
import { mediaPart } from "./gemini-media.ts";
import { InteractionStep } from "./interaction-step.ts";
import { INTERACTIONS } from "./interaction-steps.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";

/** How an interaction ended, by its status. `in_progress` and `queued` are not an end. @see https://ai.google.dev/api/interactions-api */
const FINISH: ReadonlyMap<string, FinishReason> = new Map([
  ["completed", "stop"],
  ["requires_action", "stop"],
  ["incomplete", "length"],
  ["budget_exceeded", "length"],
  ["requires_continuation", "pause"],
  ["failed", "error"],
  ["cancelled", "error"],
]);
const UNFINISHED: ReadonlySet<string> = new Set(["in_progress", "queued"]);
const MAX_STEPS = 10_000;

export class InteractionReader implements StreamDecoder {
  readonly #reply: ReplyBuilder;
  readonly #maxChars: number;
  readonly #toolNames: DecodeOptions["toolNames"];
  /** The steps by their index in the stream. */
  readonly #steps = new Map<JsonValue, InteractionStep>();
  #chars = 0;
  #isEnded = false;

  constructor(options: DecodeOptions = {}) {
    this.#reply = new ReplyBuilder(options);
    this.#toolNames = options.toolNames;
    this.#maxChars = options.maxChars ?? DEFAULT_MAX_CHARS;
  }

  readWhole(body: JsonValue): ModelReply {
    const error = geminiError(body);
    const { steps, status } = isJsonObject(body) ? body : {};
    if (error !== undefined && !isJsonArray(steps)) throw error;
    if (!isJsonObject(body) || (!isJsonArray(steps) && typeof status !== "string"))
      throw new ToolError("model_failed", "The answer of Gemini is not an interaction: it has no steps.");
    for (const [index, step] of (isJsonArray(steps) ? steps : []).entries()) {
      if (!isJsonObject(step)) continue;
      this.#startStep(index, step);
      this.#stopStep(index);
    }
    this.#readInteraction(body);
    this.end();
    return this.#reply.endReply();
  }

  push(piece: JsonValue): readonly ModelEvent[] {
    if (!this.#isEnded && isJsonObject(piece)) this.#readEvent(piece);
    else if (!this.#isEnded) checkStreamPiece(piece);
    return this.#reply.takeEvents();
  }

  end(): readonly ModelEvent[] {
    if (!this.#isEnded) this.#endReply();
    this.#reply.endReply();
    return this.#reply.takeEvents();
  }

  #readEvent(event: JsonObject): void {
    const { event_type: type, index = null, step, delta, interaction, status } = event;
    const error = geminiError(event);
    if (error !== undefined) throw error;
    if (type === "step.start" && isJsonObject(step)) this.#startStep(index, step);
    else if (type === "step.delta" && isJsonObject(delta)) this.#addDelta(index, delta);
    else if (type === "step.stop") this.#stopStep(index);
    else if (isJsonObject(interaction)) this.#readInteraction(interaction);
    else if (typeof status === "string") this.#readStatus(status);
  }

  #readInteraction({ id, model, status, usage }: JsonObject): void {
    this.#reply.setMetadata({ id: asString(id), model: asString(model) });
    if (isJsonObject(usage)) this.#reply.addUsage(usageOf(usage));
    if (typeof status === "string") this.#readStatus(status);
  }

  #readStatus(status: string): void {
    if (!UNFINISHED.has(status)) this.#reply.setFinish(FINISH.get(status) ?? "other", status);
  }

  #startStep(index: JsonValue, fields: JsonObject): InteractionStep {
    if (this.#steps.size >= MAX_STEPS) throw new ToolError("too_large", `An interaction has more than ${MAX_STEPS} steps.`);
    this.#countChars(fields);
    const step = new InteractionStep(fields);
    this.#steps.set(index, step);
    if (step.type === "function_call") this.#reply.openCall(keyOf(index), { id: asString(step.field("id")), name: this.#toolOf(step) });
    for (const content of step.content) this.#reportContent(content);
    for (const content of step.summary) this.#reply.addReasoning(asString(content["text"]) ?? "");
    return step;
  }

  #addDelta(index: JsonValue, delta: JsonObject): void {
    const { type, text, content, arguments: args, ...fields } = delta;
    const step = this.#steps.get(index) ?? this.#startStep(index, { type: type === "text" ? "model_output" : "thought" });
    if (step.stopped) return;
    this.#countChars(delta);
    if (type === "text" && typeof text === "string") {
      step.addText(text);
      this.#reply.addText(text);
    } else if (type === "thought_summary" && isJsonObject(content)) {
      step.addSummary(content);
      this.#reply.addReasoning(asString(content["text"]) ?? "");
    } else if (type === "arguments_delta" && typeof args === "string") {
      step.addArguments(args);
      this.#reply.addArgumentText(keyOf(index), args);
    } else if (type === "text_annotation_delta") {
      if (isJsonArray(delta["annotations"])) step.addAnnotations(delta["annotations"]);
    } else if (step.type === "model_output") {
      step.addContent(delta);
      this.#reportContent(delta);
    } else
      step.mergeFields({ ...fields, ...(args === undefined ? {} : { arguments: args }), ...(content === undefined ? {} : { content }) });
  }

  #reportContent(content: JsonObject): void {
    const { type, text, mime_type: mediaType, data, uri } = content;
    if (type === "text" && typeof text === "string") return this.#reply.addText(text);
    const media = mediaPart(mediaType, data) ?? (typeof uri === "string" ? { type: "file" as const, uri } : undefined);
    if (media !== undefined) this.#reply.addMedia(media);
  }

  #stopStep(index: JsonValue): void {
    const step = this.#steps.get(index);
    if (step === undefined || step.stopped) return;
    step.stopped = true;
    if (step.type === "function_call") this.#sealCall(index, step);
    else if (step.type.endsWith("_call")) {
      const { id, name } = { id: asString(step.field("id")), name: asString(step.field("name")) };
      this.#reply.addProviderCall({
        ...(id === undefined ? {} : { id }),
        name: name ?? step.type,
        kind: step.type,
        input: parseInput(step.input),
      });
    }
  }

  #toolOf(step: InteractionStep): string {
    return resolveCalledTool(asString(step.field("name")) ?? "", this.#toolNames);
  }

  #sealCall(index: JsonValue, step: InteractionStep): void {
    const [tool, name] = [this.#toolOf(step), asString(step.field("name")) ?? ""];
    const input = tool === name ? step.input : toolInput(tool, name, parseInput(step.input));
    this.#reply.openCall(keyOf(index), { native: answerFields(name, tool, parseInput(input)) });
    if (typeof input !== "string") this.#reply.addArgumentText(keyOf(index), JSON.stringify(input));
    this.#reply.setInput(keyOf(index), input);
    this.#reply.sealCall(keyOf(index));
  }

  #endReply(): void {
    this.#isEnded = true;
    if (this.#reply.finishReason === "stop") for (const index of this.#steps.keys()) this.#stopStep(index);
    const steps = [...this.#steps.values()];
    const isOfComputer = (step: InteractionStep): boolean => step.type === "function_call" && this.#toolOf(step) !== step.field("name");
    if (steps.some((step) => step.needsNative || isOfComputer(step)))
      this.#reply.setNative({ format: INTERACTIONS, blocks: steps.map(wholeStep) });
  }

  #countChars(piece: JsonObject): void {
    for (const value of Object.values(piece)) if (typeof value === "string") this.#chars += value.length;
    if (this.#chars > this.#maxChars) throw new ToolError("too_large", `An interaction has more than ${this.#maxChars} characters.`);
  }
}

function wholeStep(step: InteractionStep): JsonObject {
  const { input } = step;
  if (step.field("arguments") === undefined && typeof input !== "string") return step.toStep();
  return step.toStep(toInputObject(parseInput(input)));
}

function keyOf(index: JsonValue): string {
  return JSON.stringify(index);
}

function usageOf(usage: JsonObject): Partial<TokenUsage> {
  const input = numberField(usage, "total_input_tokens");
  const output = numberField(usage, "total_output_tokens");
  const cached = numberField(usage, "total_cached_tokens");
  const thoughts = numberField(usage, "total_thought_tokens");
  return {
    ...(input === undefined ? {} : { inputTokens: input + (numberField(usage, "total_tool_use_tokens") ?? 0) }),
    ...(output === undefined && thoughts === undefined ? {} : { outputTokens: (output ?? 0) + (thoughts ?? 0) }),
    ...omitUndefined({ cachedInputTokens: cached, reasoningTokens: thoughts }),
  };
}
