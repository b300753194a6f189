/** How many columns of a terminal a text takes, how much of it fits, and where it may be broken. */
import { eastAsianWidth } from "get-east-asian-width";

const NOT_PLAIN = /[^\x20-\x7e]/u;
const HAS_WIDTH = /[^\p{M}\p{Cf}\p{Cc}]/u;
const EMOJI = /\p{Emoji_Presentation}|\ufe0f/u;
/** Colours as `styleText` writes them. */
const STYLES = /(\u001b\[[0-9;]{0,32}m)/u;

/** The width of lines without a terminal. */
const FILE_WIDTH = 120;

let segmenter: Intl.Segmenter | undefined;

/** Returns the maximum width of a line: that of the terminal, or of a file that people read. */
export function lineWidth({ width }: { readonly width: number }): number {
  return width === Infinity ? FILE_WIDTH : width;
}

/** Returns the columns of a text without line breaks. East Asian wide characters and emoji take two, combining marks and colours none. */
export function countColumns(text: string): number {
  if (!NOT_PLAIN.test(text)) return text.length;
  let columns = 0;
  for (const character of charactersOf(text)) columns += columnsOfCharacter(character);
  return columns;
}

/** Returns the index after the last whole character that fits into `columns`; at the beginning of a line at least one character. */
export function indexAfterColumns(text: string, columns: number, isBeginning: boolean = false): number {
  if (!NOT_PLAIN.test(text)) return Math.min(text.length, isBeginning ? Math.max(1, columns) : columns);
  let left = columns;
  let end = 0;
  for (const character of charactersOf(text)) {
    left -= columnsOfCharacter(character);
    if (left < 0 && (end > 0 || !isBeginning)) break;
    end += character.length;
  }
  return end;
}

/** Adds spaces up to a width of `columns`. */
export function padColumns(text: string, columns: number): string {
  return text + " ".repeat(Math.max(0, columns - countColumns(text)));
}

/** Yields the parts of a word between which a line may be broken: before and after each wide character, and after `most` others. */
export function* splitWord(word: string, most: number): Generator<string, void, undefined> {
  if (word.length <= most && !NOT_PLAIN.test(word)) {
    yield word;
    return;
  }
  let part = "";
  for (const character of charactersOf(word)) {
    const isWide = columnsOfCharacter(character) > 1;
    if (part !== "" && (isWide || part.length + character.length > most)) {
      yield part;
      part = "";
    }
    if (isWide) yield character;
    else part += character;
  }
  if (part !== "") yield part;
}

/** Yields the characters as a person sees them, each of one or more code points. A colour counts as one character. */
export function* charactersOf(text: string): Generator<string, void, undefined> {
  for (const part of text.split(STYLES)) {
    if (STYLES.test(part)) yield part;
    else for (const { segment } of (segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" })).segment(part)) yield segment;
  }
}

function columnsOfCharacter(character: string): number {
  if (!HAS_WIDTH.test(character) || character.startsWith("\u001b")) return 0;
  return EMOJI.test(character) ? 2 : eastAsianWidth(character.codePointAt(0) ?? 0);
}
