/** Reads broken JSON where mending its text is not enough: quotes in texts, pairs in arrays, tuples, members behind the end. */
import type { JsonValue } from "../../core/json.ts";
import { canonicalJson, DEFAULT_MAX_DEPTH } from "../../core/json.ts";
import { isQuote, readLooseText } from "./loose-text.ts";
import type { TextRole } from "./loose-text.ts";

export interface LooseJson {
  readonly value: JsonValue;
  /** The offset behind the value. */
  readonly end: number;
  /** Every text, array and object was closed. */
  readonly whole: boolean;
}

const SPACE = /\s/u;
const WORDS: ReadonlyMap<string, JsonValue> = new Map<string, JsonValue>([
  ["true", true],
  ["false", false],
  ["null", null],
  ["none", null],
  ["undefined", null],
  ["nan", null],
]);
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/u;
const MAX_NUMBER = 400;
/** How many keys may lack their closing quote; each costs a look at the whole rest. */
const MAX_OPEN_KEYS = 8;

type Members = Record<string, JsonValue>;

/** What cannot be read as JSON however loosely. */
class Unreadable extends Error {}

/** The object or array that begins at `start`; undefined where there is none, or it cannot be told what it means. */
export function readLooseJson(source: string, start: number, maxDepth: number = DEFAULT_MAX_DEPTH): LooseJson | undefined {
  try {
    return new LooseReader(source, start, maxDepth).read();
  } catch (thrown: unknown) {
    if (thrown instanceof Unreadable) return undefined;
    throw thrown;
  }
}

/** A key twice is one where both say the same. */
function addMember(object: Members, key: string, value: JsonValue): void {
  const known = Object.hasOwn(object, key) ? object[key] : undefined;
  if (known !== undefined && canonicalJson(known) !== canonicalJson(value)) throw new Unreadable();
  if (key !== "__proto__") object[key] = value;
}

class LooseReader {
  readonly #source: string;
  readonly #maxDepth: number;
  #at: number;
  #whole = true;
  /** The brackets that close what is open. */
  readonly #open: string[] = [];
  #openKeys = 0;

  constructor(source: string, start: number, maxDepth: number) {
    this.#source = source;
    this.#at = start;
    this.#maxDepth = maxDepth;
  }

  read(): LooseJson {
    const value = this.#char === "{" ? this.#membersBehind(this.#object()) : this.#value("top");
    if (typeof value !== "object" || value === null) throw new Unreadable();
    return { value, end: this.#at, whole: this.#whole };
  }

  /** `{"a": 1}, "b": 2}` */
  #membersBehind(value: Members): JsonValue {
    const end = this.#at;
    this.#skip(",");
    if (this.#source.slice(end, this.#at).includes(",") && isQuote(this.#char)) return this.#members(value);
    this.#at = end;
    return value;
  }

  get #char(): string {
    return this.#source[this.#at] ?? "";
  }

  #value(role: TextRole): JsonValue {
    this.#skip("");
    const char = this.#char;
    if (char === "{") return this.#object();
    if (char === "[") return this.#array("]");
    if (char === "(") return this.#tuple();
    if (isQuote(char)) return this.#text(role);
    return this.#word(role);
  }

  #object(): Members {
    this.#at++;
    return this.#members({});
  }

  #members(value: Members): Members {
    this.#begin("}");
    for (this.#skip(","); !this.#closed(); this.#skip(",")) {
      const key = this.#key();
      if (key === undefined) break;
      addMember(value, key, this.#value("object"));
    }
    this.#open.pop();
    return value;
  }

  #array(close: "]" | ")"): readonly JsonValue[] {
    const items: JsonValue[] = [];
    let pairs: Members | undefined;
    this.#at++;
    this.#begin(close);
    for (this.#skip(","); !this.#closed(); this.#skip(",")) {
      const quoted = isQuote(this.#char);
      const item = this.#value("array");
      this.#skip("");
      if (!quoted || typeof item !== "string" || this.#char !== ":") {
        pairs = undefined;
        items.push(item);
        continue;
      }
      this.#at++;
      if (pairs === undefined) items.push((pairs = {}));
      addMember(pairs, item, this.#value("array"));
    }
    this.#open.pop();
    return items;
  }

  /** `(1, 2)` and `()` are lists, `(1)` is 1. */
  #tuple(): JsonValue {
    const start = this.#at;
    const items = this.#array(")");
    const [only] = items;
    const inside = this.#source.slice(start, this.#at).trimEnd().slice(0, -1).trimEnd();
    const single = items.length === 1 && !inside.endsWith(",");
    return single && only !== undefined ? only : items;
  }

  #begin(close: string): void {
    this.#open.push(close);
    if (this.#open.length > this.#maxDepth) throw new Unreadable();
  }

  /** At the end of what is open: its bracket, that of an outer one, or the end of the text. */
  #closed(): boolean {
    const char = this.#char;
    if (char === "") {
      this.#whole = false;
      return true;
    }
    if (char === this.#open.at(-1)) {
      this.#at++;
      return true;
    }
    if (char !== "}" && char !== "]" && char !== ")") return false;
    if (!this.#open.includes(char)) throw new Unreadable();
    this.#whole = false;
    return true;
  }

  /** Undefined where the text ends before the colon. */
  #key(): string | undefined {
    const start = this.#at;
    const key = isQuote(this.#char) ? this.#quotedKey() : this.#bareKey();
    this.#skip("");
    if (this.#char === "") {
      this.#whole = false;
      return undefined;
    }
    if (this.#char !== ":" || this.#at === start) throw new Unreadable();
    this.#at++;
    return key;
  }

  #quotedKey(): string {
    const start = this.#at;
    const { text, end, closed } = readLooseText(this.#source, start, { role: "key", depth: this.#open.length });
    this.#at = end;
    if (closed) return text;
    // No quote stands before a colon: the key ends at the first one, or is cut off.
    const colon = this.#source.indexOf(":", start);
    if (++this.#openKeys > MAX_OPEN_KEYS) throw new Unreadable();
    if (colon < 0 && this.#source.includes(this.#source[start] ?? "", start + 1)) throw new Unreadable();
    this.#whole = false;
    if (colon < 0) return text;
    this.#at = colon;
    return this.#source.slice(start + 1, colon).trim();
  }

  #bareKey(): string {
    const start = this.#at;
    while (/[\p{L}\p{N}_$.-]/u.test(this.#char)) this.#at++;
    return this.#source.slice(start, this.#at);
  }

  #text(role: TextRole): string {
    const { text, end, closed } = readLooseText(this.#source, this.#at, { role, depth: this.#open.length });
    this.#at = end;
    if (closed) return text;
    this.#whole = false;
    return this.#withoutClosers(text);
  }

  /** A text that never ends may have swallowed the brackets of what is open. */
  #withoutClosers(text: string): string {
    let end = text.trimEnd().length;
    for (const close of this.#open.toReversed()) {
      if (text[end - 1] !== close) break;
      end = text.slice(0, end - 1).trimEnd().length;
    }
    return end === text.trimEnd().length ? text : text.slice(0, end);
  }

  /** A number, a word of JSON or Python, else what stands there up to the next delimiter, as text. */
  #word(role: TextRole): JsonValue {
    const start = this.#at;
    while (this.#char !== "" && !",}])\n".includes(this.#char) && !(role === "array" && this.#char === ":")) this.#at++;
    const word = this.#source.slice(start, this.#at).trim();
    if (word === "" && (role !== "object" || !",}])".includes(this.#char))) throw new Unreadable();
    if (word === "") return null;
    const known = WORDS.get(word.slice(0, 16).toLowerCase());
    if (known !== undefined && word.length <= 16) return known;
    if (word.length > MAX_NUMBER || !NUMBER.test(word)) return word;
    const number = Number(word);
    if (!Number.isFinite(number) || (Number.isInteger(number) && !Number.isSafeInteger(number))) throw new Unreadable();
    return number;
  }

  /** White space, comments, and what else is to be passed over. */
  #skip(also: string): void {
    for (; this.#at < this.#source.length; this.#at++) {
      const char = this.#char;
      if (char === "/" || char === "#") {
        if (!this.#skipComment()) return;
      } else if (!SPACE.test(char) && (also === "" || !also.includes(char))) return;
    }
  }

  /** Stops at the last character of the comment. */
  #skipComment(): boolean {
    const block = this.#source.startsWith("/*", this.#at);
    if (!block && this.#char !== "#" && !this.#source.startsWith("//", this.#at)) return false;
    const end = block ? this.#source.indexOf("*/", this.#at + 2) + 1 : this.#source.indexOf("\n", this.#at);
    this.#at = end <= 0 ? this.#source.length : end;
    return true;
  }
}
