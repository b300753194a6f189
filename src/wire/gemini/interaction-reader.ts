/** Reads replies of Gemini's Interactions API, whole and streamed. */
import { ToolError } from "../../core/error.ts";
import { DEFAULT_MAX_CHARS, isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { FinishReason, ModelEvent, ModelReply, TokenUsage } from "../../core/model.ts";
import { inputObject } from "../conversation-steps.ts";
import { refuseDamaged } from "../framing/wire-json.ts";
import { numberIn, textOf } from "../read-field.ts";
import { ReplyBuilder, readInput } from "../reply-builder.ts";
import type { DecodeOptions, StreamDecoder } from "../wire-format.ts";
import { answeredCall, calledTool, toolInput } from "./computer-use.ts";
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
  #over = false;

  constructor(options: DecodeOptions = {}) {
    this.#reply = new ReplyBuilder(options);
    this.#toolNames = options.toolNames;
    this.#maxChars = options.maxChars ?? DEFAULT_MAX_CHARS;
  }

  whole(body: JsonValue): ModelReply {
    const error = geminiError(body);
    const { steps, status } = isJsonObject(body) ? body : {};
    if (error !== undefined && !isJsonArray(steps)) throw error;
    if (!isJsonObject(body) || (!isJsonArray(steps) && typeof status !== "string"))
      throw new ToolError("model_failed", "The answer of Gemini is not an interaction: it has no steps.");
    for (const [index, step] of (isJsonArray(steps) ? steps : []).entries()) {
      if (!isJsonObject(step)) continue;
      this.#start(index, step);
      this.#stop(index);
    }
    this.#interaction(body);
    this.end();
    return this.#reply.end();
  }

  push(piece: JsonValue): readonly ModelEvent[] {
    if (!this.#over && isJsonObject(piece)) this.#read(piece);
    else if (!this.#over) refuseDamaged(piece);
    return this.#reply.take();
  }

  end(): readonly ModelEvent[] {
    if (!this.#over) this.#close();
    this.#reply.end();
    return this.#reply.take();
  }

  #read(event: JsonObject): void {
    const { event_type: type, index = null, step, delta, interaction, status } = event;
    const error = geminiError(event);
    if (error !== undefined) throw error;
    if (type === "step.start" && isJsonObject(step)) this.#start(index, step);
    else if (type === "step.delta" && isJsonObject(delta)) this.#add(index, delta);
    else if (type === "step.stop") this.#stop(index);
    else if (isJsonObject(interaction)) this.#interaction(interaction);
    else if (typeof status === "string") this.#status(status);
  }

  #interaction({ id, model, status, usage }: JsonObject): void {
    this.#reply.about({ id: textOf(id), model: textOf(model) });
    if (isJsonObject(usage)) this.#reply.usage(usageOf(usage));
    if (typeof status === "string") this.#status(status);
  }

  #status(status: string): void {
    if (!UNFINISHED.has(status)) this.#reply.finish(FINISH.get(status) ?? "other", status);
  }

  #start(index: JsonValue, fields: JsonObject): InteractionStep {
    if (this.#steps.size >= MAX_STEPS) throw new ToolError("too_large", `An interaction has more than ${MAX_STEPS} steps.`);
    this.#grow(fields);
    const step = new InteractionStep(fields);
    this.#steps.set(index, step);
    if (step.type === "function_call") this.#reply.open(keyOf(index), { id: textOf(step.field("id")), name: this.#toolOf(step) });
    for (const content of step.content) this.#tellContent(content);
    for (const content of step.summary) this.#reply.reasoning(textOf(content["text"]) ?? "");
    return step;
  }

  #add(index: JsonValue, delta: JsonObject): void {
    const { type, text, content, arguments: args, ...fields } = delta;
    const step = this.#steps.get(index) ?? this.#start(index, { type: type === "text" ? "model_output" : "thought" });
    if (step.stopped) return;
    this.#grow(delta);
    if (type === "text" && typeof text === "string") {
      step.addText(text);
      this.#reply.text(text);
    } else if (type === "thought_summary" && isJsonObject(content)) {
      step.addSummary(content);
      this.#reply.reasoning(textOf(content["text"]) ?? "");
    } else if (type === "arguments_delta" && typeof args === "string") {
      step.addArguments(args);
      this.#reply.argumentText(keyOf(index), args);
    } else if (type === "text_annotation_delta") {
      if (isJsonArray(delta["annotations"])) step.addAnnotations(delta["annotations"]);
    } else if (step.type === "model_output") {
      step.addContent(delta);
      this.#tellContent(delta);
    } else step.add({ ...fields, ...(args === undefined ? {} : { arguments: args }), ...(content === undefined ? {} : { content }) });
  }

  #tellContent(content: JsonObject): void {
    const { type, text, mime_type: mediaType, data, uri } = content;
    if (type === "text" && typeof text === "string") return this.#reply.text(text);
    const media = mediaPart(mediaType, data) ?? (typeof uri === "string" ? { type: "file" as const, uri } : undefined);
    if (media !== undefined) this.#reply.media(media);
  }

  #stop(index: JsonValue): void {
    const step = this.#steps.get(index);
    if (step === undefined || step.stopped) return;
    step.stopped = true;
    if (step.type === "function_call") this.#seal(index, step);
    else if (step.type.endsWith("_call")) {
      const { id, name } = { id: textOf(step.field("id")), name: textOf(step.field("name")) };
      this.#reply.providerCall({
        ...(id === undefined ? {} : { id }),
        name: name ?? step.type,
        kind: step.type,
        input: readInput(step.input),
      });
    }
  }

  #toolOf(step: InteractionStep): string {
    return calledTool(textOf(step.field("name")) ?? "", this.#toolNames);
  }

  #seal(index: JsonValue, step: InteractionStep): void {
    const [tool, name] = [this.#toolOf(step), textOf(step.field("name")) ?? ""];
    const input = tool === name ? step.input : toolInput(tool, name, readInput(step.input));
    this.#reply.open(keyOf(index), { native: answeredCall(name, tool, readInput(input)) });
    if (typeof input !== "string") this.#reply.argumentText(keyOf(index), JSON.stringify(input));
    this.#reply.setInput(keyOf(index), input);
    this.#reply.seal(keyOf(index));
  }

  #close(): void {
    this.#over = true;
    if (this.#reply.finished === "stop") for (const index of this.#steps.keys()) this.#stop(index);
    const steps = [...this.#steps.values()];
    const isOfComputer = (step: InteractionStep): boolean => step.type === "function_call" && this.#toolOf(step) !== step.field("name");
    if (steps.some((step) => step.needsNative || isOfComputer(step)))
      this.#reply.native({ format: INTERACTIONS, blocks: steps.map(wholeStep) });
  }

  #grow(piece: JsonObject): void {
    for (const value of Object.values(piece)) if (typeof value === "string") this.#chars += value.length;
    if (this.#chars > this.#maxChars) throw new ToolError("too_large", `An interaction has more than ${this.#maxChars} characters.`);
  }
}

function wholeStep(step: InteractionStep): JsonObject {
  const { input } = step;
  if (step.field("arguments") === undefined && typeof input !== "string") return step.whole();
  return step.whole(inputObject(readInput(input)));
}

function keyOf(index: JsonValue): string {
  return JSON.stringify(index);
}

function usageOf(usage: JsonObject): Partial<TokenUsage> {
  const input = numberIn(usage, "total_input_tokens");
  const output = numberIn(usage, "total_output_tokens");
  const cached = numberIn(usage, "total_cached_tokens");
  const thoughts = numberIn(usage, "total_thought_tokens");
  return {
    ...(input === undefined ? {} : { inputTokens: input + (numberIn(usage, "total_tool_use_tokens") ?? 0) }),
    ...(output === undefined && thoughts === undefined ? {} : { outputTokens: (output ?? 0) + (thoughts ?? 0) }),
    ...omitUndefined({ cachedInputTokens: cached, reasoningTokens: thoughts }),
  };
}
