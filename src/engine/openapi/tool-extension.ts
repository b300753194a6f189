/** Reads `x-haft`: fields of a tool that OpenAPI does not have. An untrusted document may only add caution. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { TOOL_CATEGORIES, type Tool } from "../../core/tool.ts";
import { getOwn } from "../../core/base/get-own.ts";
import type { LocatedObject, OpenApiDocument } from "./document.ts";
import { childPlace, truncateText, quote, type Place } from "./warnings.ts";

export interface ToolExtension {
  readonly place: Place;
  /** Replaces the operation's name; needs no adaptation. */
  readonly name: string | undefined;
  readonly effects: JsonValue | undefined;
  readonly fields: Partial<Pick<Tool, "title" | "description" | "enabled" | "category" | "maxConcurrent" | "oncePerTurn" | "endsTurn">> &
    Pick<Tool, "timeoutMs" | "deadlineMs" | "maxAttempts" | "maxResultBytes">;
}

const KEY = "x-haft";

interface NumberRule {
  readonly min: number;
  readonly max: number;
  /** Highest value in an untrusted document: the default of the field. */
  readonly cautiousMax: number;
}

const NUMBERS = {
  timeoutMs: { min: 0, max: 86_400_000, cautiousMax: 30_000 },
  deadlineMs: { min: 0, max: 86_400_000, cautiousMax: 86_400_000 },
  maxAttempts: { min: 1, max: 100, cautiousMax: 4 },
  maxResultBytes: { min: 0, max: 1_073_741_824, cautiousMax: 65_536 },
  maxConcurrent: { min: 1, max: 1_000_000, cautiousMax: 1_000_000 },
} as const satisfies Record<string, NumberRule>;

const FLAGS = ["enabled", "oncePerTurn", "endsTurn"] as const;
const KNOWN: readonly string[] = ["name", "title", "description", "category", "effects", ...FLAGS, ...Object.keys(NUMBERS)];

/** @param levels from the document to the operation; the innermost value is used */
export function readExtension(document: OpenApiDocument, levels: readonly LocatedObject[], isTrusted: boolean): ToolExtension {
  const merged: Record<string, JsonValue> = {};
  let effects: JsonObject = {};
  let at: Place = levels.at(-1)?.place ?? { parent: undefined, step: "" };
  for (const [index, level] of levels.entries()) {
    const declared = getOwn(level.value, KEY);
    if (declared === undefined) continue;
    const place = childPlace(level.place, KEY);
    const warn = (problem: string): void => document.warnings.add(place, problem);
    if (!isJsonObject(declared)) {
      warn(`${KEY} must be an object, not ${quote(declared)}; it is left out.`);
      continue;
    }
    at = place;
    const entries = Object.entries(declared);
    document.countReads(entries.length);
    for (const [name, value] of entries) {
      const isOfOne = name === "name" || name === "title" || name === "description";
      if (!KNOWN.includes(name)) warn(`${quote(name)} is unknown; known fields: ${KNOWN.join(", ")}.`);
      else if (isOfOne && index < levels.length - 1) warn(`${name} belongs to an operation; it is left out.`);
      else if (name === "effects" && isJsonObject(value)) effects = { ...effects, ...value };
      else merged[name] = value;
    }
  }
  const hasEffects = Object.keys(effects).length > 0;
  return interpret(document, hasEffects ? { ...merged, effects } : merged, { place: at, isTrusted });
}

function interpret(
  document: OpenApiDocument,
  given: JsonObject,
  { place, isTrusted }: { readonly place: Place; readonly isTrusted: boolean },
): ToolExtension {
  const warn = (problem: string): void => document.warnings.add(place, problem);
  const fields: Record<string, JsonValue> = {};
  for (const flag of FLAGS) {
    const value = getOwn(given, flag);
    if (typeof value === "boolean") fields[flag] = value;
    else if (value !== undefined) warn(`${flag} must be a boolean, not ${quote(value)}; it is left out.`);
  }
  for (const [name, rule] of Object.entries(NUMBERS)) {
    const value = getOwn(given, name);
    if (value !== undefined && isNumberFor(value, name, { rule, isTrusted, warn })) fields[name] = value;
  }
  const category = getOwn(given, "category");
  if (TOOL_CATEGORIES.some((known) => known === category)) fields["category"] = category ?? null;
  else if (category !== undefined) warn(`category must be one of ${TOOL_CATEGORIES.join(", ")}, not ${quote(category)}; it is left out.`);
  for (const [name, maxLength] of [
    ["title", 200],
    ["description", 4_000],
  ] as const) {
    const value = getOwn(given, name);
    if (typeof value === "string") fields[name] = truncateText(value, maxLength);
    else if (value !== undefined) warn(`${name} must be a string, not ${quote(value)}; it is left out.`);
  }
  return { place, name: readName(getOwn(given, "name"), warn), effects: getOwn(given, "effects"), fields };
}

interface NumberReading {
  readonly rule: NumberRule;
  readonly isTrusted: boolean;
  readonly warn: (problem: string) => void;
}

/** Whether the number is valid and allowed. Without trust, neither 0 (no limit) nor more than the default is. */
function isNumberFor(value: JsonValue, name: string, { rule, isTrusted, warn }: NumberReading): value is number {
  const isSound = typeof value === "number" && Number.isInteger(value) && value >= rule.min && value <= rule.max;
  if (!isSound) {
    warn(`${name} must be an integer from ${rule.min} to ${rule.max}, not ${quote(value)}; it is left out.`);
    return false;
  }
  if (isTrusted || (value > 0 && value <= rule.cautiousMax)) return true;
  warn(`${name} would weaken safeguards with ${value} and is ignored; an untrusted document may set 1 to ${rule.cautiousMax}.`);
  return false;
}

function readName(name: JsonValue | undefined, warn: (problem: string) => void): string | undefined {
  if (name === undefined) return undefined;
  if (typeof name === "string" && /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/u.test(name)) return name;
  warn(`name must be 1 to 64 of A-Z a-z 0-9 _ -, not ${quote(name)}; it is left out.`);
  return undefined;
}
