/**
 * Changes one value in the text of a JSON document. The rest stays as it is written: its numbers, its layout, and the order of keys such as "10", which
 * an object would move to the front.
 */
import type { JsonValue } from "../../core/base/json.ts";
import type { JsonStep } from "../../core/base/json-steps.ts";
import { findStringEnd } from "../../core/base/parse-exactly.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import { toArrayIndex, withValueAt } from "./json-path.ts";

/** How values are written into the text. */
export interface JsonLayout {
  /** The indentation of one level; empty for a document in one line. */
  readonly indent: string;
  readonly lineEnd: string;
}

interface JsonEdit extends JsonLayout {
  readonly text: string;
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** A member of an object or an item of an array. */
interface Member {
  /** The white space between the bracket or comma before it and its start. */
  readonly gap: string;
  /** Where its key starts; for an item, its value. */
  readonly start: number;
  /** The colon between its key and its value, with white space; empty for an item. */
  readonly colon: string;
  readonly value: Span;
}

interface Container {
  readonly isArray: boolean;
  /** The member at the step. */
  readonly found: Member | undefined;
  readonly last: Member | undefined;
}

/**
 * Sets a value. Missing parents are created as by `withValueAt`.
 *
 * @param text valid JSON without duplicate keys, for which `withValueAt` has accepted the steps; at least one step
 */
export function spliceValue(text: string, steps: readonly JsonStep[], value: JsonValue, layout: JsonLayout): string {
  const edit: JsonEdit = { ...layout, text };
  let span = wholeSpan(text);
  let isInline = false;
  for (const [depth, step] of steps.entries()) {
    if (text[span.start] === "n") return spliceNull(edit, span, { steps: steps.slice(depth), value, isInline });
    const container = readContainer(text, span.start, step);
    if (container.found === undefined) {
      const child = withValueAt(undefined, steps.slice(depth + 1), value);
      if (container.last !== undefined) return appendMember(edit, container, container.last, { step, value: child });
      const filled = withValueAt(container.isArray ? [] : {}, [step], child);
      return replaceSpan(text, span, formatValue(edit, filled, { isInline, base: lineIndent(text, span.start) }));
    }
    span = container.found.value;
    isInline = !container.found.gap.includes("\n");
  }
  return replaceSpan(text, span, formatValue(edit, value, { isInline, base: lineIndent(text, span.start) }));
}

/**
 * Adds an item to an array, before the one at the index.
 *
 * @param steps lead to an array of at least `index` items
 */
export function spliceItem(text: string, { steps, index, value }: ItemPlace & { readonly value: JsonValue }, layout: JsonLayout): string {
  const { found } = readArray(text, steps, index);
  if (found === undefined) return spliceValue(text, [...steps, index], value, layout);
  const { gap, start } = found;
  const item = formatValue({ ...layout, text }, value, { isInline: !gap.includes("\n"), base: gap.slice(gap.lastIndexOf("\n") + 1) });
  return replaceSpan(text, { start, end: start }, `${item},${gap}`);
}

/** Removes an item of an array. @param place leads to an existing item */
export function removeItem(text: string, { steps, index }: ItemPlace): string {
  const { found, span } = readArray(text, steps, index);
  const before = index === 0 ? undefined : readArray(text, steps, index - 1).found;
  const after = readArray(text, steps, index + 1).found;
  if (found === undefined) return text;
  if (after !== undefined) return replaceSpan(text, { start: found.start, end: after.start }, "");
  if (before !== undefined) return replaceSpan(text, { start: before.value.end, end: found.value.end }, "");
  return replaceSpan(text, span, "[]");
}

interface ItemPlace {
  readonly steps: readonly JsonStep[];
  readonly index: number;
}

function readArray(text: string, steps: readonly JsonStep[], index: number): Container & { readonly span: Span } {
  let span = wholeSpan(text);
  for (const step of steps) span = readContainer(text, span.start, step).found?.value ?? span;
  return { ...readContainer(text, span.start, index), span };
}

interface NullPlace {
  readonly steps: readonly JsonStep[];
  readonly value: JsonValue;
  readonly isInline: boolean;
}

/** Replaces a `null` by the parents of the value. */
function spliceNull(edit: JsonEdit, span: Span, { steps, value, isInline }: NullPlace): string {
  const filled = withValueAt(undefined, steps, value);
  return replaceSpan(edit.text, span, formatValue(edit, filled, { isInline, base: lineIndent(edit.text, span.start) }));
}

function appendMember(
  edit: JsonEdit,
  { isArray }: Container,
  { gap, colon, value: before }: Member,
  { step, value }: { readonly step: JsonStep; readonly value: JsonValue },
): string {
  const isInline = !gap.includes("\n");
  const separator = gap === "" && (colon.includes(" ") || edit.indent !== "") ? " " : gap;
  const key = isArray ? "" : `${JSON.stringify(String(step))}${colon}`;
  const base = gap.slice(gap.lastIndexOf("\n") + 1);
  return replaceSpan(
    edit.text,
    { start: before.end, end: before.end },
    `,${separator}${key}${formatValue(edit, value, { isInline, base })}`,
  );
}

/** A value in an object or array of one line is written in one line as well. */
function formatValue(
  { indent, lineEnd }: JsonEdit,
  value: JsonValue,
  { isInline, base }: { readonly isInline: boolean; readonly base: string },
): string {
  if (isInline) return JSON.stringify(value);
  return JSON.stringify(value, null, indent).replaceAll("\n", `${lineEnd}${base}`);
}

function wholeSpan(text: string): Span {
  return { start: skipSpace(text, 0), end: text.trimEnd().length };
}

function replaceSpan(text: string, { start, end }: Span, by: string): string {
  return text.slice(0, start) + by + text.slice(end);
}

/** Returns the indentation of the line. */
function lineIndent(text: string, offset: number): string {
  const start = text.lastIndexOf("\n", offset) + 1;
  return text.slice(start, Math.min(skipSpace(text, start), offset));
}

function readContainer(text: string, start: number, step: JsonStep): Container {
  const isArray = text[start] === "[";
  const index = isArray ? toArrayIndex(step) : undefined;
  let last: Member | undefined;
  let count = 0;
  for (let at = start + 1; ;) {
    const first = skipSpace(text, at);
    if (text[first] === "]" || text[first] === "}") return { isArray, found: undefined, last }; // an empty one
    const member = readMember(text, { gap: text.slice(at, first), start: first, isArray });
    last = member;
    if (isArray ? count === index : isKey(text, first, String(step))) return { isArray, found: member, last };
    count++;
    at = skipSpace(text, member.value.end);
    if (text[at] !== ",") return { isArray, found: undefined, last };
    at++;
  }
}

function readMember(
  text: string,
  { gap, start, isArray }: { readonly gap: string; readonly start: number; readonly isArray: boolean },
): Member {
  const keyEnd = isArray ? start : findStringEnd(text, start + 1) + 1;
  const valueStart = isArray ? start : skipSpace(text, skipSpace(text, keyEnd) + 1);
  return { gap, start, colon: text.slice(keyEnd, valueStart), value: { start: valueStart, end: findValueEnd(text, valueStart) } };
}

function isKey(text: string, start: number, name: string): boolean {
  const quoted = text.slice(start, findStringEnd(text, start + 1) + 1);
  return quoted.includes("\\") ? parseJson(quoted) === name : quoted === `"${name}"`;
}

function findValueEnd(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const character = text[at];
    if (character === '"') at = findStringEnd(text, at + 1);
    else if (character === "{" || character === "[") depth++;
    else if (character === "}" || character === "]") depth--;
    else if (depth === 0) return findWordEnd(text, at);
    if (depth === 0) return at + 1;
  }
  return text.length;
}

/** Returns the end of a number, `true`, `false` or `null`. */
function findWordEnd(text: string, start: number): number {
  let end = start;
  while (end < text.length && /[\w.+-]/u.test(text[end] ?? "")) end++;
  return end;
}

function skipSpace(text: string, start: number): number {
  let at = start;
  while (text[at] === " " || text[at] === "\n" || text[at] === "\r" || text[at] === "\t") at++;
  return at;
}
