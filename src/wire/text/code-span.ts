/** Whether a place in a text that comes in pieces is quoted: in a code fence, inline code, a block quote, or right behind a quotation mark. */
const NEWLINE = "\n";
const TICK = "`";
const QUOTATION_MARKS: ReadonlySet<string> = new Set(['"', "'", "“", "‘", "«", "「"]);

export class CodeSpan {
  /** Backticks that opened the fence we are in. */
  #fence = 0;
  /** Backticks that opened the inline code we are in. */
  #inline = 0;
  /** Backticks we have just read. */
  #run = 0;
  #runBeganLine = false;
  #lineIsBlank = true;
  #blockQuote = false;
  #last = "";

  feed(text: string): void {
    for (let at = 0; at < text.length; at++) {
      const char = text.charAt(at);
      if (char === TICK) {
        if (this.#run++ === 0) this.#runBeganLine = this.#lineIsBlank;
      } else {
        if (this.#run > 0) this.#endRun();
        if (char === NEWLINE) this.#endLine();
        else if (this.#lineIsBlank && char !== " " && char !== "\t" && char !== "\r") {
          this.#lineIsBlank = false;
          this.#blockQuote = char === ">";
        }
      }
      this.#last = char;
    }
  }

  /** Nothing but white space stands before this place on its line. */
  get beginsLine(): boolean {
    return this.#lineIsBlank && this.#run === 0;
  }

  get quoted(): boolean {
    if (this.#run > 0) this.#endRun();
    return this.#fence > 0 || this.#inline > 0 || this.#blockQuote || QUOTATION_MARKS.has(this.#last);
  }

  #endRun(): void {
    const run = this.#run;
    this.#run = 0;
    this.#lineIsBlank = false;
    if (this.#fence > 0) {
      if (this.#runBeganLine && run >= this.#fence) this.#fence = 0;
    } else if (this.#runBeganLine && run >= 3) this.#fence = run;
    else if (this.#inline === 0) this.#inline = run;
    else if (this.#inline === run) this.#inline = 0;
  }

  #endLine(): void {
    this.#inline = 0;
    this.#lineIsBlank = true;
    this.#blockQuote = false;
  }
}
