/** Words without quotes in damaged JSON: numbers in any notation, constants of other languages, plain words. */
import type { JsonValue } from "../../core/base/json.ts";
import { losesIntegerDigits } from "../../core/formats/lost-digits.ts";
import type { MendKind } from "./mend.ts";
import { Unreadable } from "./unreadable.ts";
import { shortenNumber } from "../../core/base/truncate-text.ts";

export interface ReadWord {
  readonly value: JsonValue;
  /** The repair that was made. */
  readonly mend: MendKind | undefined;
}

const WORDS: ReadonlyMap<string, ReadWord> = new Map<string, ReadWord>([
  ["true", { value: true, mend: "word" }],
  ["false", { value: false, mend: "word" }],
  ["null", { value: null, mend: "word" }],
  ["none", { value: null, mend: "word-guess" }], // in Python, the constant is None; in other spelling it may be meant as a string
  ["undefined", { value: null, mend: "word-guess" }],
  ["nan", { value: null, mend: "word-guess" }],
]);
const LONGEST_WORD = 9;
const MAX_NUMBER = 400;
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/u;
const OTHER_NUMBER = /^[+-]?(?:(?:0|[1-9]\d*)\.?|(?:0|[1-9]\d*)?\.\d+)(?:[eE][+-]?\d+)?$/u;
const HEX_NUMBER = /^[+-]?0[xX][0-9a-fA-F]{1,13}$/u;
/** A number without the digits of its exponent. */
const UNFINISHED = /^([+-]?(?:0|[1-9]\d*)?(?:\.\d*)?)[eE][+-]?$/u;
const SPACED_SIGN = /^([+-])\s+(\d.*)$/u;

/** Returns the value of a word; undefined if it is plain text. Valid JSON needs no repair. */
export function readWord(word: string, at: number): ReadWord | undefined {
  if (word === "true") return { value: true, mend: undefined };
  if (word === "false") return { value: false, mend: undefined };
  if (word === "null") return { value: null, mend: undefined };
  if (word === "None") return { value: null, mend: "word" };
  const known = word.length <= LONGEST_WORD ? WORDS.get(word.toLowerCase()) : undefined;
  if (known !== undefined) return known;
  return word.length > MAX_NUMBER ? undefined : readNumber(word, at);
}

function readNumber(word: string, at: number): ReadWord | undefined {
  if (JSON_NUMBER.test(word)) return { value: checkExactNumber(word, Number(word), at), mend: undefined };
  if (OTHER_NUMBER.test(word))
    return { value: checkExactNumber(word, Number(word), at), mend: word.endsWith(".") ? "number-guess" : "number" };
  if (HEX_NUMBER.test(word)) {
    const sign = word.startsWith("-") ? -1 : 1;
    return { value: checkExactNumber(word, sign * Number(word.replace(/^[+-]/u, "")), at), mend: "number" };
  }
  if (word === "-" || word === "+") return { value: null, mend: "no-value" };
  if (word === ".") return { value: 0, mend: "number-guess" };
  const [, digits] = UNFINISHED.exec(word) ?? [];
  if (digits !== undefined && /\d/u.test(digits)) return { value: checkExactNumber(word, Number(digits), at), mend: "number-guess" };
  const [, sign, rest] = SPACED_SIGN.exec(word) ?? [];
  if (sign !== undefined && rest !== undefined && JSON_NUMBER.test(rest))
    return { value: checkExactNumber(word, sign === "-" ? -Number(rest) : Number(rest), at), mend: "number-guess" };
  return undefined;
}

function checkExactNumber(word: string, number: number, at: number): number {
  if (!Number.isFinite(number)) throw new Unreadable(`the number ${shortenNumber(word)} is too large; send it as a string`, at, true);
  if (Number.isInteger(number) && !Number.isSafeInteger(number) && !isExactInteger(word, number))
    throw new Unreadable(`the integer ${shortenNumber(word)} would lose digits; send it as a string`, at, true);
  return number;
}

/** Whether an integer keeps its digits. Numbers with a fraction are approximate anyway. */
function isExactInteger(word: string, number: number): boolean {
  if (/^[+-]?0[xX]/u.test(word)) return false;
  return /[.eE]/u.test(word) ? !losesIntegerDigits(word, number) : String(number) === word.replace(/^\+/u, "");
}
