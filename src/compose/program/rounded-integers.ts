/** Finds integers of a program that JavaScript has rounded before they reach a tool, such as an id of 19 digits. */
import { findStringEnd } from "../../core/base/parse-exactly.ts";
import { losesIntegerDigits } from "../../core/formats/lost-digits.ts";

/** Integers long enough to lose digits, also in quotes, from which the program may make numbers. The suffix `n` is part of a word. */
const LONG_INTEGER = /(?<![\w$.])\d[\d_]{15,399}(?:\.0*)?(?![\w$.])/gu;
/** The beginning of a string, or a whole number without its sign. */
const TOKEN = /"|\d[\d.eE+-]*/gu;

/** Returns the digits of the rounded integers in the code, by the number that they become, as JSON writes it. */
export function findRoundedIntegers(code: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [literal] of code.matchAll(LONG_INTEGER)) {
    const digits = literal
      .replaceAll("_", "")
      .replace(/\.0*$/u, "")
      .replace(/^0+(?=\d)/u, "");
    const number = Number(digits);
    if (losesIntegerDigits(digits, number)) found.set(JSON.stringify(number), digits);
  }
  return found;
}

/** Puts the digits of the program into the input of a call, so that the call is refused with them: which value was meant is not known. */
export function restoreDigits(json: string, rounded: ReadonlyMap<string, string>): string {
  if (rounded.size === 0) return json;
  const pieces: string[] = [];
  let written = 0;
  TOKEN.lastIndex = 0;
  for (let found = TOKEN.exec(json); found !== null; found = TOKEN.exec(json)) {
    const [token] = found;
    const digits = rounded.get(token);
    if (token === '"') TOKEN.lastIndex = findStringEnd(json, found.index + 1) + 1;
    if (digits === undefined) continue;
    pieces.push(json.slice(written, found.index), digits);
    written = found.index + token.length;
  }
  return pieces.join("") + json.slice(written);
}
