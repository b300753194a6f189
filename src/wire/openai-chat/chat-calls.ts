/** Assembles the calls of a Chat Completions message from pieces, which each server assigns to their call in its own way. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { isEmptyInput, joinArguments } from "../join-arguments.ts";
import { asIndex } from "../read-field.ts";
import type { ReplyBuilder } from "../reply-builder.ts";
import { JsonEndDetector } from "./json-end-detector.ts";

interface ChatCall {
  readonly key: number;
  readonly custom: boolean;
  id: string;
  name: string;
  readonly pieces: string[];
  /** Arguments that were sent as JSON instead of text. */
  input: JsonValue | undefined;
  /** Detects the end of the arguments. `processedPieces` is the number of pieces it has processed, which is done only when another call begins. */
  readonly end: JsonEndDetector;
  processedPieces: number;
  sealed: boolean;
  kept: JsonObject;
}

/** The fields of a piece; a missing id or name is an empty string. */
interface Piece {
  readonly index: number | undefined;
  readonly id: string;
  readonly name: string;
  readonly custom: boolean;
  readonly input: JsonValue | undefined;
}

/**
 * Assigns each piece to the call of its index, else of its id, else to the last call. A name begins a new call if the call so far has another id,
 * another name, or complete arguments; some servers give every piece its own id, or repeat an empty name. A piece without a name at an index that no
 * call has belongs to the call of its id, else, unless it has nothing but a new id, to the last call if its arguments are incomplete: some servers
 * count the pieces. A call is sealed when another begins, unless its arguments are incomplete: then the server streams two at once, and the call stays
 * open until the end.
 */
export class ChatCalls {
  readonly #builder: ReplyBuilder;
  readonly #keptFields: readonly string[];
  readonly #calls: ChatCall[] = [];
  readonly #byIndex = new Map<number, ChatCall>();
  readonly #byId = new Map<string, ChatCall>();
  #hasLegacy = false;
  #open: ChatCall[] = [];

  constructor(builder: ReplyBuilder, keptFields: readonly string[]) {
    this.#builder = builder;
    this.#keptFields = keptFields;
  }

  /** Adds the `tool_calls` of a delta or, if `whole`, of a message, in which each entry is a call. */
  add(entries: readonly JsonValue[], whole: boolean): void {
    for (const [position, entry] of entries.entries()) {
      if (!isJsonObject(entry)) continue;
      const piece = readPiece(entry);
      const found = whole ? undefined : this.#findCall(piece, position);
      const call = found ?? this.#startCall(piece);
      this.#addPiece(call, piece);
      for (const field of this.#keptFields) {
        const value = entry[field];
        if (value !== undefined && value !== null) call.kept = { ...call.kept, [field]: value };
      }
    }
  }

  /** Adds the single call of the older `function_call`; ignored if `tool_calls` came first, as some servers send each call in both fields. */
  addLegacy(functionCall: JsonObject): void {
    this.#hasLegacy ||= this.#calls.length === 0;
    if (!this.#hasLegacy) return;
    const piece = readPiece({ function: functionCall });
    this.#addPiece(this.#calls.at(-1) ?? this.#startCall(piece), piece);
  }

  get hasCalls(): boolean {
    return this.#calls.length > 0;
  }

  /** Whether some call has more than Haft's types can express. */
  get needsNative(): boolean {
    return this.#calls.some(({ custom, kept }) => custom || Object.keys(kept).length > 0);
  }

  /** Returns the calls as `tool_calls` of a message of the conversation. */
  toToolCalls(): readonly JsonObject[] {
    return this.#calls.map(({ id, name, custom, pieces, input, kept }) => {
      if (custom)
        return { id, type: "custom", custom: { name, input: input === undefined ? pieces.join("") : JSON.stringify(input) }, ...kept };
      const text = input === undefined ? joinArguments(pieces).text : JSON.stringify(input);
      return { id, type: "function", function: { name, arguments: text === "" ? "{}" : text }, ...kept };
    });
  }

  #findCall(piece: Piece, position: number): ChatCall | undefined {
    const { index, id, name, input } = piece;
    const call = this.#findKnownCall(piece, position);
    if (call === undefined || name === "" || call.name === "") return call;
    if (id !== "" && call.id !== "" && (id !== call.id || index !== undefined)) return id === call.id ? call : undefined;
    // a repeated name without arguments does not begin a new call
    const isMore = hasNoInput(input) || !isCompleteCall(call);
    return call.name === name && isMore ? call : undefined;
  }

  #findKnownCall(piece: Piece, position: number): ChatCall | undefined {
    const { index, id, name } = piece;
    if (index !== undefined) return this.#byIndex.get(index) ?? (name === "" ? this.#findMisplaced(piece) : undefined);
    const known = this.#byId.get(id);
    if (known !== undefined) return known;
    return position > 0 && name !== "" ? undefined : this.#calls.at(-1);
  }

  #findMisplaced({ id, input }: Piece): ChatCall | undefined {
    const known = this.#byId.get(id);
    if (known !== undefined || (id !== "" && hasNoInput(input))) return known; // a new id alone begins a call, whose name comes later
    const last = this.#calls.at(-1);
    return last === undefined || last.name === "" || isCompleteCall(last) ? undefined : last;
  }

  /** Marks all calls so far as complete. */
  sealAll(): void {
    for (const call of this.#open) call.sealed = true;
    this.#open = [];
    this.#builder.sealAllCalls();
  }

  #startCall({ index, custom, id, name }: Piece): ChatCall {
    this.#open = this.#open.filter((call) => {
      if (!isCompleteCall(call)) return true;
      call.sealed = true;
      this.#builder.sealCall(call.key);
      return false;
    });
    const key = this.#calls.length;
    const call: ChatCall = {
      key,
      custom,
      id: "",
      name: "",
      pieces: [],
      input: undefined,
      end: new JsonEndDetector(),
      processedPieces: 0,
      sealed: false,
      kept: {},
    };
    this.#builder.openCall(key, { id, name, kind: custom ? "custom" : "function" });
    this.#calls.push(call);
    this.#open.push(call);
    if (index !== undefined) this.#byIndex.set(index, call);
    return call;
  }

  #addPiece(call: ChatCall, { id, name, input }: Piece): void {
    if (call.sealed) return;
    if (call.id === "" && id !== "") this.#byId.set(id, call);
    call.id ||= id;
    call.name ||= name;
    this.#builder.openCall(call.key, { id: call.id, name: call.name });
    if (hasNoInput(input)) return;
    if (typeof input === "string") {
      if (isEmptyInput(call.input)) call.input = undefined;
      call.pieces.push(input);
      this.#builder.addArgumentText(call.key, input);
    } else if (call.pieces.length === 0 || !isEmptyInput(input)) {
      call.input = input;
      this.#builder.setInput(call.key, input);
    }
  }
}

function hasNoInput(input: JsonValue | undefined): input is undefined | null | "" {
  return input === undefined || input === null || input === "";
}

function readPiece(entry: JsonObject): Piece {
  const { index, id, function: plain, custom } = entry;
  const isCustom = isCustomPiece(entry);
  const [said = entry] = (isCustom ? [custom, plain] : [plain, custom]).filter(isJsonObject);
  const { name } = said;
  return {
    index: asIndex(index),
    id: typeof id === "string" || typeof id === "number" ? String(id) : "",
    name: typeof name === "string" ? name : "",
    custom: isCustom,
    input: said["arguments"] ?? said["input"] ?? said["parameters"],
  };
}

/** Whether a piece is of a custom call: decided by its type, else by which field has content, as some servers send both, one of them empty. */
function isCustomPiece({ type, function: plain, custom }: JsonObject): boolean {
  if (type === "custom" || type === "function") return type === "custom";
  return hasFields(custom) && !hasFields(plain);
}

function hasFields(holder: JsonValue | undefined): boolean {
  return isJsonObject(holder) && Object.keys(holder).length > 0;
}

function isCompleteCall(call: ChatCall): boolean {
  if (call.input !== undefined) return true;
  for (; call.processedPieces < call.pieces.length; call.processedPieces++) call.end.push(call.pieces[call.processedPieces] ?? "");
  return call.end.reached;
}
