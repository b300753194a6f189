/** Detects that a text asks for a secret, however it is written: with look-alike letters, with characters in between, in many languages. */
import { LOOK_ALIKES, IGNORABLE_CHARACTERS } from "../../core/base/look-alikes.ts";
import { COUNTING } from "../../core/formats/token-counts.ts";
import { LONG_WORDS, PHRASES, PINNING_AFTER, PINNING_BEFORE, SHORT_WORDS } from "./secret-words.ts";

/** Maximum number of characters of a text that are examined. */
const MAX_LENGTH = 20_000;

/** Look-alikes in addition to those for comparing names: small capitals, letters that read alike in running text, digits and signs for letters. */
const MORE_LOOK_ALIKES: ReadonlyMap<string, string> = new Map(
  [
    "кk тt мm вb нh гr зe ьb яr σo εe κk τt ωw ηn βb γy", // as they are read in a Latin word
    "łi đd øo ħh ŧt ðd þp əe ƒf ɑa ɡg ꞁi ıi ȷj ʟi", // Latin, without a decomposition
    "ᴀa ʙb ᴄc ᴅd ᴇe ꜰf ɢg ʜh ɪi ᴊj ᴋk ᴍm ɴn ᴏo ᴘp ʀr ꜱs ᴛt ᴜu ᴠv ᴡw ʏy ᴢz", // small capitals
    "Ꭺa Ᏼb Ꮯc Ꭰd Ꭼe Ꮋh Ꭻj Ꮶk Ꮮi Ꮇm Ꮲp Ꭱr Ꮪs Ꭲt Ꮩv Ꮃw Ꮓz", // Cherokee
    "0o 1i 3e 4a 5s 7t @a $s !i |i €e £i ¢c", // digits and signs
    "li", // the letter for which 1, I and | are taken
  ].flatMap((line) => line.split(" ").map((pair) => [String.fromCodePoint(pair.codePointAt(0) ?? 0), pair.slice(1)] as const)),
);

/** The first code points of boxed, circled and flag letters, which no normalization maps. */
const BOXED_ALPHABETS = [0x1f130, 0x1f150, 0x1f170, 0x1f1e6];
const BIDIRECTIONAL = /[\u202a-\u202e\u2066-\u2069\u200e\u200f]/u;

const LONG = LONG_WORDS.map((word) => foldLetters(word).replaceAll(" ", ""));
const SHORT: ReadonlySet<string> = new Set(SHORT_WORDS.flatMap((word) => wordsOf(word)));
const RUNS = [...LONG, ...SHORT];
const PHRASE_TEXTS = PHRASES.map((phrase) => wordsOf(phrase).join(" "));
const PHRASE_WORDS: ReadonlySet<string> = new Set(PHRASES.flatMap((phrase) => wordsOf(phrase.replaceAll(" ", "")))); // an inner "s" is no plural
const COUNT_WORDS: ReadonlySet<string> = new Set(COUNTING.flatMap(wordsOf));
const BEFORE_PINNING: ReadonlySet<string> = new Set(PINNING_BEFORE.flatMap(wordsOf));
const AFTER_PINNING: ReadonlySet<string> = new Set(PINNING_AFTER.flatMap(wordsOf));
const PIN = foldLetters("pin");
const TOKEN = foldLetters("token");
const PASS = foldLetters("pass");

/** Whether a text names a password, a key, a code or another secret. */
export function mentionsSecret(text: string): boolean {
  const start = text.slice(0, MAX_LENGTH);
  const read = toLatinLetters(start);
  if (hasSecretName(read) || hasSecretName(read.replaceAll(INNER_CAPITAL, " "))) return true;
  // shown from right to left, it may read differently
  return BIDIRECTIONAL.test(start) && hasSecretName(Array.from(read).reverse().join(""));
}

/** Matches before the next word in `accessToken` and `APIKey`. */
const INNER_CAPITAL = /(?<=\p{Ll}|\d)(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/gu;

function hasSecretName(read: string): boolean {
  const words = wordsOf(read);
  const together = words.join("");
  if (LONG.some((word) => together.includes(word))) return true;
  if (words.some((word, index) => isSecretWord(word, index, words)) || spelledOutWords(words).some(containsSecretWord)) return true;
  const spaced = ` ${words.join(" ")} `;
  return PHRASE_TEXTS.some((phrase) => spaced.includes(` ${phrase} `));
}

function isSecretWord(word: string, index: number, words: readonly string[]): boolean {
  if (PHRASE_WORDS.has(word)) return true;
  if (!SHORT.has(word)) return false;
  if (word === PASS) return words.length <= 2;
  if (word === PIN) return !BEFORE_PINNING.has(words[index - 1] ?? "") && !AFTER_PINNING.has(words[index + 1] ?? "");
  return word !== TOKEN || !words.some((other) => COUNT_WORDS.has(other));
}

/** Words whose letters were written separately: `p.a.s.s`. */
function spelledOutWords(words: readonly string[]): readonly string[] {
  const runs: string[] = [];
  let run = "";
  for (const word of [...words, ""]) {
    if (Array.from(word).length === 1) {
      run += word;
      continue;
    }
    if (run.length >= 3) runs.push(asOneLetter(run));
    run = "";
  }
  return runs;
}

function containsSecretWord(run: string): boolean {
  return RUNS.some((word) => run.includes(word));
}

/** The words of a text, each folded, without the "s" of a plural. */
function wordsOf(text: string): readonly string[] {
  return foldLetters(text)
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "")
    .map((word) => (word.length > 3 && word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word));
}

/** The text in lower case, with each group of look-alikes as one letter. */
function foldLetters(text: string): string {
  let plain = "";
  for (const character of toLatinLetters(text).toLowerCase()) {
    const latin = LOOK_ALIKES.get(character) ?? character; // some look alike in lower case only
    plain += MORE_LOOK_ALIKES.get(latin) ?? latin;
  }
  return asOneLetter(plain);
}

function asOneLetter(text: string): string {
  return text.replaceAll("rn", "m").replaceAll("vv", "w");
}

/** The text as a person reads it: without accents and invisible characters, and with look-alikes as Latin letters. */
function toLatinLetters(text: string): string {
  let read = "";
  for (const character of text
    .normalize("NFKD")
    .replace(IGNORABLE_CHARACTERS, "")
    .replaceAll(/[\p{Cf}\p{M}]/gu, "")) {
    const latin = LOOK_ALIKES.get(character) ?? unboxLetter(character) ?? character;
    read += latin;
  }
  return read;
}

function unboxLetter(character: string): string | undefined {
  const code = character.codePointAt(0) ?? 0;
  const first = BOXED_ALPHABETS.find((start) => code >= start && code < start + 26);
  return first === undefined ? undefined : String.fromCharCode(0x61 + code - first);
}
