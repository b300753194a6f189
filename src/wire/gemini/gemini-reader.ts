/** Reads replies of Gemini's generateContent, whole and streamed. */
import { ToolError } from "../../core/error.ts";
import { DEFAULT_MAX_CHARS, isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { endedWell, type FinishReason, type ModelEvent, type ModelReply, type ProviderCall, type TokenUsage } from "../../core/model.ts";
import { GEMINI } from "../gemini-conversation.ts";
import { toInputObject } from "../conversation-steps.ts";
import { checkStreamPiece } from "../framing/wire-json.ts";
import { toFinishReason } from "../openai-chat/finish-reason.ts";
import { asIndex, isFirstCandidate, numberField, asString } from "../read-field.ts";
import { ReplyBuilder, parseInput } from "../reply-builder.ts";
import type { DecodeOptions, StreamDecoder } from "../wire-format.ts";
import { answerFields, resolveCalledTool, toolInput } from "./computer-use.ts";
import { geminiError } from "./gemini-error.ts";
import { filePart } from "./gemini-media.ts";
import { StreamedArguments } from "./streamed-arguments.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";
import { wordEntries } from "../../core/base/wording.ts";

/** @see https://ai.google.dev/api/generate-content#FinishReason */
const FINISH: ReadonlyMap<string, FinishReason> = new Map([
  ...wordEntries("stop", "STOP"),
  ...wordEntries("calls", "FUNCTION_CALL"), // not Gemini's own value, but that of some compatible servers
  ...wordEntries("length", "MAX_TOKENS"),
  ...wordEntries(
    "content-filter",
    "SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII MODEL_ARMOR ESCALATION PUP_LIMITED_DISABLED IMAGE_SAFETY " +
      "IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION",
  ),
  ...wordEntries(
    "error",
    "IMAGE_OTHER NO_IMAGE MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS MALFORMED_RESPONSE MISSING_THOUGHT_SIGNATURE",
  ),
  ...wordEntries("pause", "CONTINUATION"),
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
  #hasReply = false;
  #isEnded = false;

  constructor(options: DecodeOptions = {}) {
    this.#reply = new ReplyBuilder(options);
    this.#toolNames = options.toolNames;
    this.#maxChars = options.maxChars ?? DEFAULT_MAX_CHARS;
  }

  /** Also accepts an array of chunks, the format of a stream without `alt=sse`. */
  readWhole(body: JsonValue): ModelReply {
    for (const chunk of isJsonArray(body) ? body : [body]) this.push(chunk);
    // retryable, as for a stream without content
    if (!this.#hasReply)
      throw new ToolError("model_failed", "The answer of Gemini is not a reply: it has no candidates.", { retryable: true });
    this.end();
    return this.#reply.endReply();
  }

  push(piece: JsonValue): readonly ModelEvent[] {
    if (!this.#isEnded && isJsonObject(piece)) this.#readChunk(piece);
    else if (!this.#isEnded) checkStreamPiece(piece);
    return this.#reply.takeEvents();
  }

  end(): readonly ModelEvent[] {
    if (!this.#isEnded) this.#endReply();
    this.#reply.endReply();
    return this.#reply.takeEvents();
  }

  #readChunk(chunk: JsonObject): void {
    const error = geminiError(chunk);
    if (error !== undefined) throw error;
    const { candidates, promptFeedback, usageMetadata, responseId, modelVersion } = chunk;
    this.#reply.setMetadata({ id: asString(responseId), model: asString(modelVersion) });
    if (isJsonObject(usageMetadata)) this.#reply.addUsage(usageOf(usageMetadata));
    const { blockReason } = isJsonObject(promptFeedback) ? promptFeedback : {};
    if (typeof blockReason === "string") this.#finish("content-filter", blockReason);
    const all = isJsonArray(candidates) ? candidates : [];
    const first = all.find(isFirstCandidate);
    for (const candidate of all) if (isJsonObject(candidate) && candidate !== first) this.#readOtherCandidate(candidate);
    if (!isJsonObject(first)) return;
    this.#hasReply = true;
    this.#probabilityOf(0).add(first);
    const { content, finishReason, finishMessage } = first;
    const { parts } = isJsonObject(content) ? content : {};
    for (const part of isJsonArray(parts) ? parts : []) if (isJsonObject(part)) this.#readPart(part);
    if (typeof finishReason === "string" && finishReason !== "FINISH_REASON_UNSPECIFIED")
      this.#finishWithReason(finishReason, finishMessage);
  }

  /** Reads a candidate after the first. */
  #readOtherCandidate(candidate: JsonObject): void {
    const { content } = candidate;
    const index = asIndex(candidate["index"]);
    if (index === undefined || index < 1) return;
    this.#reply.addCandidateText(index, "");
    this.#probabilityOf(index).add(candidate);
    const { parts } = isJsonObject(content) ? content : {};
    for (const part of isJsonArray(parts) ? parts : [])
      if (isJsonObject(part) && part["thought"] !== true) this.#reply.addCandidateText(index, asString(part["text"]) ?? "");
  }

  #probabilityOf(index: number): CandidateProbability {
    return getOrAdd(this.#probabilities, index, () => new CandidateProbability());
  }

  #finishWithReason(reason: string, message: JsonValue | undefined): void {
    const known = FINISH.get(reason) ?? toFinishReason(reason);
    // a call of a tool that was not offered is reported like any other; its result says that the tool does not exist
    const finish = reason === "UNEXPECTED_TOOL_CALL" && this.#calls > 0 ? "stop" : known;
    this.#finish(finish, typeof message === "string" && known !== "stop" ? `${reason}: ${message}` : reason);
  }

  #finish(finish: FinishReason, detail: string): void {
    this.#hasReply = true;
    this.#reply.setFinish(finish, detail);
  }

  #readPart(part: JsonObject): void {
    const { functionCall, text, thought, thoughtSignature, inlineData, fileData } = part;
    const isPlain = isJsonObject(functionCall) ? Object.keys(part).length === 1 : text === undefined || isPlainText(part);
    if (thoughtSignature !== undefined || thought === true || !isPlain) this.#needsNative = true;
    if (isJsonObject(functionCall)) return this.#readCall(functionCall, part);
    this.#storePart(part);
    if (typeof text === "string") return thought === true ? this.#reply.addReasoning(text) : this.#reply.addText(text);
    const media = filePart(inlineData, fileData);
    if (media !== undefined) return this.#reply.addMedia(media);
    this.#needsNative = true;
    const call = providerCallOf(part);
    if (call !== undefined) this.#reply.addProviderCall(call);
  }

  /** Stores a part. Consecutive pieces of text are merged; an empty text, with which streams end, is dropped because Gemini refuses it. */
  #storePart(part: JsonObject): void {
    if (isPlainText(part) && part["text"] === "") return;
    const last = this.#parts.at(-1);
    const isContinued = last !== undefined && isPlainText(last) && isPlainText(part) && last["thought"] === part["thought"];
    if (isContinued)
      this.#parts[this.#parts.length - 1] = { ...last, text: `${asString(last["text"]) ?? ""}${asString(part["text"]) ?? ""}` };
    else this.#parts.push(part);
  }

  #readCall(call: JsonObject, part: JsonObject): void {
    const { name, args, partialArgs, willContinue } = call;
    const isNew = typeof name === "string" && name !== "";
    if (isNew) {
      this.#endStreamedCall(false);
      this.#startCall(call, part);
    } else if (this.#streamed === undefined) return;
    this.#streamed?.args.add(partialArgs);
    if (willContinue === true) return;
    if (isNew && partialArgs === undefined) this.#endWholeCall(args);
    else this.#endStreamedCall(true);
  }

  #startCall({ id, name }: JsonObject, part: JsonObject): void {
    const key = this.#calls++;
    const called = asString(name) ?? "";
    const tool = resolveCalledTool(called, this.#toolNames);
    if (tool !== called) this.#needsNative = true;
    this.#reply.openCall(key, { id: asString(id), name: tool });
    this.#streamed = { key, name: called, tool, part, place: this.#parts.push(part) - 1, args: new StreamedArguments(this.#maxChars) };
  }

  /** Ends a call with whole arguments. Some compatible servers send them as text; text that cannot be parsed is kept, and is not a valid input. */
  #endWholeCall(args: JsonValue | undefined): void {
    const streamed = this.#streamed;
    if (streamed === undefined) return;
    this.#streamed = undefined;
    const input = parseInput(args);
    if (args !== undefined && !isJsonObject(args)) this.#parts[streamed.place] = withArguments(streamed.part, input);
    this.#sealCall(streamed, input);
  }

  #endStreamedCall(isMarkedEnd: boolean): void {
    const streamed = this.#streamed;
    if (streamed === undefined) return;
    this.#streamed = undefined;
    const input = streamed.args.input(isMarkedEnd);
    this.#parts[streamed.place] = withArguments(streamed.part, input);
    this.#sealCall(streamed, input);
  }

  #sealCall({ key, name, tool }: StreamedCall, args: JsonValue): void {
    const input = toolInput(tool, name, args);
    this.#reply.openCall(key, { native: answerFields(name, tool, input) });
    this.#reply.addArgumentText(key, JSON.stringify(input));
    this.#reply.setInput(key, input);
    this.#reply.sealCall(key);
  }

  #endReply(): void {
    this.#isEnded = true;
    // the end mark of a streamed call may be missing if the message ended well
    const { finishReason } = this.#reply;
    if (finishReason !== undefined && endedWell(finishReason)) this.#endStreamedCall(false);
    if (this.#needsNative) this.#reply.setNative({ format: GEMINI, blocks: this.#parts });
    for (const [index, { sum }] of this.#probabilities) if (sum !== undefined) this.#reply.addLogProbability(index, sum);
  }
}

function isPlainText(part: JsonObject): boolean {
  const { text, thought, ...rest } = part;
  return typeof text === "string" && (thought === undefined || typeof thought === "boolean") && Object.keys(rest).length === 0;
}

function withArguments({ functionCall, ...rest }: JsonObject, input: JsonValue): JsonObject {
  const { willContinue: _more, partialArgs: _pieces, ...call } = isJsonObject(functionCall) ? functionCall : {};
  return { functionCall: { ...call, args: toInputObject(input) }, ...rest };
}

function providerCallOf({ executableCode, toolCall }: JsonObject): ProviderCall | undefined {
  if (isJsonObject(executableCode)) {
    const { id, ...input } = executableCode;
    return { ...(typeof id === "string" ? { id } : {}), name: "code_execution", kind: "executableCode", input };
  }
  if (!isJsonObject(toolCall)) return undefined;
  const { id, toolType, args = {} } = toolCall;
  return { ...(typeof id === "string" ? { id } : {}), name: asString(toolType) ?? "toolCall", kind: "toolCall", input: args };
}

function usageOf(usage: JsonObject): Partial<TokenUsage> {
  const thoughts = numberField(usage, "thoughtsTokenCount");
  const cached = numberField(usage, "cachedContentTokenCount");
  const prompt = numberField(usage, "promptTokenCount");
  const candidates = numberField(usage, "candidatesTokenCount");
  return {
    ...(prompt === undefined ? {} : { inputTokens: prompt + (numberField(usage, "toolUsePromptTokenCount") ?? 0) }),
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
    const average = numberField(candidate, "avgLogprobs");
    const count = numberField(candidate, "tokenCount");
    if (average !== undefined && count !== undefined) this.#average = average * count;
    const chosen = isJsonObject(logprobsResult) ? logprobsResult["chosenCandidates"] : undefined;
    for (const token of isJsonArray(chosen) ? chosen : []) {
      const value = isJsonObject(token) ? numberField(token, "logProbability") : undefined;
      if (value !== undefined) this.#tokens = (this.#tokens ?? 0) + value;
    }
  }

  /** The log probability of all tokens; undefined if Gemini does not report it. */
  get sum(): number | undefined {
    return this.#tokens ?? this.#average;
  }
}
