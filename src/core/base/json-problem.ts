/** Finds what is wrong with JSON text, where, and what to write instead. Slow and exact: only for text that failed to parse. */

export interface JsonProblem {
  /** Offset in UTF-16 units. */
  readonly at: number;
  readonly problem: string;
  readonly hint: string;
}

/** Returns the first violation of RFC 8259, or the first duplicate key in an object; undefined if there is none. */
export function findJsonProblem(text: string): JsonProblem | undefined {
  return new ProblemFinder(text).find();
}

const CONTROL = /[\u0000-\u001f]/u;
/** Matches as much of a word as a message shows. */
const WORD = /[\p{L}\p{N}_$.+-]{1,64}/uy;
const HEX = /^[0-9a-fA-F]{4}$/u;
const COMPLETE = "Send the whole JSON text, every string, array and object closed.";
const ONE_VALUE = "Send one JSON value and nothing else, without code fences or comments.";

type Expected = "value" | "first-item" | "first-key" | "key" | "separator";

/** Each step reads one token and returns what it expects next; without recursion, deeply nested text cannot overflow the stack. */
class ProblemFinder {
  readonly #text: string;
  #at = 0;
  /** The keys of each open object; undefined for an open array. */
  readonly #open: (Set<string> | undefined)[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  find(): JsonProblem | undefined {
    let expected: Expected = "value";
    for (;;) {
      this.#skipSpace();
      const char = this.#text[this.#at];
      const done = expected === "separator" && this.#open.length === 0;
      if (char === undefined) return done ? undefined : this.#createProblem("the text ends too early", COMPLETE);
      if (done) return this.#createProblem(`${this.#found()} after the end of the value`, ONE_VALUE);
      const next = this.#token(char, expected);
      if (typeof next === "object") return next;
      expected = next;
    }
  }

  #token(char: string, expected: Expected): JsonProblem | Expected {
    if (expected === "separator") return this.#separator(char);
    return expected === "key" || expected === "first-key" ? this.#key(char, expected) : this.#value(char, expected);
  }

  #value(char: string, expected: Expected): JsonProblem | Expected {
    if (char === "{") return this.#openObject();
    if (char === "[") {
      this.#open.push(undefined);
      this.#at++;
      return "first-item";
    }
    if (char === "]" && expected === "first-item") return this.#close();
    if (char === '"') return this.#string() ?? "separator";
    for (const word of ["true", "false", "null"]) {
      if (this.#text.startsWith(word, this.#at)) {
        this.#at += word.length;
        return "separator";
      }
    }
    const end = endOfNumber(this.#text, this.#at);
    if (end === this.#at) return this.#createProblem(`expected a value, found ${this.#found()}`, valueHint(char));
    this.#at = end;
    return "separator";
  }

  #openObject(): Expected {
    this.#open.push(new Set());
    this.#at++;
    return "first-key";
  }

  #close(): Expected {
    this.#open.pop();
    this.#at++;
    return "separator";
  }

  #key(char: string, expected: Expected): JsonProblem | Expected {
    if (char === "}" && expected === "first-key") return this.#close();
    if (char !== '"') {
      const trailing = char === "}";
      return this.#createProblem(
        trailing ? 'a "," before "}"' : `expected a key, found ${this.#found()}`,
        trailing ? "Leave out the comma after the last item." : 'Write keys in double quotes: {"key": 1}.',
      );
    }
    const start = this.#at;
    const broken = this.#string();
    if (broken !== undefined) return broken;
    const key: unknown = JSON.parse(this.#text.slice(start, this.#at));
    const keys = this.#open.at(-1);
    if (typeof key === "string" && keys?.has(key)) {
      return { at: start, problem: `the key ${shorten(JSON.stringify(key))} is given twice in one object`, hint: "Give every key once." };
    }
    if (typeof key === "string") keys?.add(key);
    this.#skipSpace();
    if (this.#text[this.#at] !== ":") return this.#createProblem(`expected ":", found ${this.#found()}`, 'Write members as "key": value.');
    this.#at++;
    return "value";
  }

  #separator(char: string): JsonProblem | Expected {
    const object = this.#open.at(-1) !== undefined;
    const close = object ? "}" : "]";
    if (char === close) return this.#close();
    if (char !== ",")
      return this.#createProblem(
        `expected "," or "${close}", found ${this.#found()}`,
        'Put a comma between items, and write a double quote inside a string as \\".',
      );
    this.#at++;
    if (object) return "key";
    this.#skipSpace();
    if (this.#text[this.#at] === "]") return this.#createProblem('a "," before "]"', "Leave out the comma after the last item.");
    return "value";
  }

  /** Reads a string, or returns what is wrong with it. */
  #string(): JsonProblem | undefined {
    const text = this.#text;
    for (this.#at++; this.#at < text.length; this.#at++) {
      const char = text.charAt(this.#at);
      if (char === '"') {
        this.#at++;
        return undefined;
      }
      if (CONTROL.test(char))
        return this.#createProblem(`${this.#found()} inside a string`, "Write control characters as escapes: \\n, \\t, \\u0000.");
      if (char !== "\\") continue;
      const escape = text.charAt(this.#at + 1);
      const valid = escape === "u" ? HEX.test(text.slice(this.#at + 2, this.#at + 6)) : escape !== "" && '"\\/bfnrt'.includes(escape);
      if (!valid && escape !== "")
        return this.#createProblem(
          `${JSON.stringify(`\\${escape}`)} is not an escape of JSON`,
          "Write a backslash inside a string as \\\\.",
        );
      this.#at++;
    }
    return this.#createProblem("a string is not closed", COMPLETE);
  }

  #skipSpace(): void {
    for (; this.#at < this.#text.length; this.#at++) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
    }
  }

  #found(): string {
    if (this.#at >= this.#text.length) return "the end of the text";
    WORD.lastIndex = this.#at;
    const word = WORD.exec(this.#text)?.[0] ?? String.fromCodePoint(this.#text.codePointAt(this.#at) ?? 0);
    return shorten(JSON.stringify(word));
  }

  #createProblem(problem: string, hint: string): JsonProblem {
    return { at: Math.min(this.#at, this.#text.length), problem, hint };
  }
}

/** Returns the offset after the number at `start`; `start` if there is none. Uses a loop, as there may be megabytes of digits. */
function endOfNumber(text: string, start: number): number {
  const first = text[start] === "-" ? start + 1 : start;
  let end = text[first] === "0" ? first + 1 : endOfDigits(text, first);
  if (end === first) return start;
  if (text[end] === ".") {
    const fraction = endOfDigits(text, end + 1);
    if (fraction > end + 1) end = fraction;
  }
  if (text[end] !== "e" && text[end] !== "E") return end;
  const power = text[end + 1] === "+" || text[end + 1] === "-" ? end + 2 : end + 1;
  const exponent = endOfDigits(text, power);
  return exponent > power ? exponent : end;
}

function endOfDigits(text: string, start: number): number {
  let end = start;
  for (let code = text.charCodeAt(end); code >= 0x30 && code <= 0x39; code = text.charCodeAt(end)) end++;
  return end;
}

function valueHint(char: string): string {
  if (char === "'") return "Write strings in double quotes.";
  if (char === "]" || char === "}" || char === ",") return "Give every item a value, and leave out the comma after the last one.";
  return "A value is an object, an array, a string in double quotes, a number, true, false or null.";
}

function shorten(quoted: string): string {
  return quoted.length <= 60 ? quoted : `${quoted.slice(0, 56)}…"`;
}
