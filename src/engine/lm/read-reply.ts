/** Finds the JSON objects in a model's reply: the reply itself, one in a fence, or several in prose. */
import { ToolError } from "../../core/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { parseJson, countWideKeys } from "../../core/base/parse-json.ts";
import { fixJsonText, readJsonText } from "../../schema/repair/fix-json-text.ts";

/** Maximum number of objects that are read in prose; each may require a scan of the whole rest. */
const MAX_OBJECTS = 8;
/** Maximum number of keys, in a whole reply, of objects with over 1,000 each: reading and checking more would block the event loop too long. */
const MAX_WIDE_KEYS = 10_000;
/** Minimum number of characters of a key. */
const MIN_KEY_CHARS = 2;
const FENCE = "```";

const EMPTY_OBJECT = /^\{\s*\}$/u;
const END_OF_THINKING = /<\/think(?:ing)?>|<\/reasoning>|\[\/THINK\]|◁\/think▷/gu;

/**
 * The objects in their order, deeply frozen; [] if there are none, or if they are too wide to be read.
 *
 * Syntax errors of an object (quotes, commas, comments) are repaired. An object that was cut off is not completed, and words without keys and values
 * are not turned into one. Thinking before the reply is ignored.
 */
export function readReply(text: string): readonly JsonObject[] {
  if (isTooWide(text)) return [];
  const whole = parseObject(text);
  if (whole !== undefined) return [whole];
  const replyText = textAfterThinking(text);
  const inside = parseObject(fencedText(replyText) ?? replyText);
  return inside === undefined ? objectsInProse(replyText) : [inside];
}

/** The problem of a reply that is too wide, or that is an object which cannot be parsed; undefined for any other reply. */
export function findReplyProblem(text: string): string | undefined {
  if (isTooWide(text)) return `The objects of the answer have more than ${MAX_WIDE_KEYS} keys in all; only smaller ones are read.`;
  const replyText = textAfterThinking(text);
  const object = (fencedText(replyText) ?? replyText).trim();
  if (!object.startsWith("{")) return undefined;
  try {
    parseJson(object);
    return undefined;
  } catch (thrown: unknown) {
    return ToolError.fromUnknown(thrown).message;
  }
}

function isTooWide(text: string): boolean {
  return text.length > MAX_WIDE_KEYS * MIN_KEY_CHARS && countWideKeys(text) > MAX_WIDE_KEYS;
}

/** The text after the thinking that a model wrote into it. */
export function textAfterThinking(text: string): string {
  const last = [...text.matchAll(END_OF_THINKING)].at(-1);
  return last === undefined ? text : text.slice(last.index + last[0].length);
}

function parseObject(text: string): JsonObject | undefined {
  const trimmed = text.replace(/^\uFEFF/u, "").trim();
  if (EMPTY_OBJECT.test(trimmed)) return Object.freeze({});
  if (!trimmed.startsWith("{") || !trimmed.includes(":")) return undefined;
  const value = readJsonText(trimmed) ?? repairObject(trimmed);
  return isJsonObject(value) ? value : undefined;
}

/** Repairs an object, guesses included, as the answer is shown and checked against its schema. */
function repairObject(text: string): JsonValue | undefined {
  const fixed = fixJsonText(text);
  return "value" in fixed && !fixed.isCutShort ? fixed.value : undefined;
}

/** The text between the first fence and the next, without the language after the first. */
function fencedText(text: string): string | undefined {
  const start = text.indexOf(FENCE);
  if (start < 0) return undefined;
  const from = start + FENCE.length;
  const end = text.indexOf(FENCE, from);
  return text.slice(from, end < 0 ? text.length : end).replace(/^\w{0,16}/u, "");
}

function objectsInProse(text: string): readonly JsonObject[] {
  const objects: JsonObject[] = [];
  let seen = 0;
  for (let at = text.indexOf("{"); at >= 0 && seen++ < MAX_OBJECTS;) {
    const end = endOfObject(text, at);
    if (end < 0) break;
    const object = parseObject(text.slice(at, end));
    if (object !== undefined && Object.keys(object).length > 0) objects.push(object); // {} in a sentence is not an answer
    at = text.indexOf("{", end);
  }
  return objects;
}

/** The index after the brace that closes the one at `start`; -1 if none does. Braces in strings are ignored. */
function endOfObject(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const char = text[at];
    if (char === '"') {
      at = endOfString(text, at + 1);
    } else if (char === "{") {
      depth++;
    } else if (char === "}" && --depth === 0) {
      return at + 1;
    }
  }
  return -1;
}

/** The index of the closing quote, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let at = start; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === '"') return at;
  }
  return text.length;
}
