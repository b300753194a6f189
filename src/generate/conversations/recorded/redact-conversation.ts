/** Replaces the values of the chosen kinds in a whole conversation; equal values have the same replacement everywhere. */
import { isJsonArray, isJsonObject, type JsonValue } from "../../../core/base/json.ts";
import { parseJson } from "../../../core/base/parse-json.ts";
import type { ContentPart } from "../../../core/content.ts";
import type { ErrorInfo } from "../../../core/error.ts";
import type { ModelMessage } from "../../../core/message.ts";
import type { Random } from "../../../core/ports.ts";
import type { ToolResult } from "../../../core/result.ts";
import { isIdName } from "../id-names.ts";
import { isPersonName, looksLikeName, splitPersonName, type PropertyPosition } from "./person-names.ts";
import { ReplacementDraws, type RedactedKind, type Redaction } from "./redaction.ts";
import {
  findEmails,
  isSecretName,
  findPhones,
  findReplacementLike,
  findSecrets,
  removeDisguise,
  joinIfSplit,
  type SensitiveRange,
} from "../../../trust/sensitive-text.ts";

/** A value that should not be in training data. */
export interface SensitiveValue {
  readonly kind: "secrets" | "emails" | "phones";
  readonly what: string;
  /** The number of the message, from 1. */
  readonly message: number;
}

export interface RedactedConversation {
  readonly messages: readonly ModelMessage[];
  /** Values of kinds that are not replaced. */
  readonly unredacted: readonly SensitiveValue[];
}

/** Replaces values, and drops calls' reasoning and native blocks, which belong to their provider; nothing if `redact` is undefined or `none`. */
export function redactConversation(
  messages: readonly ModelMessage[],
  { redact, random }: { readonly redact: Redaction | undefined; readonly random: Random },
): RedactedConversation {
  const finder = new SensitiveValueFinder();
  for (const [index, message] of messages.entries()) finder.read(message, index + 1);
  const kinds: ReadonlySet<RedactedKind> = new Set(redact === "none" ? [] : redact);
  const unredacted = finder.sensitive.filter(({ kind }) => !kinds.has(kind));
  if (kinds.size === 0) return { messages, unredacted };
  const redactor = new Redactor(kinds, finder, random);
  return { messages: messages.map((message) => redactor.redactMessage(message)), unredacted };
}

const MAX_DEPTH = 128;
const LIMITS = { maxDepth: 64, maxNodes: 100_000, maxChars: 1_000_000 } as const;
/** Minimum length of an id: shorter ones are part of many words and numbers, and identify no one. */
const MIN_ID_LENGTH = 4;
const MIN_NUMBER_LENGTH = 5;
const MAX_ID_LENGTH = 256;

/** Properties whose meaning is that of the property above them. */
const VALUE_PROPERTIES = /^(?:value|data|text|plain|raw|current|new|old|default)$/iu;

/** Collects the values that are recognized by their property's name. */
class SensitiveValueFinder {
  readonly secrets = new Set<string>();
  readonly names = new Set<string>();
  readonly ids = new Set<string>();
  /** Values that no replacement may equal. */
  readonly reserved = new Set<string>();
  readonly sensitive: SensitiveValue[] = [];
  #message = 0;

  read(message: ModelMessage, number: number): void {
    this.#message = number;
    forEachPart(message, {
      text: (text) => this.#text(text, 0),
      value: (value) => this.#value(value, { name: "", siblings: [], parent: "" }, 0),
    });
  }

  #value(value: JsonValue, place: PropertyPosition & { readonly name: string }, depth: number): void {
    if (depth > MAX_DEPTH) return;
    if (isJsonArray(value)) for (const item of value) this.#value(item, place, depth + 1);
    else if (isJsonObject(value)) {
      const siblings = Object.keys(value);
      for (const [name, item] of Object.entries(value)) {
        this.#text(name, depth);
        const isSecretValue = VALUE_PROPERTIES.test(name) && isSecretName(place.name); // for example password: { value: … }
        this.#value(item, { name: isSecretValue ? place.name : name, siblings, parent: place.name }, depth + 1);
      }
    } else this.#scalar(value, place, depth);
  }

  #scalar(value: JsonValue, { name, ...place }: PropertyPosition & { readonly name: string }, depth: number): void {
    if (typeof value === "number" && Number.isSafeInteger(value) && isIdName(name)) this.#id(String(value));
    if (typeof value === "number" && isSecretName(name)) this.#secret(String(value), name);
    if (typeof value !== "string") return;
    if (isSecretName(name)) this.#secret(value, name);
    else if (isIdName(name) && !/[\s@]/u.test(value)) this.#id(value);
    else if (isPersonName(name, place) && looksLikeName(value)) this.names.add(value);
    this.#text(value, depth);
  }

  #secret(value: string, name: string): void {
    if (value.length < MIN_ID_LENGTH || this.secrets.has(value) || /^\[secret \d+\]$|^[*•]+$/u.test(value)) return;
    this.secrets.add(value);
    this.sensitive.push({ kind: "secrets", what: JSON.stringify(name), message: this.#message });
  }

  #id(value: string): void {
    const isLong = value.length >= (/^\d+$/u.test(value) ? MIN_NUMBER_LENGTH : MIN_ID_LENGTH) && value.length <= MAX_ID_LENGTH;
    if (isLong && /\d/u.test(value)) this.ids.add(value);
  }

  #text(given: string, depth: number): void {
    const text = removeDisguise(given);
    for (const value of findReplacementLike(text)) this.reserved.add(value);
    const add = (kind: SensitiveValue["kind"], found: readonly SensitiveRange[]): void => {
      for (const { what } of found) this.sensitive.push({ kind, what, message: this.#message });
    };
    const secrets = findSecrets(text);
    for (const { start, end } of secrets) this.secrets.add(text.slice(start, end));
    add("secrets", secrets);
    add("emails", findEmails(text));
    add("phones", findPhones(text));
    if (!/^\s*["[{]/u.test(text) || depth > MAX_DEPTH || text.length > LIMITS.maxChars) return;
    const value = parseNestedJson(text);
    if (value !== undefined) this.#value(value, { name: "", siblings: [], parent: "" }, depth + 1);
  }
}

/** Parses an object, an array, or a string that is itself JSON; undefined for any other text. */
function parseNestedJson(text: string): JsonValue | undefined {
  try {
    const value = parseJson(text, LIMITS);
    if (typeof value === "string") return /^\s*["[{]/u.test(value) ? value : undefined;
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

interface PartReader {
  readonly text: (text: string) => void;
  readonly value: (value: JsonValue) => void;
}

function forEachPart(message: ModelMessage, { text, value }: PartReader): void {
  if (message.role === "call") {
    text(message.call.name);
    value((message.call.input ?? {}) as JsonValue); // recorded calls are JSON
  } else if (message.role === "result") {
    const { output, content = [], error, warnings, repairs } = message.result;
    if (output !== undefined) value(output);
    listContentTexts(content).forEach(text);
    listErrorTexts(error).forEach(text);
    warnings.forEach(text);
    for (const { note } of repairs) text(note);
  } else {
    listContentTexts(message.content).forEach(text);
    if ("title" in message && message.title !== undefined) text(message.title);
  }
}

function listContentTexts(content: string | readonly ContentPart[]): readonly string[] {
  if (typeof content === "string") return [content];
  return mergeSplitParts(content).flatMap((part) => {
    if (part.type === "text") return [part.text];
    return part.type === "file" ? [part.uri, part.text ?? "", part.name ?? "", part.description ?? ""] : [];
  });
}

/** Returns the parts. Text parts are merged if a sensitive value is split across them. */
function mergeSplitParts(content: readonly ContentPart[]): readonly ContentPart[] {
  const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const [whole, ...more] = joinIfSplit(texts);
  if (whole === undefined || more.length > 0 || texts.length < 2) return content;
  const first = content.findIndex(({ type }) => type === "text");
  return content.flatMap((part, index): readonly ContentPart[] => {
    if (part.type !== "text") return [part];
    return index === first ? [{ ...part, text: whole }] : [];
  });
}

function listErrorTexts(error: ErrorInfo | undefined): readonly string[] {
  return error === undefined ? [] : [error.message, error.hint ?? "", error.operatorHint ?? "", ...(error.details ?? [])];
}

/** A text: already replaced, or still to be searched. */
type Piece = { readonly text: string; readonly isDone: boolean };

/** A name or an id, and the position in it of the word by which it is searched. */
interface KnownText {
  readonly value: string;
  readonly kind: "names" | "ids";
  readonly offset: number;
}

class Redactor {
  readonly #kinds: ReadonlySet<RedactedKind>;
  readonly #replacements: ReplacementDraws;
  readonly #secrets: readonly string[];
  /** Names and ids by their longest word; those of one word sorted from long to short. */
  readonly #values = new Map<string, KnownText[]>();
  readonly #ids: ReadonlySet<string>;

  constructor(kinds: ReadonlySet<RedactedKind>, { secrets, names, ids, reserved }: SensitiveValueFinder, random: Random) {
    this.#kinds = kinds;
    this.#replacements = new ReplacementDraws(random, [...names, ...[...names].flatMap(splitPersonName), ...ids, ...reserved]);
    this.#secrets = kinds.has("secrets") ? [...secrets].toSorted((one, other) => other.length - one.length) : [];
    this.#ids = kinds.has("ids") ? ids : new Set();
    if (kinds.has("names"))
      for (const name of names) for (const value of [name, ...splitPersonName(name)]) this.#addKnownText(value, "names");
    for (const value of this.#ids) this.#addKnownText(value, "ids");
    for (const values of this.#values.values()) values.sort((one, other) => other.value.length - one.value.length);
  }

  redactMessage(message: ModelMessage): ModelMessage {
    if (message.role === "call") {
      const { reasoning: _reasoning, ...call } = message.call;
      // recorded calls are JSON
      return { ...message, call: { ...call, name: this.#toolName(call.name), input: this.#value((call.input ?? {}) as JsonValue) } };
    }
    if (message.role === "result") return { ...message, result: this.#result(message.result) };
    if (message.role === "job") return { ...message, content: this.#text(message.content) };
    const { native: _native, title, ...said } = message;
    return { ...said, content: this.#content(said.content), ...(title === undefined ? {} : { title: this.#text(title) }) };
  }

  #result({ output, content, metadata: _metadata, repairs, warnings, name, ...rest }: ToolResult): ToolResult {
    const end = rest.error === undefined ? rest : { ...rest, error: this.#error(rest.error) };
    return {
      ...end,
      name: this.#toolName(name),
      ...(output === undefined ? {} : { output: this.#value(output) }),
      ...(content === undefined ? {} : { content: this.#parts(content) }),
      repairs: repairs.map((repair) => ({ ...repair, note: this.#text(repair.note) })),
      warnings: warnings.map((warning) => this.#text(warning)),
    };
  }

  /** Replaces secrets, e-mail addresses and telephone numbers in a tool's name, but not names and ids: the tool is known by its name. */
  #toolName(name: string): string {
    const pieces = this.#redactByForm(name);
    return pieces.map(({ text, isDone }) => (isDone ? text.replaceAll(/[^\w.-]+/gu, "_") : text)).join("");
  }

  #error({ message, hint, operatorHint, details, ...rest }: ErrorInfo): ErrorInfo {
    return {
      ...rest,
      message: this.#text(message),
      ...(hint === undefined ? {} : { hint: this.#text(hint) }),
      ...(operatorHint === undefined ? {} : { operatorHint: this.#text(operatorHint) }),
      ...(details === undefined ? {} : { details: details.map((detail) => this.#text(detail)) }),
    };
  }

  #content(content: string | readonly ContentPart[]): string | readonly ContentPart[] {
    return typeof content === "string" ? this.#text(content) : this.#parts(content);
  }

  /** Replaces values in parts. Images and audio cannot be searched, so they are left out. */
  #parts(content: readonly ContentPart[]): readonly ContentPart[] {
    return mergeSplitParts(content).map((part): ContentPart => {
      if (part.type === "text") return { ...part, text: this.#text(part.text) };
      if (part.type !== "file") return { type: "text", text: `[${part.type} left out]` };
      const { uri, text, name, description, ...rest } = part;
      return {
        ...rest,
        uri: uri.startsWith("data:") ? "data:," : this.#text(uri),
        ...(text === undefined ? {} : { text: this.#text(text) }),
        ...(name === undefined ? {} : { name: this.#text(name) }),
        ...(description === undefined ? {} : { description: this.#text(description) }),
      };
    });
  }

  #value(value: JsonValue, depth = 0): JsonValue {
    if (typeof value === "string") return this.#text(value);
    if (typeof value === "number") return this.#number(value);
    if (typeof value !== "object" || value === null) return value;
    if (depth > MAX_DEPTH) return "[left out]";
    if (isJsonArray(value)) return value.map((item) => this.#value(item, depth + 1));
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [this.#text(name), this.#value(item, depth + 1)]));
  }

  #number(value: number): JsonValue {
    const text = String(value);
    if (this.#ids.has(text)) return Number(this.#replacements.replaceId(text));
    return this.#secrets.includes(text) ? this.#replacements.replaceSecret(text) : value;
  }

  #text(given: string): string {
    if (given === "") return given;
    let pieces = this.#redactByForm(given);
    if (this.#values.size > 0) pieces = pieces.flatMap((piece) => (piece.isDone ? [piece] : this.#redactKnownValues(piece.text)));
    return pieces.length === 1 ? (pieces[0]?.text ?? "") : pieces.map((piece) => piece.text).join("");
  }

  /** Replaces values that are recognized by their form, and known secrets. */
  #redactByForm(given: string): readonly Piece[] {
    const text = removeDisguise(given);
    let pieces: readonly Piece[] = [{ text, isDone: false }];
    const replace = (find: (text: string) => readonly SensitiveRange[], draw: (value: string) => string): void => {
      pieces = pieces.flatMap((piece) => (piece.isDone ? [piece] : replaceMatches(piece.text, find(piece.text), draw)));
    };
    for (const secret of this.#secrets)
      if (text.includes(secret)) replace(findOccurrences(secret), (value) => this.#replacements.replaceSecret(value));
    if (this.#kinds.has("secrets")) replace(findSecrets, (value) => this.#replacements.replaceSecret(value));
    if (this.#kinds.has("emails")) replace(findEmails, (value) => this.#replacements.replaceEmail(value));
    if (this.#kinds.has("phones")) replace(findPhones, (value) => this.#replacements.replacePhone(value));
    return pieces;
  }

  #addKnownText(value: string, kind: "names" | "ids"): void {
    let word = "";
    let offset = 0;
    for (const { 0: one, index } of value.matchAll(WORD)) if (one.length >= word.length) [word, offset] = [one, index];
    if (word === "") return;
    const known = this.#values.get(word);
    if (known === undefined) this.#values.set(word, [{ value, kind, offset }]);
    else if (!known.some((one) => one.value === value)) known.push({ value, kind, offset });
  }

  /** Replaces names and ids, except where they are part of a longer word or number. */
  #redactKnownValues(text: string): readonly Piece[] {
    const pieces: Piece[] = [];
    let from = 0;
    for (const { 0: word, index } of text.matchAll(WORD)) {
      if (index < from) continue;
      for (const { value, kind, offset } of this.#values.get(word) ?? []) {
        const start = index - offset;
        const end = start + value.length;
        if (start < from || !text.startsWith(value, start) || isPartOfWord(text, { start, end, value })) continue;
        if (start > from) pieces.push({ text: text.slice(from, start), isDone: true });
        pieces.push({ text: kind === "names" ? this.#replacements.replaceName(value) : this.#replacements.replaceId(value), isDone: true });
        from = end;
        break;
      }
    }
    if (from === 0) return [{ text, isDone: true }];
    return from < text.length ? [...pieces, { text: text.slice(from), isDone: true }] : pieces;
  }
}

const WORD = /[\p{L}\p{N}]+/gu;
const WORD_CHARACTER = /[\p{L}\p{N}]/u;

function isPartOfWord(
  text: string,
  { start, end, value }: { readonly start: number; readonly end: number; readonly value: string },
): boolean {
  if (WORD_CHARACTER.test(value.at(-1) ?? "") && WORD_CHARACTER.test(text.charAt(end))) return true;
  if (WORD_CHARACTER.test(value.charAt(0)) && WORD_CHARACTER.test(text.charAt(start - 1))) return true;
  return /^\d+$/u.test(value) && (/^[.,]\d/u.test(text.slice(end, end + 2)) || /\d[.,]$/u.test(text.slice(Math.max(0, start - 2), start)));
}

function findOccurrences(value: string): (text: string) => readonly SensitiveRange[] {
  return (text) => {
    const found: SensitiveRange[] = [];
    for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + value.length))
      found.push({ start: at, end: at + value.length, what: "" });
    return found;
  };
}

/** Replaces matches; of overlapping matches, the first one is replaced. */
function replaceMatches(text: string, found: readonly SensitiveRange[], draw: (value: string) => string): readonly Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const { start, end } of found.toSorted((one, other) => one.start - other.start || other.end - one.end)) {
    if (start < from) continue;
    if (start > from) pieces.push({ text: text.slice(from, start), isDone: false });
    pieces.push({ text: draw(text.slice(start, end)), isDone: true });
    from = end;
  }
  if (from < text.length) pieces.push({ text: text.slice(from), isDone: false });
  return pieces;
}
