/** The screen of a terminal, as far as a line editor uses one: what a person sees of what was written. */
import { countColumns } from "../../src/cli/terminal/text-width.ts";

const TOKEN = /\u001b\[(\d*)([A-Za-z])|\u001b\[[?>]?[\d;]*[A-Za-z]|[^]/gu;

export class TerminalScreen {
  readonly #columns: number;
  #rows: string[][] = [[]];
  #row = 0;
  #column = 0;

  constructor(columns: number) {
    this.#columns = columns;
  }

  write(text: string): void {
    for (const [token, count, code] of text.matchAll(TOKEN)) {
      if (code !== undefined) this.#control(code, count === "" || count === undefined ? undefined : Number(count));
      else if (token === "\n") this.#down();
      else if (token === "\r") this.#column = 0;
      else if (token === "\b") this.#column = Math.max(0, this.#column - 1);
      else if (!token.startsWith("\u001b") && token >= " ") this.#put(token);
    }
  }

  /** Its lines, without spaces at their ends. */
  get lines(): readonly string[] {
    return this.#rows.map((row) =>
      Array.from(row, (cell) => cell ?? " ")
        .join("")
        .trimEnd(),
    );
  }

  get text(): string {
    return this.lines.join("\n");
  }

  #control(code: string, count: number | undefined): void {
    const by = count ?? 1;
    if (code === "A") this.#row = Math.max(0, this.#row - by);
    else if (code === "B") this.#row += by;
    else if (code === "C") this.#column += by;
    else if (code === "D") this.#column = Math.max(0, this.#column - by);
    else if (code === "G") this.#column = by - 1;
    else if (code === "J" || code === "K") {
      this.#rowNow.length = Math.min(this.#rowNow.length, this.#column);
      if (code === "J") this.#rows.length = this.#row + 1;
    }
  }

  get #rowNow(): string[] {
    while (this.#rows.length <= this.#row) this.#rows.push([]);
    return this.#rows[this.#row] ?? [];
  }

  #down(): void {
    this.#row++;
    void this.#rowNow;
  }

  #put(character: string): void {
    const width = countColumns(character);
    if (width > 0 && this.#column + width > this.#columns) {
      this.#down();
      this.#column = 0;
    }
    const row = this.#rowNow;
    while (row.length < this.#column) row.push(" ");
    row[this.#column] = character;
    for (let more = 1; more < width; more++) row[this.#column + more] = "";
    this.#column += width;
  }
}
