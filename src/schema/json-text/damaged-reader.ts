/** Reads one array or object of damaged JSON, and records the repairs. */
import { type JsonValue, DEFAULT_MAX_DEPTH } from "../../core/base/json.ts";
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { BracketCount } from "./bracket-count.ts";
import { isQuote, type StringRole } from "./damaged-string.ts";
import type { DamagedText } from "./damaged-text.ts";
import type { Mends, MendKind } from "./mend.ts";
import type { Outline } from "./outline.ts";
import { CLOSERS, KEY_CHAR, showText, TokenReader } from "./token-reader.ts";
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
  #hasInnerEnd = false;

  constructor(text: DamagedText, { start = 0, maxDepth = DEFAULT_MAX_DEPTH, exactStrings = false, outline }: DamagedJsonOptions) {
    super(text, { start, exact: exactStrings, outline });
    this.#start = start;
    this.#maxDepth = maxDepth;
  }

  read(): DamagedJson {
    const char = this.char;
    if (char !== "{" && char !== "[" && char !== "(") throw this.unreadableError("expected an object or an array");
    const value = this.#readValue("top");
    if (typeof value !== "object" || value === null) throw this.unreadableError("expected an object or an array");
    const whole = this.mends.has("end-missing") || this.mends.has("cut-off") ? value : this.#readPastEarlyEnd(value, char);
    return { value: whole, end: this.at, mends: this.mends };
  }

  /** Continues a value that an excess closing bracket ended early: `{"a": 1}, "b": 2}`. Otherwise skips excess brackets after it. */
  #readPastEarlyEnd(value: JsonValue, opener: string): JsonValue {
    let whole = value;
    for (;;) {
      const end = this.at;
      let extra = 0;
      for (this.skipSpace(); this.char !== "" && CLOSERS.includes(this.char); this.skipSpace()) {
        extra++;
        this.at++;
      }
      const more = this.char === "," && opener !== "(" ? this.#tryReadRest(whole, opener) : undefined;
      if (more === undefined) {
        if (extra === 0) this.at = end;
        else this.mends.add(this.#hasInnerEnd ? "bracket-guess" : "extra-bracket", end);
        return whole;
      }
      this.mends.add("bracket-guess", end);
      whole = more;
    }
  }

  /** Reads members or items after a value, up to the bracket that closes them; undefined if there are none. */
  #tryReadRest(value: JsonValue, opener: string): JsonValue | undefined {
    const start = this.at;
    const close = opener === "{" ? "}" : "]";
    const trial = new DamagedReader(this.text, { start, maxDepth: this.#maxDepth, exactStrings: this.exact });
    try {
      const more = trial.#readContinuation(value, close);
      this.at = trial.at;
      this.mends.addAll(trial.mends);
      return more;
    } catch (thrown: unknown) {
      if (thrown instanceof Unreadable) return undefined;
      throw thrown;
    }
  }

  #readContinuation(value: JsonValue, close: "}" | "]"): JsonValue {
    this.skipSpace(",");
    if (close === "}" && !isQuote(this.char)) throw this.unreadableError("expected a key");
    const more = Array.isArray(value) ? this.#readItems([...value], close) : this.#readMembers({ ...(value as Members) });
    if (this.mends.certainty === "cut" || this.mends.has("end-missing")) throw this.unreadableError("the text ends too early");
    return more;
  }

  #readValue(role: StringRole): JsonValue {
    const char = this.char;
    if (char === "{") return this.#readObject();
    if (char === "[") {
      this.at++;
      return this.#readItems([], "]");
    }
    if (char === "(") return this.#readTuple();
    if (isQuote(char)) return this.readJoinedStrings(role);
    return this.readWordValue(role);
  }

  #readObject(): Members {
    this.at++;
    this.skipSpace();
    if (this.char === "{" && this.source.startsWith("{{", this.at - 1)) {
      this.addMend("bracket-guess");
      this.at++;
    }
    return this.#readMembers({});
  }

  #readMembers(value: Members): Members {
    this.#openBracket("}");
    let colonMissing = false;
    let valueEnd = -1;
    for (let count = 0; ; count++) {
      const commas = this.#skipCommas(count === 0, "extra-comma");
      if (this.#readEnd(commas)) break;
      if (this.char === "{" && this.openBrackets.includes("]")) {
        this.addMend("bracket-guess"); // `[{"i": 1, {"i": 2}]`
        break;
      }
      const commaMissing = commas === 0 && count > 0;
      if (commaMissing) this.addMend(colonMissing || !isQuote(this.char) || this.#isCommaUncertain(valueEnd) ? "comma-guess" : "comma");
      const keyAt = this.at;
      const key = this.readKey();
      if (key === undefined) break;
      colonMissing = this.readColon(commaMissing || key.endsWith(":"), keyAt);
      this.skipSpace();
      const from = this.at;
      this.#addMember(value, key, this.#readMemberValue(), keyAt);
      this.outline?.add(value, key, { start: from, end: this.at });
      valueEnd = this.at;
      this.skipStrayWord("}");
    }
    this.openBrackets.pop();
    return value;
  }

  /** Whether the comma missing after a value may be inside it, or is not all that is missing: `"a.ts," "b": 1`, `12"b": 3`, `[1 500]`, `5 // 2,`. */
  #isCommaUncertain(valueEnd: number): boolean {
    const last = this.source[valueEnd - 1] ?? "";
    const gap = this.source.slice(valueEnd, this.at);
    if (gap.trim() !== "" || (isQuote(last) && this.source[valueEnd - 2] === ",")) return true;
    return DIGIT.test(last) && (gap === "" || (!gap.includes("\n") && NUMBER_START.test(this.char)));
  }

  #readMemberValue(): JsonValue {
    this.skipSpace();
    const char = this.char;
    if (char === "") {
      this.addMend("cut-off");
      return null;
    }
    if (char !== "," && !CLOSERS.includes(char)) return this.#readValue("object");
    this.addMend("no-value");
    return null;
  }

  /** Adds a member. Refuses a duplicate key with a different value; leaves out `__proto__`, which could reach a prototype. */
  #addMember(object: Members, key: string, value: JsonValue, at: number): void {
    if (key === "__proto__") {
      this.mends.add("proto", at);
      return;
    }
    const known = Object.hasOwn(object, key) ? object[key] : undefined;
    if (known !== undefined) {
      const contradicts = canonicalJson(known) !== canonicalJson(value);
      if (this.outline !== undefined) this.outline.addRepeatedKey(key, contradicts);
      else if (contradicts) throw new Unreadable(`the key ${showText(key)} is given twice in one object; give every key once`, at, true);
      else this.mends.add("key-twice", at);
    }
    object[key] = value;
  }

  #readItems(items: JsonValue[], close: string): readonly JsonValue[] {
    let pairs: Members | undefined;
    let before: "none" | "string" | "other" = "none";
    let itemEnd = -1;
    this.#openBracket(close);
    for (;;) {
      const commas = this.#skipCommas(before === "none", "empty-item");
      if (this.#readEnd(commas)) break;
      const quoted = isQuote(this.char);
      const itemAt = this.at;
      if (commas === 0 && before !== "none") {
        if (this.exact && KEY_CHAR.test(this.char) && !quoted && !/[-\dtfnTFNuU]/u.test(this.char))
          throw this.unreadableError("a word next to a value");
        this.addMend(quoted || before === "string" || this.#isCommaUncertain(itemEnd) ? "comma-guess" : "comma");
      }
      const item = this.#readValue("array");
      itemEnd = this.at;
      this.skipSpace();
      if (typeof item === "string" && quoted && this.char === ":") {
        this.addMend("pairs");
        this.at++;
        if (pairs === undefined) items.push((pairs = {}));
        this.#addMember(pairs, item, this.#readMemberValue(), itemAt);
      } else if (item !== undefined) {
        pairs = undefined;
        items.push(item);
      }
      before = quoted ? "string" : "other";
      this.skipStrayWord(close);
    }
    this.openBrackets.pop();
    return items;
  }

  /** Reads a tuple: `(1, 2)` and `()` are arrays, `(1)` is 1. */
  #readTuple(): JsonValue {
    this.addMend("tuple");
    const start = ++this.at;
    const items = this.#readItems([], ")");
    const [only] = items;
    const inside = this.source.slice(start, this.at).trimEnd().slice(0, -1).trimEnd();
    return items.length === 1 && only !== undefined && !inside.endsWith(",") ? only : items;
  }

  #openBracket(close: string): void {
    this.openBrackets.push(close);
    if (this.openBrackets.length > this.#maxDepth) throw new Unreadable(`it nests deeper than ${this.#maxDepth} levels`, this.at, true);
  }

  /** Skips commas and `...`; returns the number of commas. */
  #skipCommas(first: boolean, extra: MendKind): number {
    let commas = 0;
    for (this.skipSpace(); ; this.skipSpace()) {
      if (this.source.startsWith("...", this.at)) {
        this.addMend("stray");
        this.at += 3;
      } else if (this.char === ",") {
        if (commas > 0 || first) this.addMend(first || commas > 0 ? extra : "extra-comma");
        commas++;
        this.at++;
      } else return commas;
    }
  }

  /** Whether the current array or object ends here: by its bracket, that of an outer one, or the end of the text. */
  #readEnd(commas: number): boolean {
    for (;;) {
      const char = this.char;
      if (char === "") {
        if (commas > 0) this.addMend("cut-off");
        else if (!this.mends.has("cut-off")) this.addMend("end-missing");
        return true;
      }
      if (!CLOSERS.includes(char)) return false;
      const own = char === this.openBrackets.at(-1);
      if (own && commas === 1) this.addMend("extra-comma");
      if (own) {
        this.at++;
        this.#recordInnerEnd();
        return true;
      }
      this.#brackets ??= this.#countBrackets();
      if (this.#brackets.consumeSwapped(char, this.openBrackets.at(-1) ?? "")) {
        this.addMend("bracket-guess");
        this.at++;
        return true;
      }
      if (!this.#brackets.consumeExtra(char)) {
        if (!this.openBrackets.includes(char)) throw this.unreadableError(`${char} does not close anything`);
        this.addMend("bracket-guess");
        return true;
      }
      this.addMend("bracket-guess");
      this.at++;
      if (commas === 0) this.#skipComma();
      if (this.char !== "" && !CLOSERS.includes(this.char)) return false;
    }
  }

  #countBrackets(): BracketCount {
    this.text.budget.spend(this.source.length - this.#start);
    return new BracketCount(this.source, this.#start);
  }

  #skipComma(): void {
    this.skipSpace();
    if (this.char !== ",") return;
    this.at++;
    this.skipSpace();
  }

  /** Records that an array or object ended inside another that continues. */
  #recordInnerEnd(): void {
    if (this.#hasInnerEnd || this.openBrackets.length === 1) return;
    const at = this.spaces.skip(this.at);
    this.#hasInnerEnd = !CLOSERS.includes(this.source[at] ?? "");
  }
}
