/** Assembles a model's message from its pieces: the one place where calls are opened, filled and sealed, for every format. */
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { ToolError } from "../core/error.ts";
import type { ContentPart } from "../core/content.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../core/base/json.ts";
import type { NativeMessage } from "../core/message.ts";
import { endedWell } from "../core/model.ts";
import type { FinishReason, ModelCall, ModelEvent, ModelReply, ProviderCall, TokenUsage } from "../core/model.ts";
import { parseJson } from "../core/base/parse-json.ts";
import { readUsage } from "../core/formats/token-usage.ts";
import { Candidates } from "./candidates.ts";
import { isEmptyInput, joinArguments } from "./join-arguments.ts";
import { expandParallelCalls } from "./parallel-calls.ts";
import { hasHashSuffix, providerName, toQualifiedName } from "./provider-name.ts";
import type { DecodeOptions } from "./wire-format.ts";

const DEFAULT_MAX_CHARS = 16 * 1024 * 1024;
const MAX_CALLS = 4_096;
const NO_NAMES: ReadonlyMap<string, string> = new Map();

/** A call that is being received. */
interface OpenCall {
  readonly index: number;
  readonly kind: NonNullable<ModelCall["kind"]>;
  id: string | undefined;
  name: string;
  readonly reasoning: string | undefined;
  readonly warnings: readonly string[] | undefined;
  native: JsonObject | undefined;
  /** Pieces of the arguments as text. */
  pieces: string[];
  /** The input as JSON, if the format sends it as JSON. */
  input: JsonValue | undefined;
  /** Whether `call-open` was emitted. */
  isAnnounced: boolean;
  sealed: boolean;
  /** The call as it is reported; set when its turn to be reported comes. */
  modelCall: ModelCall | undefined;
}

export interface CallParts {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly kind?: ModelCall["kind"];
  /** Why the model makes the call, if the format has a field for that. */
  readonly reasoning?: string | undefined;
  /** Corrections made while the call was read. */
  readonly warnings?: readonly string[] | undefined;
  /** As in `ModelCall`; the last value counts, even after the call was sealed. */
  readonly native?: JsonObject | undefined;
}

/**
 * Collects one message from what a decoder reads.
 *
 * A decoder identifies calls by any key (an index, an item id). Calls are reported in the order in which they were opened: one that is sealed before
 * an earlier one waits for it. Empty ids count as none. `end` seals open calls if the message ended well, and drops them otherwise. Arguments that
 * are not a JSON object may have been cut off, so such a call is reported only when the message has ended well. Input after `end` is ignored.
 */
export class ReplyBuilder {
  readonly #names: ReadonlyMap<string, string>;
  readonly #maxChars: number;
  #events: ModelEvent[] = [];
  #calls = new Map<string | number, OpenCall>();
  /** The calls in the order in which they were opened. */
  #opened: OpenCall[] = [];
  /** Number of `#opened` calls that were reported as sealed. */
  #reportedCount = 0;
  #sealed: ModelCall[] = [];
  #providerCalls: ProviderCall[] = [];
  #media: ContentPart[] = [];
  #text: string[] = [];
  #reasoning: string[] = [];
  #warnings: string[] = [];
  #chars = 0;
  #finish: FinishReason | undefined;
  #finishDetail: string | undefined;
  #usage: Partial<TokenUsage> = {};
  #native: NativeMessage | undefined;
  #expanded = false;
  #id: string | undefined;
  #model: string | undefined;
  #candidates = new Candidates();
  #reply: ModelReply | undefined;

  constructor({ toolNames = NO_NAMES, maxChars = DEFAULT_MAX_CHARS }: DecodeOptions = {}) {
    this.#names = toolNames;
    this.#maxChars = maxChars;
  }

  /** Returns the events since the last `takeEvents`. */
  takeEvents(): readonly ModelEvent[] {
    const events = this.#events;
    if (events.length > 0) this.#events = [];
    return events;
  }

  addText(text: string): void {
    if (text === "") return;
    this.#countChars(text.length);
    this.#text.push(text);
    this.#emit({ type: "text-delta", text });
  }

  addReasoning(text: string): void {
    if (text === "") return;
    this.#countChars(text.length);
    this.#reasoning.push(text);
    this.#emit({ type: "reasoning-delta", text });
  }

  /** Adds text of another reply to the same request, by its index from 1; an empty text only records that the reply exists. */
  addCandidateText(index: number, text: string): void {
    if (this.#candidates.addText(index, text)) this.#countChars(text.length);
  }

  /** Adds the summed log probability of more tokens of a reply, by its index from 0. */
  addLogProbability(index: number, sum: number): void {
    this.#candidates.addLogProbability(index, sum);
  }

  addWarning(warning: string): void {
    this.#warnings.push(warning);
  }

  addMedia(part: ContentPart): void {
    this.#countChars("data" in part ? part.data.length : 0);
    this.#media.push(part);
  }

  hasCall(key: string | number): boolean {
    return this.#calls.has(key);
  }

  /** Opens a call, or fills in missing fields of an open one; known fields are kept. */
  openCall(key: string | number, { id, name, kind = "function", reasoning, warnings, native }: CallParts): void {
    let call = this.#calls.get(key);
    if (call === undefined) {
      if (this.#calls.size >= MAX_CALLS) throw tooManyCallsError();
      call = {
        index: this.#calls.size,
        kind,
        id: undefined,
        name: "",
        reasoning,
        warnings,
        native: undefined,
        pieces: [],
        input: undefined,
        isAnnounced: false,
        sealed: false,
        modelCall: undefined,
      };
      this.#calls.set(key, call);
      this.#opened.push(call);
    }
    if (native !== undefined && call.modelCall === undefined) call.native = native;
    else if (native !== undefined) this.#sealed = this.#sealed.map((one) => (one === call?.modelCall ? { ...one, native } : one));
    if (call.id === undefined && id !== undefined && id !== "") call.id = id;
    if (call.name === "" && name !== undefined) call.name = name;
    if (call.isAnnounced || call.name === "") return;
    call.isAnnounced = true;
    this.#emit({ type: "call-open", index: call.index, name: this.#qualifiedName(call.name) });
    if (call.pieces.length > 0) this.#emit({ type: "call-delta", index: call.index, text: call.pieces.join("") });
  }

  /** Appends a piece of a call's arguments, or of a custom call's text; reported once the call's name is known. */
  addArgumentText(key: string | number, text: string): void {
    const call = this.#calls.get(key);
    if (call === undefined || call.sealed || text === "") return;
    this.#countChars(text.length);
    if (isEmptyInput(call.input)) call.input = undefined; // a placeholder before the pieces
    call.pieces.push(text);
    if (call.isAnnounced) this.#emit({ type: "call-delta", index: call.index, text });
  }

  /** Sets the whole arguments, as text or JSON, replacing the pieces; empty arguments replace none, as some servers leave them out at the end. */
  setInput(key: string | number, input: JsonValue): void {
    const call = this.#calls.get(key);
    if (call === undefined || call.sealed || (call.pieces.length > 0 && isEmptyInput(input))) return;
    if (typeof input === "string") call.pieces = [input];
    else call.input = input;
  }

  /** Marks a call as complete. */
  sealCall(key: string | number): void {
    const call = this.#calls.get(key);
    if (call === undefined || call.sealed) return;
    call.sealed = true;
    this.#reportSealedCalls();
  }

  /** Marks all calls as complete. */
  sealAllCalls(): void {
    for (const call of this.#calls.values()) call.sealed = true;
    this.#reportSealedCalls();
  }

  addProviderCall(call: ProviderCall): void {
    this.#providerCalls.push(call);
    this.#emit({ type: "provider-call", call });
  }

  addUsage(usage: Partial<TokenUsage>): void {
    this.#usage = { ...this.#usage, ...usage };
  }

  /** Sets why the message ends, with the provider's own term. A reason that is not a good end is not overwritten by later ones. */
  setFinish(reason: FinishReason, detail?: string): void {
    if (this.#finish !== undefined && !endedWell(this.#finish)) return;
    this.#finish = reason;
    this.#finishDetail = detail;
  }

  get finishReason(): FinishReason | undefined {
    return this.#finish;
  }

  setMetadata(metadata: { readonly id?: string | undefined; readonly model?: string | undefined }): void {
    this.#id = metadata.id ?? this.#id;
    this.#model = metadata.model ?? this.#model;
  }

  /** Sets the message in the provider's own form, which keeps what Haft's types leave out. */
  setNative(native: NativeMessage): void {
    this.#native = native;
  }

  /** Discards everything received so far: the next pieces are another message. */
  voidReply(reason: string): void {
    this.#emit({ type: "reply-void", reason });
    this.#calls = new Map();
    this.#opened = [];
    this.#reportedCount = 0;
    this.#sealed = [];
    this.#providerCalls = [];
    this.#media = [];
    this.#warnings = [];
    this.#text = [];
    this.#reasoning = [];
    this.#chars = 0;
    this.#finish = undefined;
    this.#finishDetail = undefined;
    this.#usage = {};
    this.#native = undefined;
    this.#expanded = false;
    this.#candidates = new Candidates();
    this.#id = undefined;
    this.#model = undefined;
  }

  /** Ends the message; only the first call emits `reply-end`. */
  endReply(): ModelReply {
    if (this.#reply !== undefined) return this.#reply;
    const finish = this.#finish ?? "truncated";
    if (endedWell(finish)) {
      this.sealAllCalls();
      this.#reportSealedCalls(true);
    }
    const calls = endedWell(finish) ? this.#sealed : [];
    const text = this.#text.join("");
    const candidates = this.#candidates.list(text);
    const reply: ModelReply = {
      text,
      reasoning: this.#reasoning.join(""),
      media: [...this.#media],
      calls: [...calls],
      providerCalls: [...this.#providerCalls],
      finish: calls.length > 0 ? "calls" : finish,
      ...(this.#finishDetail === undefined ? {} : { finishDetail: this.#finishDetail }),
      usage: readUsage(this.#usage),
      ...(this.#native === undefined || this.#expanded || !isCompleteOrPaused(finish) ? {} : { native: this.#native }),
      ...(candidates === undefined ? {} : { candidates }),
      ...(this.#warnings.length === 0 ? {} : { warnings: [...this.#warnings] }),
      ...(this.#id === undefined ? {} : { id: this.#id }),
      ...(this.#model === undefined ? {} : { model: this.#model }),
    };
    this.#emit({ type: "reply-end", reply });
    this.#reply = reply;
    return reply;
  }

  #emit(event: ModelEvent): void {
    if (this.#reply === undefined) this.#events.push(event);
  }

  /** @param isOver whether the message has ended, and well */
  #reportSealedCalls(isOver = false): void {
    for (; this.#reportedCount < this.#opened.length; this.#reportedCount++) {
      const call = this.#opened[this.#reportedCount];
      if (call?.sealed !== true) return;
      call.modelCall ??= this.#toModelCall(call);
      if (!isOver && !isJsonObject(call.modelCall.input)) return;
      const calls = expandParallelCalls(call.modelCall, this.#names);
      if (this.#sealed.length + calls.length > MAX_CALLS) throw tooManyCallsError();
      if (!calls.includes(call.modelCall)) this.#expanded = true;
      for (const one of calls) {
        this.#emit({ type: "call-seal", index: this.#sealed.length, call: one });
        this.#sealed.push(one);
      }
    }
  }

  #toModelCall({ kind, id, name, reasoning, warnings, native, pieces, input }: OpenCall): ModelCall {
    const { text, note } = kind === "custom" ? { text: pieces.join("") } : joinArguments(pieces);
    const qualified = this.#qualifiedName(name);
    const allWarnings = note === undefined || input !== undefined ? warnings : [...(warnings ?? []), note];
    return {
      ...(id === undefined ? {} : { id }),
      name: qualified,
      input: kind === "custom" ? { input: text } : (input ?? parseArguments(text)),
      ...(kind === "function" ? {} : { kind }),
      ...omitUndefined({ reasoning, warnings: allWarnings, native }),
      ...(hasHashSuffix(name) && this.#names.has(name) && providerName(qualified) !== name ? { offeredName: name } : {}),
    };
  }

  #qualifiedName(name: string): string {
    return toQualifiedName(name, this.#names);
  }

  #countChars(chars: number): void {
    this.#chars += chars;
    if (this.#chars > this.#maxChars)
      throw new ToolError("too_large", `A message of the model has more than ${this.#maxChars} characters.`);
  }
}

function tooManyCallsError(): ToolError {
  return new ToolError("too_large", `A message of the model has more than ${MAX_CALLS} calls.`);
}

/** Whether the native message is kept: a paused message is sent back unchanged, but a truncated one must not be. */
function isCompleteOrPaused(finish: FinishReason): boolean {
  return endedWell(finish) || finish === "pause" || finish === "refusal";
}

/** Returns arguments as JSON: `{}` for none (or `null`, as some models write it); text that cannot be parsed unchanged, to be repaired or refused. */
export function parseArguments(text: string): JsonValue {
  if (text.trim() === "") return {};
  try {
    const value = parseJson(text) ?? {};
    return typeof value === "string" ? parseNestedArguments(value) : value;
  } catch {
    return text;
  }
}

/** Returns arguments given as text or JSON; `{}` for none. */
export function parseInput(value: JsonValue | undefined): JsonValue {
  return typeof value === "string" ? parseArguments(value) : (value ?? {});
}

/** Parses arguments that a model sent as JSON inside a JSON string. */
function parseNestedArguments(text: string): JsonValue {
  try {
    const value = parseJson(text);
    return isJsonObject(value) ? value : text;
  } catch {
    return text;
  }
}
