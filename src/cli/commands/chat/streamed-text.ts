/** Shows text while it streams: escaped, within its margin, and broken between words. */
import { safeText } from "../../terminal/terminal-text.ts";
import { charactersOf, countColumns, splitWord } from "../../terminal/text-width.ts";

/** Maximum length of a word that is held back until it is complete; a longer one is shown as far as it has arrived. */
const MAX_WORD = 256;
/** Maximum number of line breaks in a row: one empty line. */
const MAX_BREAKS = 2;
const TAB = "    ";

export interface StreamedTextOptions {
  /** Receives the text to show, without colours. */
  readonly write: (text: string) => void;
  /** Called before the first character: writes the text before it on its line, as wide as the margin. */
  readonly onStart: () => void;
  readonly margin: string;
  /** Number of columns after the margin; `Infinity` = lines are not broken. */
  readonly width: number;
}

/** Holds the last word back until it is complete, and spaces and line breaks until something follows them. */
export class StreamedText {
  readonly #options: StreamedTextOptions;
  #word = "";
  #gap = "";
  #breaks = 0;
  #column = 0;
  #hasStarted = false;
  #out = "";

  constructor(options: StreamedTextOptions) {
    this.#options = options;
  }

  add(delta: string): void {
    const text = this.#word + delta;
    const end = findHeldStart(text);
    this.#word = text.slice(end);
    this.#show(text.slice(0, end));
  }

  /** Shows the text that was held back, and ends the line. */
  end(): void {
    const rest = this.#word;
    this.#word = "";
    this.#show(rest);
    if (this.#hasStarted) this.#options.write("\n");
    this.#hasStarted = false;
    this.#gap = "";
    this.#breaks = 0;
    this.#column = 0;
  }

  #show(text: string): void {
    for (const [token] of text.matchAll(/\r?\n|[^\S\n]+|\S+/gu)) {
      if (token.endsWith("\n")) this.#addLineBreak();
      else if (token.trim() === "") this.#gap = this.#hasStarted ? (this.#gap + spaces(token)).slice(0, MAX_WORD) : "";
      else for (const piece of splitWord(safeText(token), MAX_WORD)) this.#addPiece(piece);
    }
    if (this.#out !== "") this.#options.write(this.#out);
    this.#out = "";
  }

  #addLineBreak(): void {
    this.#gap = "";
    if (this.#hasStarted) this.#breaks = Math.min(MAX_BREAKS, this.#breaks + 1);
  }

  #addPiece(piece: string): void {
    const { onStart, width } = this.#options;
    if (!this.#hasStarted) onStart();
    this.#hasStarted = true;
    const columns = countColumns(piece);
    if (this.#breaks > 0) this.#newLine();
    else if (this.#column > 0 && !this.#fits(columns)) {
      this.#gap = "";
      this.#newLine();
    }
    if (this.#column === 0) this.#gap = this.#gap.slice(0, Math.max(0, width - columns));
    this.#write(this.#gap);
    this.#write(piece);
    this.#gap = "";
  }

  /** Whether a word fits on the current line. A word wider than a line is broken, and fits if one column is left after the gap. */
  #fits(columns: number): boolean {
    const { width } = this.#options;
    return this.#column + this.#gap.length + (columns > width ? 1 : columns) <= width;
  }

  #newLine(): void {
    this.#out += `${"\n".repeat(Math.max(1, this.#breaks))}${this.#options.margin}`;
    this.#breaks = 0;
    this.#column = 0;
  }

  /** Writes text, and breaks a word that is longer than a line where the line ends. */
  #write(text: string): void {
    const columns = countColumns(text);
    if (this.#column + columns <= this.#options.width) {
      this.#out += text;
      this.#column += columns;
      return;
    }
    for (const character of charactersOf(text)) {
      const width = countColumns(character);
      if (this.#column > 0 && this.#column + width > this.#options.width) this.#newLine();
      this.#out += character;
      this.#column += width;
    }
  }
}

function spaces(whitespace: string): string {
  return whitespace.replaceAll("\r", "").replaceAll("\t", TAB).replaceAll(/[^ ]/gu, " ");
}

/** Returns where the held-back end of the text begins: at the last word, unless that is too long. Half a surrogate pair is always held back. */
function findHeldStart(text: string): number {
  let at = text.length;
  while (at > 0 && text.length - at <= MAX_WORD && (text[at - 1] === "\r" || /\S/u.test(text.charAt(at - 1)))) at--;
  if (text.length - at <= MAX_WORD) return at;
  return isHighSurrogate(text.charCodeAt(text.length - 1)) ? text.length - 1 : text.length;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
