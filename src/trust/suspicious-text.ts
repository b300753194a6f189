/**
 * Finds text in a tool's definition that gives orders to the model instead of describing the tool.
 *
 * This is a heuristic: it knows the wording of published attacks, and an author who knows it can avoid it. It is meant to make a person look at the
 * definition. It blocks nothing, and a definition without findings is not thereby safe.
 */
import { isJsonArray, isJsonObject, type JsonValue } from "../core/base/json.ts";
import type { Tool } from "../core/tool.ts";
import { readDefinition } from "../schema/definition-fingerprint.ts";
import { formatPath } from "./definition-diff.ts";
import { CHARACTER_RULES, NAME_RULES, WORD_RULES, type SuspiciousPattern } from "./suspicious-patterns.ts";
import { quoteExcerpt } from "../core/base/escape-invisible.ts";

const MAX_FINDINGS = 10;
/** Maximum number of strings of a definition that are searched; more are a finding themselves. */
const MAX_TEXTS = 20_000;
const MAX_DEPTH = 64;
/** Maximum length of a description that a person would still read, in characters. The longest of 8,613 published tools has 3,866. */
const MAX_DESCRIPTION = 10_000;
const QUOTED_LENGTH = 120;
/** Number of characters shown before a match. */
const LEAD_LENGTH = 20;

interface TextPlace {
  readonly path: readonly (string | number)[];
  readonly text: string;
  /** Whether the text is the name of a tool or parameter rather than a sentence. */
  readonly isName: boolean;
}

/**
 * Finds text that looks like an attempt to give orders to the model, or to hide something from people, in a tool's name, title, description, schemas
 * and annotations: one line each, at most 10. Takes time linear in the text.
 */
export function suspiciousText(tool: Tool): readonly string[] {
  return new SuspiciousTextFinder().find(tool);
}

/** Finds the same as `suspiciousText` in many tools. Texts that they share, as the operations of one document do, are searched once. */
export class SuspiciousTextFinder {
  /** Texts without findings. */
  readonly #clean = { names: new Set<string>(), sentences: new Set<string>() };

  find(tool: Tool): readonly string[] {
    const findings = new Set<string>();
    let count = 0;
    for (const place of listTexts(tool)) {
      if (++count > MAX_TEXTS) findings.add(`the definition has more than ${MAX_TEXTS} texts; only those were looked at`);
      if (count > MAX_TEXTS || findings.size >= MAX_FINDINGS) break;
      if (place.path[0] === "description" && place.text.length > MAX_DESCRIPTION)
        findings.add(`description has ${place.text.length} characters: more than anyone would read`);
      for (const finding of this.#findIn(place)) findings.add(`${formatPath(place.path)} ${finding}`);
    }
    return [...findings].slice(0, MAX_FINDINGS);
  }

  #findIn({ text, isName }: TextPlace): readonly string[] {
    const clean = isName ? this.#clean.names : this.#clean.sentences;
    if (clean.has(text)) return [];
    const found = [...matchAllRules(text, isName)];
    if (found.length === 0) clean.add(text);
    return found;
  }
}

function* listTexts(tool: Tool): Generator<TextPlace> {
  yield { path: ["name"], text: tool.name, isName: true };
  for (const [field, value] of readDefinition(tool).fields) yield* walkTexts(value, [field], MAX_DEPTH);
}

/** Every string in a value, and every key. */
function* walkTexts(value: JsonValue, path: TextPlace["path"], depthLeft: number): Generator<TextPlace> {
  if (typeof value === "string") yield { path, text: value, isName: false };
  if (depthLeft === 0) return;
  if (isJsonArray(value)) {
    for (const [index, item] of value.entries()) if (mayContainText(item)) yield* walkTexts(item, [...path, index], depthLeft - 1);
  } else if (isJsonObject(value)) {
    for (const [key, item] of Object.entries(value)) {
      yield { path: [...path, key], text: key, isName: true };
      if (mayContainText(item)) yield* walkTexts(item, [...path, key], depthLeft - 1);
    }
  }
}

function mayContainText(value: JsonValue): boolean {
  return typeof value === "string" || (typeof value === "object" && value !== null);
}

function* matchAllRules(text: string, isName: boolean): Generator<string> {
  yield* matchRules(text, CHARACTER_RULES);
  if (text.length < MIN_TEXT_LENGTH) return;
  if (isName) yield* matchRules(text, NAME_RULES);
  yield* matchRules(normalizeText(isName ? splitIdentifier(text) : text), WORD_RULES);
}

/** Minimum length of a text that word rules can match. */
const MIN_TEXT_LENGTH = 6;

function* matchRules(text: string, rules: readonly SuspiciousPattern[]): Generator<string> {
  for (const { pattern, says } of rules) {
    const at = text.search(pattern);
    if (at >= 0) yield `${says}: ${formatExcerpt(text, at)}`;
  }
}

function formatExcerpt(text: string, at: number): string {
  const earliest = Math.max(0, at - LEAD_LENGTH);
  const space = earliest === 0 ? -1 : text.indexOf(" ", earliest);
  const start = space >= 0 && space < at ? space + 1 : earliest;
  const end = start + QUOTED_LENGTH;
  const piece = quoteExcerpt(text.slice(start, end).trim(), QUOTED_LENGTH);
  return `${start > 0 ? "…" : ""}${piece}${end < text.length ? "…" : ""}`;
}

/** Removes what hides words: other forms of letters, invisible characters, line breaks and capitals. */
function normalizeText(text: string): string {
  return text
    .normalize("NFKC")
    .replaceAll(/[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, "")
    .replaceAll(/[’‘`]/gu, "'")
    .replaceAll(/\s+/gu, " ")
    .toLowerCase();
}

/** Splits an identifier into words: `contentOf_id_rsa` → `content Of id rsa`. */
function splitIdentifier(name: string): string {
  return name.replaceAll(/(?<=[a-z])(?=[A-Z])|[_-]/gu, " ");
}
