/** Tracks whether a position in a streamed text is quoted: in a code block, inline code, a block quote, or directly after a quotation mark. */
const NEWLINE = "\n";
const TICK = "`";
const TILDE = "~";
const CODE_INDENT = 4;
const QUOTATION_MARKS: ReadonlySet<string> = new Set(['"', "'", "“", "‘", "«", "「"]);

export class QuotationTracker {
  /** The marks that opened the current fence; empty outside one. */
  #fence = "";
  /** Number of backticks that opened the current inline code; 0 outside one. */
  #inline = 0;
  /** The backticks or tildes directly before this position. */
  #run = "";
  #runBeganLine = false;
  #lineIsBlank = true;
  #indent = 0;
  /** Whether the lines before this one allow it to be indented code: it follows a blank line after text, or other indented code. */
  #mayBeCode = false;
  #hasText = false;
  #blockQuote = false;
  #last = "";

  feed(text: string): void {
    for (let at = 0; at < text.length; at++) {
      const char = text.charAt(at);
      if (char === TICK || char === TILDE) this.#addToRun(char);
      else {
        if (this.#run !== "") this.#endRun();
        if (char === NEWLINE) this.#endLine();
        else if (this.#lineIsBlank && (char === " " || char === "\t" || char === "\r")) this.#indent += char === "\t" ? CODE_INDENT : 1;
        else if (this.#lineIsBlank) {
          this.#lineIsBlank = false;
          this.#blockQuote = char === ">";
        }
      }
      this.#last = char;
    }
  }

  /** Whether only white space precedes this position on its line. */
  get isAtLineStart(): boolean {
    return this.#lineIsBlank && this.#run === "";
  }

  get isQuoted(): boolean {
    if (this.#run !== "") this.#endRun();
    return this.#fence !== "" || this.#inline > 0 || this.#blockQuote || this.#indented || QUOTATION_MARKS.has(this.#last);
  }

  get #indented(): boolean {
    return this.#mayBeCode && this.#indent >= CODE_INDENT;
  }

  #addToRun(char: string): void {
    if (this.#run !== "" && !this.#run.startsWith(char)) this.#endRun();
    if (this.#run === "") this.#runBeganLine = this.#lineIsBlank;
    this.#run = this.#run.length < MAX_RUN ? this.#run + char : this.#run;
  }

  #endRun(): void {
    const run = this.#run;
    this.#run = "";
    this.#lineIsBlank = false;
    if (this.#fence !== "") {
      if (this.#runBeganLine && run.startsWith(this.#fence)) this.#fence = "";
    } else if (this.#runBeganLine && run.length >= 3) this.#fence = run;
    else if (run.startsWith(TILDE)) return;
    else if (this.#inline === 0) this.#inline = run.length;
    else if (this.#inline === run.length) this.#inline = 0;
  }

  #endLine(): void {
    this.#mayBeCode = this.#lineIsBlank ? this.#hasText : this.#indented;
    this.#hasText ||= !this.#lineIsBlank;
    this.#inline = 0;
    this.#indent = 0;
    this.#lineIsBlank = true;
    this.#blockQuote = false;
  }
}

/** Maximum length of a run that is remembered; longer ones count as this long. */
const MAX_RUN = 256;
