/** Detects when the braces of a streamed JSON object are closed, without parsing it. */

const MARKS = /["\\{}[\]]/gu;

export class JsonEndDetector {
  #depth = 0;
  #inString = false;
  /** Whether the last piece ended after a backslash. */
  #escaped = false;
  #reached = false;

  get reached(): boolean {
    return this.#reached;
  }

  push(piece: string): void {
    if (piece === "") return;
    MARKS.lastIndex = this.#escaped ? 1 : 0;
    this.#escaped = false;
    for (let found = MARKS.exec(piece); found !== null; found = MARKS.exec(piece)) {
      const [mark] = found;
      if (this.#inString) {
        if (mark === '"') this.#inString = false;
        else if (mark === "\\") this.#escaped = ++MARKS.lastIndex > piece.length;
      } else if (mark === '"') this.#inString = true;
      else if (mark === "{" || mark === "[") this.#depth++;
      else if ((mark === "}" || mark === "]") && --this.#depth <= 0) this.#reached = true;
    }
  }
}
