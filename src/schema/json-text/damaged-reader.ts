/** Reads one array or object of damaged JSON, and records the repairs. */
import { type JsonValue, DEFAULT_MAX_DEPTH } from "../../core/base/json.ts";
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { BracketCount } from "./bracket-count.ts";
import { isQuote, type StringRole } from "./damaged-string.ts";
import type { DamagedText } from "./damaged-text.ts";
import type { Mends, MendKind } from "./mend.ts";
import type { Outline } from "./outline.ts";
import { CLOSERS, KEY_CHAR, show, TokenReader } from "./token-reader.ts";
import { Unreadable } from "./unreadable.ts";

export interface DamagedJson {
  readonly value: JsonValue;
  /** Offset directly after the value. */
  readonly end: number;
  readonly mends: Mends;
}

export interface DamagedJsonOptions {
  /** Offset of the array or object. @default 0 */
  readonly start?: number;
  /** @default 64 */
  readonly maxDepth?: number;
  /** Whether every string must begin and end with its quotes; fails otherwise. @default false */
  readonly exactStrings?: boolean;
  /** Records the places of members, duplicate keys and numbers that would lose digits. Without it, such keys and numbers are refused. */
  readonly outline?: Outline;
}

const DIGIT = /\d/u;
const NUMBER_START = /[-+.\d]/u;

type Members = Record<string, JsonValue>;

/** @throws Unreadable if no value can be read */
export function readDamaged(text: DamagedText, options: DamagedJsonOptions = {}): DamagedJson {
  return new DamagedReader(text, options).read();
}

class DamagedReader extends TokenReader {
  readonly #maxDepth: number;
  readonly #start: number;
  #brackets: BracketCount | undefined;
  /** Whether an array or object was closed inside this one and more text follows it. */
  #closedInside = false;

  constructor(text: DamagedText, { start = 0, maxDepth = DEFAULT_MAX_DEPTH, exactStrings = false, outline }: DamagedJsonOptions) {
    super(text, { start, exact: exactStrings, outline });
    this.#start = start;
    this.#maxDepth = maxDepth;
  }

  read(): DamagedJson {
    const char = this.char;
    if (char !== "{" && char !== "[" && char !== "(") throw this.unreadable("expected an object or an array");
    const value = this.#value("top");
    if (typeof value !== "object" || value === null) throw this.unreadable("expected an object or an array");
    const whole = this.mends.has("end-missing") || this.mends.has("cut-off") ? value : this.#goOn(value, char);
    return { value: whole, end: this.at, mends: this.mends };
  }

  /** Continues a value that an excess closing bracket ended early: `{"a": 1}, "b": 2}`. Otherwise skips excess brackets after it. */
  #goOn(value: JsonValue, opener: string): JsonValue {
    let whole = value;
    for (;;) {
      const end = this.at;
      let extra = 0;
      for (this.skip(); this.char !== "" && CLOSERS.includes(this.char); this.skip()) {
        extra++;
        this.at++;
      }
      const more = this.char === "," && opener !== "(" ? this.#rest(whole, opener) : undefined;
      if (more === undefined) {
        if (extra === 0) this.at = end;
        else this.mends.add(this.#closedInside ? "bracket-guess" : "extra-bracket", end);
        return whole;
      }
      this.mends.add("bracket-guess", end);
      whole = more;
    }
  }

  /** Reads members or items after a value, up to the bracket that closes them; undefined if there are none. */
  #rest(value: JsonValue, opener: string): JsonValue | undefined {
    const start = this.at;
    const close = opener === "{" ? "}" : "]";
    const trial = new DamagedReader(this.text, { start, maxDepth: this.#maxDepth, exactStrings: this.exact });
    try {
      const more = trial.#continued(value, close);
      this.at = trial.at;
      this.mends.addAll(trial.mends);
      return more;
    } catch (thrown: unknown) {
      if (thrown instanceof Unreadable) return undefined;
      throw thrown;
    }
  }

  #continued(value: JsonValue, close: "}" | "]"): JsonValue {
    this.skip(",");
    if (close === "}" && !isQuote(this.char)) throw this.unreadable("expected a key");
    const more = Array.isArray(value) ? this.#items([...value], close) : this.#members({ ...(value as Members) });
    if (this.mends.certainty === "cut" || this.mends.has("end-missing")) throw this.unreadable("the text ends too early");
    return more;
  }

  #value(role: StringRole): JsonValue {
    const char = this.char;
    if (char === "{") return this.#object();
    if (char === "[") {
      this.at++;
      return this.#items([], "]");
    }
    if (char === "(") return this.#tuple();
    if (isQuote(char)) return this.joined(role);
    return this.word(role);
  }

  #object(): Members {
    this.at++;
    this.skip();
    if (this.char === "{" && this.source.startsWith("{{", this.at - 1)) {
      this.note("bracket-guess");
      this.at++;
    }
    return this.#members({});
  }

  #members(value: Members): Members {
    this.#begin("}");
    let colonMissing = false;
    let valueEnd = -1;
    for (let count = 0; ; count++) {
      const commas = this.#commas(count === 0, "extra-comma");
      if (this.#ends(commas)) break;
      if (this.char === "{" && this.open.includes("]")) {
        this.note("bracket-guess"); // `[{"i": 1, {"i": 2}]`
        break;
      }
      const commaMissing = commas === 0 && count > 0;
      if (commaMissing) this.note(colonMissing || !isQuote(this.char) || this.#mayHoldMore(valueEnd) ? "comma-guess" : "comma");
      const keyAt = this.at;
      const key = this.key();
      if (key === undefined) break;
      colonMissing = this.colon(commaMissing || key.endsWith(":"), keyAt);
      this.skip();
      const from = this.at;
      this.#add(value, key, this.#memberValue(), keyAt);
      this.outline?.add(value, key, { start: from, end: this.at });
      valueEnd = this.at;
      this.stray("}");
    }
    this.open.pop();
    return value;
  }

  /** Whether the comma missing after a value may be inside it, or is not all that is missing: `"a.ts," "b": 1`, `12"b": 3`, `[1 500]`, `5 // 2,`. */
  #mayHoldMore(valueEnd: number): boolean {
    const last = this.source[valueEnd - 1] ?? "";
    const gap = this.source.slice(valueEnd, this.at);
    if (gap.trim() !== "" || (isQuote(last) && this.source[valueEnd - 2] === ",")) return true;
    return DIGIT.test(last) && (gap === "" || (!gap.includes("\n") && NUMBER_START.test(this.char)));
  }

  #memberValue(): JsonValue {
    this.skip();
    const char = this.char;
    if (char === "") {
      this.note("cut-off");
      return null;
    }
    if (char !== "," && !CLOSERS.includes(char)) return this.#value("object");
    this.note("no-value");
    return null;
  }

  /** Adds a member. Refuses a duplicate key with a different value; leaves out `__proto__`, which could reach a prototype. */
  #add(object: Members, key: string, value: JsonValue, at: number): void {
    if (key === "__proto__") {
      this.mends.add("proto", at);
      return;
    }
    const known = Object.hasOwn(object, key) ? object[key] : undefined;
    if (known !== undefined) {
      const contradicts = canonicalJson(known) !== canonicalJson(value);
      if (this.outline !== undefined) this.outline.addTwice(key, contradicts);
      else if (contradicts) throw new Unreadable(`the key ${show(key)} is given twice in one object; give every key once`, at, true);
      else this.mends.add("key-twice", at);
    }
    object[key] = value;
  }

  #items(items: JsonValue[], close: string): readonly JsonValue[] {
    let pairs: Members | undefined;
    let before: "none" | "string" | "other" = "none";
    let itemEnd = -1;
    this.#begin(close);
    for (;;) {
      const commas = this.#commas(before === "none", "empty-item");
      if (this.#ends(commas)) break;
      const quoted = isQuote(this.char);
      const itemAt = this.at;
      if (commas === 0 && before !== "none") {
        if (this.exact && KEY_CHAR.test(this.char) && !quoted && !/[-\dtfnTFNuU]/u.test(this.char))
          throw this.unreadable("a word next to a value");
        this.note(quoted || before === "string" || this.#mayHoldMore(itemEnd) ? "comma-guess" : "comma");
      }
      const item = this.#value("array");
      itemEnd = this.at;
      this.skip();
      if (typeof item === "string" && quoted && this.char === ":") {
        this.note("pairs");
        this.at++;
        if (pairs === undefined) items.push((pairs = {}));
        this.#add(pairs, item, this.#memberValue(), itemAt);
      } else if (item !== undefined) {
        pairs = undefined;
        items.push(item);
      }
      before = quoted ? "string" : "other";
      this.stray(close);
    }
    this.open.pop();
    return items;
  }

  /** Reads a tuple: `(1, 2)` and `()` are arrays, `(1)` is 1. */
  #tuple(): JsonValue {
    this.note("tuple");
    const start = ++this.at;
    const items = this.#items([], ")");
    const [only] = items;
    const inside = this.source.slice(start, this.at).trimEnd().slice(0, -1).trimEnd();
    return items.length === 1 && only !== undefined && !inside.endsWith(",") ? only : items;
  }

  #begin(close: string): void {
    this.open.push(close);
    if (this.open.length > this.#maxDepth) throw new Unreadable(`it nests deeper than ${this.#maxDepth} levels`, this.at, true);
  }

  /** Skips commas and `...`; returns the number of commas. */
  #commas(first: boolean, extra: MendKind): number {
    let commas = 0;
    for (this.skip(); ; this.skip()) {
      if (this.source.startsWith("...", this.at)) {
        this.note("stray");
        this.at += 3;
      } else if (this.char === ",") {
        if (commas > 0 || first) this.note(first || commas > 0 ? extra : "extra-comma");
        commas++;
        this.at++;
      } else return commas;
    }
  }

  /** Whether the current array or object ends here: by its bracket, that of an outer one, or the end of the text. */
  #ends(commas: number): boolean {
    for (;;) {
      const char = this.char;
      if (char === "") {
        if (commas > 0) this.note("cut-off");
        else if (!this.mends.has("cut-off")) this.note("end-missing");
        return true;
      }
      if (!CLOSERS.includes(char)) return false;
      const own = char === this.open.at(-1);
      if (own && commas === 1) this.note("extra-comma");
      if (own) {
        this.at++;
        this.#markClosed();
        return true;
      }
      this.#brackets ??= this.#countBrackets();
      if (this.#brackets.takeSwapped(char, this.open.at(-1) ?? "")) {
        this.note("bracket-guess");
        this.at++;
        return true;
      }
      if (!this.#brackets.takeExtra(char)) {
        if (!this.open.includes(char)) throw this.unreadable(`${char} does not close anything`);
        this.note("bracket-guess");
        return true;
      }
      this.note("bracket-guess");
      this.at++;
      if (commas === 0) this.#passComma();
      if (this.char !== "" && !CLOSERS.includes(this.char)) return false;
    }
  }

  #countBrackets(): BracketCount {
    this.text.budget.spend(this.source.length - this.#start);
    return new BracketCount(this.source, this.#start);
  }

  #passComma(): void {
    this.skip();
    if (this.char !== ",") return;
    this.at++;
    this.skip();
  }

  /** Records that an array or object ended inside another that continues. */
  #markClosed(): void {
    if (this.#closedInside || this.open.length === 1) return;
    const at = this.spaces.skip(this.at);
    this.#closedInside = !CLOSERS.includes(this.source[at] ?? "");
  }
}
