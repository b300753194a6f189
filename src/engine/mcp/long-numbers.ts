/** Keeps the digits of numbers in a server's answers: a number that a double cannot hold is read as a string. */
import { findStringEnd } from "../../core/base/parse-exactly.ts";
import { LONG_NUMBER, stringifyLongNumber } from "../../core/base/parse-json.ts";
import { BOUND_KEYWORDS } from "../../core/formats/lost-digits.ts";
import { SCHEMA_MAP_KEYWORDS } from "../../schema/keyword-names.ts";

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/uy;
const QUOTE = 0x22;
const MINUS = 0x2d;

/** Writes the numbers that `stringifyLongNumber` converts as strings, in JSON that another parser reads. All other text is unchanged. */
export function quoteLongNumbers(json: string): string {
  if (!LONG_NUMBER.test(json)) return json;
  const pieces: string[] = [];
  let written = 0;
  for (let at = 0; at < json.length;) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = findStringEnd(json, at + 1) + 1;
    else if (code !== MINUS && !isDigit(code)) at++;
    else {
      NUMBER.lastIndex = at;
      const source = NUMBER.exec(json)?.[0] ?? "";
      if (typeof stringifyLongNumber("", Number(source), { source }) === "string") {
        pieces.push(json.slice(written, at), `"${source}"`);
        written = at + source.length;
      }
      at += Math.max(source.length, 1);
    }
  }
  return written === 0 ? json : pieces.join("") + json.slice(written);
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** Does the same in the data of an event stream. Each line is passed on when its end has arrived. */
export function quoteLongNumbersInEvents(events: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  let pieces: Uint8Array[] = [];
  return events.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        const end = Math.max(chunk.lastIndexOf(0x0a), chunk.lastIndexOf(0x0d)) + 1;
        if (end > 0) {
          controller.enqueue(quoteInLines([...pieces, chunk.subarray(0, end)]));
          pieces = [];
        }
        if (end < chunk.length) pieces.push(chunk.subarray(end));
      },
      flush: (controller) => {
        if (pieces.length > 0) controller.enqueue(quoteInLines(pieces));
      },
    }),
  );
}

/** Reads the bytes as Latin-1, in which each byte is one character: those of other characters are never digits or quotes. */
function quoteInLines(pieces: readonly Uint8Array[]): Uint8Array {
  const bytes = Buffer.concat(pieces);
  const lines = bytes.toString("latin1");
  return LONG_NUMBER.test(lines) ? Buffer.from(lines.replaceAll(/^data[^\r\n]*/gmu, quoteLongNumbers), "latin1") : bytes;
}

/** Keywords whose values are data, such as the string that an output must be. */
export const DATA_KEYWORDS: ReadonlySet<string> = new Set(["const", "default", "enum", "example", "examples"]);
/** Keywords whose keys are names. */
const NAMED: ReadonlySet<string> = new Set([...SCHEMA_MAP_KEYWORDS, "$defs", "definitions"]);
const LONG_TEXT = /^-?\d[\d.eE+-]+$/u;
/** A schema that nests deeper is not usable. */
const MAX_DEPTH = 256;

/**
 * The schema with its bounds as numbers again, such as the `maximum` of 9223372036854775807 that servers write for integers of 64 bits: a bound may be
 * rounded. The same value if it has no such bound.
 */
export function restoreBounds(schema: unknown): unknown {
  return restoreIn(schema, { isKeyword: true, depth: 0 });
}

interface Place {
  /** Whether the keys of an object are keywords, not the names of properties or definitions. */
  readonly isKeyword: boolean;
  readonly depth: number;
}

function restoreIn(value: unknown, place: Place): unknown {
  if (typeof value !== "object" || value === null || place.depth > MAX_DEPTH) return value;
  const depth = place.depth + 1;
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value.map((item: unknown) => restoreIn(item, { isKeyword: true, depth }));
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  const changed = Object.entries(value).flatMap(([key, part]: [string, unknown]) => {
    const restored = place.isKeyword ? restoreKeyword(key, part, depth) : restoreIn(part, { isKeyword: true, depth });
    return restored === part ? [] : [[key, restored] as const];
  });
  return changed.length === 0 ? value : { ...value, ...Object.fromEntries(changed) };
}

function restoreKeyword(key: string, value: unknown, depth: number): unknown {
  if (DATA_KEYWORDS.has(key)) return value;
  if (!BOUND_KEYWORDS.has(key) || typeof value !== "string") return restoreIn(value, { isKeyword: !NAMED.has(key), depth });
  const bound = LONG_NUMBER.test(value) && LONG_TEXT.test(value) ? Number(value) : Number.NaN;
  return Number.isFinite(bound) ? bound : value;
}
