/** Puts a model's message together from its pieces: the one place where calls are opened, filled and sealed, whatever the format. */
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { ToolError } from "../core/error.ts";
import type { ContentPart } from "../core/content.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../core/base/json.ts";
import type { NativeMessage } from "../core/message.ts";
import { endedWell } from "../core/model.ts";
import type { FinishReason, ModelCall, ModelEvent, ModelReply, ProviderCall, TokenUsage } from "../core/model.ts";
import { parseJson } from "../core/base/parse-json.ts";
import { readUsage } from "../core/token-usage.ts";
import { Candidates } from "./candidates.ts";
import { expandParallel } from "./parallel-calls.ts";
import { isMarked, providerName, qualifiedNameOf } from "./provider-name.ts";
import type { DecodeOptions } from "./wire-format.ts";

const DEFAULT_MAX_CHARS = 16 * 1024 * 1024;
const MAX_CALLS = 4_096;
const NO_NAMES: ReadonlyMap<string, string> = new Map();

/** A call on its way. */
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
  /** The input as JSON, where the format sends it so. */
  input: JsonValue | undefined;
  /** `call-open` was emitted. */
  told: boolean;
  sealed: boolean;
  /** As it is reported, once it is sealed. */
  made: ModelCall | undefined;
}

export interface CallParts {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly kind?: ModelCall["kind"];
  /** Why the model makes the call, where the format has a place for that. */
  readonly reasoning?: string | undefined;
  /** Corrections made when the call was read. */
  readonly warnings?: readonly string[] | undefined;
  /** As in `ModelCall`; the last one counts, also of a call that is sealed. */
  readonly native?: JsonObject | undefined;
}

/**
 * Collects one message. Decoders say what they see; this says what it means.
 *
 * Calls are known by any key of the decoder's (an index, an item id) and are sealed in the order they were opened: one that is sealed
 * before an earlier one is reported when that one is. Empty ids count as none. `end` seals what is open if the message ended well and
 * drops it otherwise. Arguments that are no JSON object may have been cut off, so such a call is reported only when the message has ended
 * well. Anything after `end` is ignored.
 */
export class ReplyBuilder {
  readonly #names: ReadonlyMap<string, string>;
  readonly #maxChars: number;
  #events: ModelEvent[] = [];
  #calls = new Map<string | number, OpenCall>();
  /** The same, in the order they were opened. */
  #opened: OpenCall[] = [];
  /** How many of them were reported as sealed. */
  #told = 0;
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
  #ended: ModelReply | undefined;

  constructor({ toolNames = NO_NAMES, maxChars = DEFAULT_MAX_CHARS }: DecodeOptions = {}) {
    this.#names = toolNames;
    this.#maxChars = maxChars;
  }

  /** Returns the events since the last time. */
  take(): readonly ModelEvent[] {
    const events = this.#events;
    if (events.length > 0) this.#events = [];
    return events;
  }

  text(text: string): void {
    if (text === "") return;
    this.#grow(text.length);
    this.#text.push(text);
    this.#tell({ type: "text-delta", text });
  }

  reasoning(text: string): void {
    if (text === "") return;
    this.#grow(text.length);
    this.#reasoning.push(text);
    this.#tell({ type: "reasoning-delta", text });
  }

  /** Text of another reply to the same request, by its number from 1; an empty one says that there is such a reply. */
  otherText(index: number, text: string): void {
    if (this.#candidates.addText(index, text)) this.#grow(text.length);
  }

  /** How probable more tokens of a reply were; the number of the first is 0. */
  logProbability(index: number, sum: number): void {
    this.#candidates.addLogProbability(index, sum);
  }

  /** Notes something odd about the message, for people. */
  warn(warning: string): void {
    this.#warnings.push(warning);
  }

  media(part: ContentPart): void {
    this.#grow("data" in part ? part.data.length : 0);
    this.#media.push(part);
  }

  hasCall(key: string | number): boolean {
    return this.#calls.has(key);
  }

  /** Opens a call, or adds to one what was not known of it; what is known stays. */
  open(key: string | number, { id, name, kind = "function", reasoning, warnings, native }: CallParts): void {
    let call = this.#calls.get(key);
    if (call === undefined) {
      if (this.#calls.size >= MAX_CALLS) throw tooMany();
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
        told: false,
        sealed: false,
        made: undefined,
      };
      this.#calls.set(key, call);
      this.#opened.push(call);
    }
    if (native !== undefined && call.made === undefined) call.native = native;
    else if (native !== undefined) this.#sealed = this.#sealed.map((one) => (one === call?.made ? { ...one, native } : one));
    if (call.id === undefined && id !== undefined && id !== "") call.id = id;
    if (call.name === "" && name !== undefined) call.name = name;
    if (call.told || call.name === "") return;
    call.told = true;
    this.#tell({ type: "call-open", index: call.index, name: this.#qualified(call.name) });
    if (call.pieces.length > 0) this.#tell({ type: "call-delta", index: call.index, text: call.pieces.join("") });
  }

  /** The next piece of a call's arguments, or of a custom call's text; reported once the call's name is known. */
  argumentText(key: string | number, text: string): void {
    const call = this.#calls.get(key);
    if (call === undefined || call.sealed || text === "") return;
    this.#grow(text.length);
    call.pieces.push(text);
    if (call.told) this.#tell({ type: "call-delta", index: call.index, text });
  }

  /** The whole arguments, as text or JSON, in place of the pieces. */
  setInput(key: string | number, input: JsonValue): void {
    const call = this.#calls.get(key);
    if (call === undefined || call.sealed) return;
    if (typeof input === "string") call.pieces = [input];
    else call.input = input;
  }

  /** Nothing more will come for this call. */
  seal(key: string | number): void {
    const call = this.#calls.get(key);
    if (call === undefined || call.sealed) return;
    call.sealed = true;
    this.#tellSealed();
  }

  /** Nothing more will come for any call. */
  sealAll(): void {
    for (const call of this.#calls.values()) call.sealed = true;
    this.#tellSealed();
  }

  providerCall(call: ProviderCall): void {
    this.#providerCalls.push(call);
    this.#tell({ type: "provider-call", call });
  }

  usage(usage: Partial<TokenUsage>): void {
    this.#usage = { ...this.#usage, ...usage };
  }

  /** Why the message ends, and the provider's own word for it. A reason that is no good end stays, whatever is said behind it. */
  finish(reason: FinishReason, detail?: string): void {
    if (this.#finish !== undefined && !endedWell(this.#finish)) return;
    this.#finish = reason;
    this.#finishDetail = detail;
  }

  get finished(): FinishReason | undefined {
    return this.#finish;
  }

  about(about: { readonly id?: string | undefined; readonly model?: string | undefined }): void {
    this.#id = about.id ?? this.#id;
    this.#model = about.model ?? this.#model;
  }

  /** The message as the provider has it; only for what our words leave out. */
  native(native: NativeMessage): void {
    this.#native = native;
  }

  /** Takes back everything: what comes now is another message. */
  void(reason: string): void {
    this.#tell({ type: "reply-void", reason });
    this.#calls = new Map();
    this.#opened = [];
    this.#told = 0;
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

  /** Ends the message: the first time with `reply-end`. */
  end(): ModelReply {
    if (this.#ended !== undefined) return this.#ended;
    const finish = this.#finish ?? "truncated";
    if (endedWell(finish)) {
      this.sealAll();
      this.#tellSealed(true);
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
      ...(this.#native === undefined || this.#expanded || !endedOrPaused(finish) ? {} : { native: this.#native }),
      ...(candidates === undefined ? {} : { candidates }),
      ...(this.#warnings.length === 0 ? {} : { warnings: [...this.#warnings] }),
      ...(this.#id === undefined ? {} : { id: this.#id }),
      ...(this.#model === undefined ? {} : { model: this.#model }),
    };
    this.#tell({ type: "reply-end", reply });
    this.#ended = reply;
    return reply;
  }

  #tell(event: ModelEvent): void {
    if (this.#ended === undefined) this.#events.push(event);
  }

  /** @param isOver the message has ended, and well */
  #tellSealed(isOver = false): void {
    for (; this.#told < this.#opened.length; this.#told++) {
      const call = this.#opened[this.#told];
      if (call?.sealed !== true) return;
      call.made ??= this.#modelCall(call);
      if (!isOver && !isJsonObject(call.made.input)) return;
      const calls = expandParallel(call.made, this.#names);
      if (this.#sealed.length + calls.length > MAX_CALLS) throw tooMany();
      if (!calls.includes(call.made)) this.#expanded = true;
      for (const one of calls) {
        this.#tell({ type: "call-seal", index: this.#sealed.length, call: one });
        this.#sealed.push(one);
      }
    }
  }

  #modelCall({ kind, id, name, reasoning, warnings, native, pieces, input }: OpenCall): ModelCall {
    const text = pieces.join("");
    const qualified = this.#qualified(name);
    return {
      ...(id === undefined ? {} : { id }),
      name: qualified,
      input: kind === "custom" ? { input: text } : (input ?? readArguments(text)),
      ...(kind === "function" ? {} : { kind }),
      ...omitUndefined({ reasoning, warnings, native }),
      ...(isMarked(name) && this.#names.has(name) && providerName(qualified) !== name ? { offeredName: name } : {}),
    };
  }

  #qualified(name: string): string {
    return qualifiedNameOf(name, this.#names);
  }

  #grow(chars: number): void {
    this.#chars += chars;
    if (this.#chars > this.#maxChars)
      throw new ToolError("too_large", `A message of the model has more than ${this.#maxChars} characters.`);
  }
}

function tooMany(): ToolError {
  return new ToolError("too_large", `A message of the model has more than ${MAX_CALLS} calls.`);
}

/** A message that pauses goes back as it is; one that was cut off must not. */
function endedOrPaused(finish: FinishReason): boolean {
  return endedWell(finish) || finish === "pause" || finish === "refusal";
}

/** The JSON of the arguments; `{}` for none, which some models call `null`; the text itself where it cannot be read, for the runtime to mend or refuse. */
export function readArguments(text: string): JsonValue {
  if (text.trim() === "") return {};
  try {
    const value = parseJson(text) ?? {};
    return typeof value === "string" ? readNested(value) : value;
  } catch {
    return text;
  }
}

/** Arguments as text or as JSON; `{}` for none. */
export function readInput(value: JsonValue | undefined): JsonValue {
  return typeof value === "string" ? readArguments(value) : (value ?? {});
}

/** Some models send the JSON as a JSON text. */
function readNested(text: string): JsonValue {
  try {
    const value = parseJson(text);
    return isJsonObject(value) ? value : text;
  } catch {
    return text;
  }
}
