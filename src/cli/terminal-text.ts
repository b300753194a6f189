/** Text for a terminal: strangers' control characters made visible, colours where the terminal wants them. */
import { stripVTControlCharacters, styleText } from "node:util";

/** Where a command writes. */
export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export type Paint = (style: "bold" | "dim" | "red" | "green" | "yellow" | "cyan", text: string) => string;

/** Colours for an output: none when it is no terminal, when `NO_COLOR` is set, or when told so. */
export function paintFor(output: Output, environment: Readonly<Record<string, string | undefined>>): Paint {
  const coloured = output.isTTY === true && (environment["NO_COLOR"] ?? "") === "";
  return coloured ? (style, text) => styleText(style, text, { validateStream: false }) : (_style, text) => text;
}

/**
 * Makes text from a model, a server or a file safe to print: escape sequences are removed, and control,
 * bidirectional and invisible characters become `\u{…}`. Line feeds and tabs stay.
 */
export function safeText(text: string): string {
  return stripVTControlCharacters(text).replaceAll(UNSAFE, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;

/** One line of at most `width` characters: line breaks become spaces, the rest is cut with an ellipsis. */
export function oneLine(text: string, width: number): string {
  const flat = safeText(text.length > width * 8 ? text.slice(0, width * 8) : text).replaceAll(/\s+/gu, " ").trim();
  return flat.length <= width ? flat : `${flat.slice(0, Math.max(1, width - 1))}…`;
}

/** `1 call`, `2 calls`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** Milliseconds as people read them: `0.4 ms`, `12 ms`, `1.5 s`. */
export function duration(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
