/** Reads replies of Gemini's generateContent, whole and streamed. */
import { ToolError } from "../../core/error.ts";
import { DEFAULT_MAX_CHARS, isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { endedWell, type FinishReason, type ModelEvent, type ModelReply, type ProviderCall, type TokenUsage } from "../../core/model.ts";
import { GEMINI } from "../gemini-conversation.ts";
import { inputObject } from "../conversation-steps.ts";
import { refuseDamaged } from "../framing/wire-json.ts";
import { isFirst, numberIn, textOf } from "../read-field.ts";
import { ReplyBuilder, readInput } from "../reply-builder.ts";
import type { DecodeOptions, StreamDecoder } from "../wire-format.ts";
import { answeredCall, calledTool, toolInput } from "./computer-use.ts";
import { geminiError } from "./gemini-error.ts";
import { filePart } from "./gemini-media.ts";
import { StreamedArguments } from "./streamed-arguments.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";
import { wordsFor } from "../../core/base/wording.ts";

/** @see https://ai.google.dev/api/generate-content#FinishReason */
const FINISH: ReadonlyMap<string, FinishReason> = new Map([
  ...wordsFor("stop", "STOP"),
  ...wordsFor("calls", "FUNCTION_CALL"), // not Gemini's own value, but that of some compatible servers
  ...wordsFor("length", "MAX_TOKENS"),
  ...wordsFor(
    "content-filter",
    "SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII MODEL_ARMOR ESCALATION PUP_LIMITED_DISABLED IMAGE_SAFETY " +
      "IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION",
  ),
  ...wordsFor(
    "error",
    "IMAGE_OTHER NO_IMAGE MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS MALFORMED_RESPONSE MISSING_THOUGHT_SIGNATURE",
  ),
  ...wordsFor("pause", "CONTINUATION"),
]);

/** A call whose arguments are streamed value by value. */
interface StreamedCall {
  readonly key: number;
  /** The name that Gemini called; `tool` is the tool that it belongs to. */
  readonly name: string;
  readonly tool: string;
  /** The part with which the call began; `place` is its position in `#parts`. */
  readonly part: JsonObject;
  readonly place: number;
  readonly args: StreamedArguments;
}

/** Reads a reply, from the chunks of a stream or whole. Of candidates after the first, only text and probabilities are read. */
export class GeminiReader implements StreamDecoder {
  readonly #reply: ReplyBuilder;
  readonly #maxChars: number;
  readonly #toolNames: DecodeOptions["toolNames"];
  /** The received parts; pieces of one text are merged. */
  readonly #parts: JsonObject[] = [];
  #needsNative = false;
  #calls = 0;
  /** The probabilities by candidate index. */
  readonly #probabilities = new Map<number, CandidateProbability>();
  #streamed: StreamedCall | undefined;
  #said = false;
  #over = false;

  constructor(options: DecodeOptions = {}) {
    this.#reply = new ReplyBuilder(options);
    this.#toolNames = options.toolNames;
    this.#maxChars = options.maxChars ?? DEFAULT_MAX_CHARS;
  }

  /** Also accepts an array of chunks, the format of a stream without `alt=sse`. */
  whole(body: JsonValue): ModelReply {
    for (const chunk of isJsonArray(body) ? body : [body]) this.push(chunk);
    // retryable, as for a stream without content
    if (!this.#said) throw new ToolError("model_failed", "The answer of Gemini is not a reply: it has no candidates.", { retryable: true });
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

  #read(chunk: JsonObject): void {
    const error = geminiError(chunk);
    if (error !== undefined) throw error;
    const { candidates, promptFeedback, usageMetadata, responseId, modelVersion } = chunk;
    this.#reply.about({ id: textOf(responseId), model: textOf(modelVersion) });
    if (isJsonObject(usageMetadata)) this.#reply.usage(usageOf(usageMetadata));
    const { blockReason } = isJsonObject(promptFeedback) ? promptFeedback : {};
    if (typeof blockReason === "string") this.#finish("content-filter", blockReason);
    const all = isJsonArray(candidates) ? candidates : [];
    const first = all.find(isFirst);
    for (const candidate of all) if (isJsonObject(candidate) && candidate !== first) this.#other(candidate);
    if (!isJsonObject(first)) return;
    this.#said = true;
    this.#probabilityOf(0).add(first);
    const { content, finishReason, finishMessage } = first;
    const { parts } = isJsonObject(content) ? content : {};
    for (const part of isJsonArray(parts) ? parts : []) if (isJsonObject(part)) this.#part(part);
    if (typeof finishReason === "string" && finishReason !== "FINISH_REASON_UNSPECIFIED") this.#finishAs(finishReason, finishMessage);
  }

  /** Reads a candidate after the first. */
  #other(candidate: JsonObject): void {
    const { index, content } = candidate;
    if (typeof index !== "number" || index < 1) return;
    this.#reply.otherText(index, "");
    this.#probabilityOf(index).add(candidate);
    const { parts } = isJsonObject(content) ? content : {};
    for (const part of isJsonArray(parts) ? parts : [])
      if (isJsonObject(part) && part["thought"] !== true) this.#reply.otherText(index, textOf(part["text"]) ?? "");
  }

  #probabilityOf(index: number): CandidateProbability {
    return getOrAdd(this.#probabilities, index, () => new CandidateProbability());
  }

  #finishAs(reason: string, message: JsonValue | undefined): void {
    const known = FINISH.get(reason) ?? "other";
    // a call of a tool that was not offered is reported like any other; its result says that the tool does not exist
    const finish = reason === "UNEXPECTED_TOOL_CALL" && this.#calls > 0 ? "stop" : known;
    this.#finish(finish, typeof message === "string" && known !== "stop" ? `${reason}: ${message}` : reason);
  }

  #finish(finish: FinishReason, detail: string): void {
    this.#said = true;
    this.#reply.finish(finish, detail);
  }

  #part(part: JsonObject): void {
    const { functionCall, text, thought, thoughtSignature, inlineData, fileData } = part;
    const isPlain = isJsonObject(functionCall) ? Object.keys(part).length === 1 : text === undefined || isPlainText(part);
    if (thoughtSignature !== undefined || thought === true || !isPlain) this.#needsNative = true;
    if (isJsonObject(functionCall)) return this.#call(functionCall, part);
    this.#remember(part);
    if (typeof text === "string") return thought === true ? this.#reply.reasoning(text) : this.#reply.text(text);
    const media = filePart(inlineData, fileData);
    if (media !== undefined) return this.#reply.media(media);
    this.#needsNative = true;
    const call = providerCallOf(part);
    if (call !== undefined) this.#reply.providerCall(call);
  }

  /** Stores a part. Consecutive pieces of text are merged; an empty text, with which streams end, is dropped because Gemini refuses it. */
  #remember(part: JsonObject): void {
    if (isPlainText(part) && part["text"] === "") return;
    const last = this.#parts.at(-1);
    const goesOn = last !== undefined && isPlainText(last) && isPlainText(part) && last["thought"] === part["thought"];
    if (goesOn) this.#parts[this.#parts.length - 1] = { ...last, text: `${textOf(last["text"]) ?? ""}${textOf(part["text"]) ?? ""}` };
    else this.#parts.push(part);
  }

  #call(call: JsonObject, part: JsonObject): void {
    const { name, args, partialArgs, willContinue } = call;
    const isNew = typeof name === "string" && name !== "";
    if (isNew) {
      this.#endStreamed(false);
      this.#begin(call, part);
    } else if (this.#streamed === undefined) return;
    this.#streamed?.args.add(partialArgs);
    if (willContinue === true) return;
    if (isNew && partialArgs === undefined) this.#endWhole(args);
    else this.#endStreamed(true);
  }

  #begin({ id, name }: JsonObject, part: JsonObject): void {
    const key = this.#calls++;
    const called = textOf(name) ?? "";
    const tool = calledTool(called, this.#toolNames);
    if (tool !== called) this.#needsNative = true;
    this.#reply.open(key, { id: textOf(id), name: tool });
    this.#streamed = { key, name: called, tool, part, place: this.#parts.push(part) - 1, args: new StreamedArguments(this.#maxChars) };
  }

  /** Ends a call with whole arguments. Some compatible servers send them as text; text that cannot be parsed is kept, and is not a valid input. */
  #endWhole(args: JsonValue | undefined): void {
    const streamed = this.#streamed;
    if (streamed === undefined) return;
    this.#streamed = undefined;
    const input = readInput(args);
    if (args !== undefined && !isJsonObject(args)) this.#parts[streamed.place] = withArguments(streamed.part, input);
    this.#seal(streamed, input);
  }

  #endStreamed(isTold: boolean): void {
    const streamed = this.#streamed;
    if (streamed === undefined) return;
    this.#streamed = undefined;
    const input = streamed.args.input(isTold);
    this.#parts[streamed.place] = withArguments(streamed.part, input);
    this.#seal(streamed, input);
  }

  #seal({ key, name, tool }: StreamedCall, args: JsonValue): void {
    const input = toolInput(tool, name, args);
    this.#reply.open(key, { native: answeredCall(name, tool, input) });
    this.#reply.argumentText(key, JSON.stringify(input));
    this.#reply.setInput(key, input);
    this.#reply.seal(key);
  }

  #close(): void {
    this.#over = true;
    // the end mark of a streamed call may be missing if the message ended well
    const { finished } = this.#reply;
    if (finished !== undefined && endedWell(finished)) this.#endStreamed(false);
    if (this.#needsNative) this.#reply.native({ format: GEMINI, blocks: this.#parts });
    for (const [index, { sum }] of this.#probabilities) if (sum !== undefined) this.#reply.logProbability(index, sum);
  }
}

function isPlainText(part: JsonObject): boolean {
  const { text, thought, ...rest } = part;
  return typeof text === "string" && (thought === undefined || typeof thought === "boolean") && Object.keys(rest).length === 0;
}

function withArguments({ functionCall, ...rest }: JsonObject, input: JsonValue): JsonObject {
  const { willContinue: _more, partialArgs: _pieces, ...call } = isJsonObject(functionCall) ? functionCall : {};
  return { functionCall: { ...call, args: inputObject(input) }, ...rest };
}

function providerCallOf({ executableCode, toolCall }: JsonObject): ProviderCall | undefined {
  if (isJsonObject(executableCode)) {
    const { id, ...input } = executableCode;
    return { ...(typeof id === "string" ? { id } : {}), name: "code_execution", kind: "executableCode", input };
  }
  if (!isJsonObject(toolCall)) return undefined;
  const { id, toolType, args = {} } = toolCall;
  return { ...(typeof id === "string" ? { id } : {}), name: textOf(toolType) ?? "toolCall", kind: "toolCall", input: args };
}

function usageOf(usage: JsonObject): Partial<TokenUsage> {
  const thoughts = numberIn(usage, "thoughtsTokenCount");
  const cached = numberIn(usage, "cachedContentTokenCount");
  const prompt = numberIn(usage, "promptTokenCount");
  const candidates = numberIn(usage, "candidatesTokenCount");
  return {
    ...(prompt === undefined ? {} : { inputTokens: prompt + (numberIn(usage, "toolUsePromptTokenCount") ?? 0) }),
    ...(candidates === undefined && thoughts === undefined ? {} : { outputTokens: (candidates ?? 0) + (thoughts ?? 0) }),
    ...omitUndefined({ cachedInputTokens: cached, reasoningTokens: thoughts }),
  };
}

/**
 * Sums the log probability of a candidate over its chunks.
 *
 * @see https://ai.google.dev/api/generate-content#LogprobsResult
 */
class CandidateProbability {
  /** The sum over the tokens that were reported individually. */
  #tokens: number | undefined;
  /** The average over the whole candidate, times its number of tokens. */
  #average: number | undefined;

  add(candidate: JsonObject): void {
    const { logprobsResult } = candidate;
    const average = numberIn(candidate, "avgLogprobs");
    const count = numberIn(candidate, "tokenCount");
    if (average !== undefined && count !== undefined) this.#average = average * count;
    const chosen = isJsonObject(logprobsResult) ? logprobsResult["chosenCandidates"] : undefined;
    for (const token of isJsonArray(chosen) ? chosen : []) {
      const value = isJsonObject(token) ? numberIn(token, "logProbability") : undefined;
      if (value !== undefined) this.#tokens = (this.#tokens ?? 0) + value;
    }
  }

  /** The log probability of all tokens; undefined if Gemini does not report it. */
  get sum(): number | undefined {
    return this.#tokens ?? this.#average;
  }
}
