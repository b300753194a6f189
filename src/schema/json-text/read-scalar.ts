/** The string, number or constant that a text without brackets means. */
import type { JsonValue } from "../../core/base/json.ts";
import { isQuote } from "./damaged-string.ts";
import { readWord } from "./damaged-word.ts";
import { DamagedText } from "./damaged-text.ts";

/** A call of a function around a value: `callback(null);` */
const CALLBACK = /^[\p{L}_$][\p{L}\p{N}_$.]*\s?\(([^()]*)\)\s?;?$/u;

/** Undefined where it is several lines of prose. Lines of numbers are an array of them. */
export function readScalar(text: string): JsonValue | undefined {
  const begun = text.slice(new DamagedText(text).spaces.skip(0)).replace(/[\s,;]{0,64}$/u, "");
  const inner = CALLBACK.exec(begun)?.[1] ?? begun;
  const source = /^\\["']/u.test(inner) ? inner.replaceAll(/\\(["'])/gu, "$1").replace(/\\$/u, "") : inner;
  if (source === "") return undefined;
  if (isQuote(source[0] ?? "")) {
    const read = new DamagedText(source).strings.guess(0, { role: "top", open: [] });
    return read.end >= source.length ? read.text : undefined;
  }
  const word = readWord(source, 0);
  if (word !== undefined) return word.value;
  if (!source.includes("\n")) return source;
  const numbers = source.split("\n").map((line) => readWord(line.trim(), 0)?.value);
  return numbers.every((number) => typeof number === "number") ? numbers : undefined;
}
