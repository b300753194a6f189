/** Text for a terminal: escapes untrusted control characters, adds colours, and fits lines to the width. */
import { stripVTControlCharacters, styleText } from "node:util";
import { countColumns, indexAfterColumns } from "./text-width.ts";
import { escapeUnit } from "../../core/base/escape-invisible.ts";

export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

export type Paint = (style: Style, text: string) => string;

/** A stream to write to, such as `process.stdout`. */
export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  /** Whether more was written than its reader has read. */
  readonly writableNeedDrain?: boolean;
  /** Whether it cannot be written any more: its reader is gone, or the disk is full. Known in the turn of the event loop after a write. */
  readonly isLost?: boolean;
  once?(event: "drain", listener: () => void): unknown;
}

/** An output as commands use it. */
export interface Screen {
  write(text: string): void;
  /** Writes one line of JSON, escaped so that it is safe to print. */
  writeJson(value: unknown): void;
  /** Writes complete lines for a person; takes them without the last line break. Lines wider than the terminal are broken between words. */
  print(lines: string): void;
  /** Clears a terminal. Does nothing on one that is "dumb", or if the output goes to a file or another program. */
  clear(): void;
  /** Resolves when there is room for more; never if the reader is gone. Undefined if there is room now. */
  whenDrained(): Promise<void> | undefined;
  /** As `isLost` of the output. */
  readonly isLost: boolean;
  readonly paint: Paint;
  /** Whether the output is a terminal, which a person reads. */
  readonly isTerminal: boolean;
  /** The current number of columns of the terminal; `Infinity` if the output goes to a file or another program. */
  readonly width: number;
}

const USUAL_WIDTH = 80;
const LEAST_WIDTH = 40;
const CLEAR = "\u001B[H\u001B[2J";

/** Makes the screen for an output. Colours need a terminal that is not "dumb", and an empty or unset `NO_COLOR`. @see https://no-color.org */
export function screenFor(output: Output, environment: Readonly<Record<string, string | undefined>>): Screen {
  const isTerminal = output.isTTY === true;
  const takesEscapes = isTerminal && environment["TERM"] !== "dumb";
  const coloured = takesEscapes && (environment["NO_COLOR"] ?? "") === "";
  /** One listener for all that wait: each would stay on the stream until it is drained. */
  let drained: Promise<void> | undefined;
  const waitUntilDrained = (): Promise<void> =>
    (drained ??= new Promise((resolve) =>
      output.once?.("drain", () => {
        drained = undefined;
        resolve();
      }),
    ));
  const widthNow = (): number => (isTerminal ? Math.max(LEAST_WIDTH, output.columns || USUAL_WIDTH) : Infinity);
  return {
    write: (text) => void output.write(text),
    writeJson: (value) => void output.write(`${safeJson(value)}\n`),
    print: (lines) => void output.write(`${fitLines(lines, widthNow())}\n`),
    clear: () => void (takesEscapes && output.write(CLEAR)),
    whenDrained: () => (output.writableNeedDrain === true ? waitUntilDrained() : undefined),
    paint: coloured ? (style, text) => styleText(style, text, { validateStream: false }) : (_style, text) => text,
    isTerminal,
    get isLost() {
      return output.isLost === true;
    },
    get width() {
      return widthNow();
    },
  };
}

/**
 * Makes text from a model, a server or a file safe to print: removes escape sequences, and writes control, bidirectional and invisible characters as
 * `\u{…}`. Line feeds and tabs stay; CR LF becomes LF.
 */
export function safeText(text: string): string {
  return stripVTControlCharacters(text).replaceAll("\r\n", "\n").replaceAll(UNSAFE, escapeCharacter);
}

/**
 * Like `safeText`, for a name or an id: line breaks and tabs are written as `\u{…}` too. Models choose the names of the tools that they call and
 * clients the ids of sessions, and such a name must not look like a line of Haft's own.
 */
export function safeName(name: string): string {
  return safeText(name).replaceAll(/[\n\t]/gu, escapeCharacter);
}

function escapeCharacter(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

const UNSAFE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

/** Formats JSON that is safe to print: writes the characters that `safeText` escapes as `\u…`, which keeps the value. */
export function safeJson(value: unknown, indent = 0): string {
  return safeJsonText(JSON.stringify(value, undefined, indent));
}

/** Like `safeJson`, for JSON text. */
export function safeJsonText(json: string): string {
  return json.replaceAll(UNSAFE, (character) => character.replaceAll(/[^]/g, escapeUnit));
}

/** Returns safe text in one line of at most `width` columns: line breaks become spaces, and the rest is cut with an ellipsis. */
export function toOneLine(text: string, width: number): string {
  const flat = safeText(startOf(text, width))
    .replaceAll(/\s(?=\s)/gu, "")
    .replaceAll(SPACE, " ")
    .trim();
  return truncateToWidth(flat, width);
}

/** Returns safe text broken between words into lines of at most `width` columns; its own line breaks stay. */
export function wrap(text: string, width: number): readonly string[] {
  return safeText(text)
    .split("\n")
    .flatMap((line) => wrapLine(line.trimEnd(), { width, hang: 0 }));
}

/** Matches the mark at the beginning of a line, such as `  ? ` or `  ✓ #3  `. Continuation lines are aligned with the text after it. */
const MARK = /^ {0,200}(?:(?:[?!·↻→✓✗~+=-]|#\d{1,20}) {1,200}){0,20}/u;

/** Breaks safe text between words into lines that fit the terminal, and keeps colours. Continuation lines align with the text after their mark. */
export function fitLines(text: string, width: number): string {
  if (width === Infinity) return text;
  return text
    .split("\n")
    .map((line) => {
      if (countColumns(line) <= width) return line;
      const hang = Math.min(countColumns(MARK.exec(stripVTControlCharacters(line))?.[0] ?? ""), width >> 1);
      return wrapLine(line, { width, hang }).join(`\n${" ".repeat(hang)}`);
    })
    .join("\n");
}

/** Breaks a line between words, or inside a word that is wider than a line. Lines after the first are narrower by `hang` columns. */
function wrapLine(line: string, { width, hang }: { readonly width: number; readonly hang: number }): readonly string[] {
  if (countColumns(line) <= width) return [line];
  const lines: string[] = [];
  let current = "";
  let left = width;
  const end = (): void => {
    lines.push(current.trimEnd());
    current = "";
    left = width - hang;
  };
  for (const { word, gap } of wordsWithGaps(line)) {
    let columns = countColumns(word);
    if (columns > left && current !== "") end();
    const isIndented = current === "" && lines.length === 0;
    let rest = current === "" && !isIndented ? word.slice(gap.length) : word;
    if (rest !== word) columns -= gap.length;
    while (columns > left) {
      const part = rest.slice(0, indexAfterColumns(startOf(rest, width), left, current === ""));
      current += part;
      rest = rest.slice(part.length);
      columns -= countColumns(part);
      end();
    }
    current += rest;
    left -= columns;
  }
  return [...lines, current];
}

/** Yields each word with the spaces before it. */
function* wordsWithGaps(line: string): Generator<{ readonly word: string; readonly gap: string }, void, undefined> {
  let start = 0;
  while (start < line.length) {
    const first = findMatchIndex(NO_SPACE, line, start);
    if (first === line.length) return; // spaces at the end
    const end = findMatchIndex(SPACE, line, first);
    yield { word: line.slice(start, end), gap: line.slice(start, first) };
    start = end;
  }
}

const SPACE = /\s/gu;
const NO_SPACE = /\S/gu;

/** Returns the index of the first match at or after `from`, or the length of the text. */
function findMatchIndex(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return pattern.exec(text)?.index ?? text.length;
}

/** Returns safe text after the beginning of a line. Continuation lines align with its first word, or further left if few columns remain. */
export function wrapAfter(start: string, text: string, width: number): string {
  const hang = Math.min(countColumns(start), Math.max(4, width - LEAST_WIDTH));
  const flat = safeText(text)
    .replaceAll(/\s(?=\s)/gu, "")
    .replaceAll(SPACE, " ")
    .trim();
  return wrapLine(`${start}${flat}`.trimEnd(), { width, hang }).join(`\n${" ".repeat(hang)}`);
}

/** Returns the text, or as much of it as fits into `width` columns with an ellipsis. Never cuts a character in half. */
export function truncateToWidth(text: string, width: number): string {
  if (text.length * 2 <= width || countColumns(text) <= width) return text;
  return `${text.slice(0, indexAfterColumns(text, Math.max(0, width - 1)))}…`;
}

/** Returns the width of a column for texts: that of the widest, at most `most`. */
export function columnWidth(texts: readonly string[], most: number): number {
  return texts.reduce((widest, text) => Math.min(most, Math.max(widest, countColumns(text))), 0);
}

/** Returns enough of a huge text to fill `width`, so that escaping it costs no more than showing it. */
function startOf(text: string, width: number): string {
  const maxChars = width * 8 + 64;
  return text.length > maxChars ? text.slice(0, maxChars) : text;
}

/** Formats milliseconds for a person: `0.4 ms`, `12 ms`, `1.5 s`, `2 min`. */
export function formatDuration(ms: number): string {
  if (ms === 0) return "0 ms";
  if (ms < 9.95) return `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  return ms < 120_000 ? `${(ms / 1_000).toFixed(1).replace(/\.0$/u, "")} s` : `${Math.round(ms / 60_000)} min`;
}
