/** Parses an ECMAScript regular expression to a small tree that can be analysed and rewritten. */

/** One member of a character class, or a whole single-character term. */
export type SetMember =
  | { readonly type: "range"; readonly from: number; readonly to: number }
  | { readonly type: "class"; readonly name: "d" | "D" | "w" | "W" | "s" | "S" }
  | { readonly type: "property"; readonly name: string; readonly negated: boolean };

export type PatternNode =
  | { readonly type: "set"; readonly negated: boolean; readonly members: readonly SetMember[] }
  | { readonly type: "edge"; readonly edge: "start" | "end" | "word" | "not-word" }
  | { readonly type: "sequence"; readonly items: readonly PatternNode[] }
  | { readonly type: "choice"; readonly branches: readonly PatternNode[] }
  | { readonly type: "repeat"; readonly body: PatternNode; readonly min: number; readonly max: number }
  | {
      readonly type: "look";
      readonly ahead: boolean;
      readonly negated: boolean;
      readonly body: PatternNode;
      readonly start: number;
      readonly end: number;
    };

/** A construct that is not supported here: back-references, inline flags, too deeply nested groups. */
export class UnsupportedPattern extends Error {}

const MAX_GROUP_DEPTH = 64;
const CLASS_ESCAPES = "dDwWsS";
const CONTROL_ESCAPES: ReadonlyMap<string, number> = new Map([
  ["t", 9],
  ["n", 10],
  ["v", 11],
  ["f", 12],
  ["r", 13],
]);
export const LAST_CODE_POINT = 0x10ffff;
/** `.` without the flag `s`: everything except the four line terminators. */
const DOT: PatternNode = { type: "set", negated: true, members: [singleCharacter(10), singleCharacter(13), range(0x2028, 0x2029)] };

/**
 * Parses a pattern that `new RegExp` has already accepted, with the flag `u` if `unicode`.
 *
 * @throws UnsupportedPattern for anything that cannot run in linear time or that the tree cannot represent
 */
export function parsePattern(source: string, unicode: boolean): PatternNode {
  const reader = new PatternParser(source, unicode);
  const tree = reader.choice(0);
  if (reader.at < source.length) throw new UnsupportedPattern(`unexpected ${source.charAt(reader.at)}`);
  return tree;
}

function range(from: number, to: number): SetMember {
  return { type: "range", from, to };
}

function singleCharacter(code: number): SetMember {
  return range(code, code);
}

function singleMemberSet(member: SetMember): PatternNode {
  return { type: "set", negated: false, members: [member] };
}

class PatternParser {
  at = 0;
  private readonly source: string;
  private readonly unicode: boolean;

  constructor(source: string, unicode: boolean) {
    this.source = source;
    this.unicode = unicode;
  }

  choice(depth: number): PatternNode {
    if (depth > MAX_GROUP_DEPTH) throw new UnsupportedPattern("groups are nested too deeply");
    const branches = [this.sequence(depth)];
    while (this.tryRead("|")) branches.push(this.sequence(depth));
    const [first] = branches;
    return branches.length === 1 && first !== undefined ? first : { type: "choice", branches };
  }

  private sequence(depth: number): PatternNode {
    const items: PatternNode[] = [];
    while (this.at < this.source.length && !this.startsWith("|") && !this.startsWith(")")) items.push(this.quantified(this.term(depth)));
    const [first] = items;
    return items.length === 1 && first !== undefined ? first : { type: "sequence", items };
  }

  private term(depth: number): PatternNode {
    if (this.tryRead("^")) return { type: "edge", edge: "start" };
    if (this.tryRead("$")) return { type: "edge", edge: "end" };
    if (this.tryRead(".")) return DOT;
    if (this.tryRead("[")) return this.characterClass();
    if (this.tryRead("(")) return this.group(depth);
    if (this.tryRead("\\")) return this.escapedTerm();
    return singleMemberSet(singleCharacter(this.codePoint()));
  }

  private group(depth: number): PatternNode {
    if (!this.tryRead("?")) return this.groupBody(depth);
    if (this.tryRead(":")) return this.groupBody(depth);
    for (const [mark, ahead, negated] of LOOKS) {
      if (!this.tryRead(mark)) continue;
      const start = this.at;
      const body = this.groupBody(depth);
      return { type: "look", ahead, negated, body, start, end: this.at - 1 };
    }
    if (!this.tryRead("<")) throw new UnsupportedPattern("inline flags are not supported");
    this.at = this.source.indexOf(">", this.at) + 1;
    return this.groupBody(depth);
  }

  private groupBody(depth: number): PatternNode {
    const body = this.choice(depth + 1);
    if (!this.tryRead(")")) throw new UnsupportedPattern("a group is not closed");
    return body;
  }

  private quantified(body: PatternNode): PatternNode {
    const bounds = this.bounds();
    if (bounds === undefined) return body;
    this.tryRead("?"); // laziness does not affect whether there is a match
    return { type: "repeat", body, min: bounds[0], max: bounds[1] };
  }

  private bounds(): readonly [number, number] | undefined {
    if (this.tryRead("*")) return [0, Infinity];
    if (this.tryRead("+")) return [1, Infinity];
    if (this.tryRead("?")) return [0, 1];
    BRACES.lastIndex = this.at;
    const braces = BRACES.exec(this.source);
    if (braces === null) return undefined; // without `u`, a lone "{" is an ordinary character
    this.at = BRACES.lastIndex;
    const min = Number(braces[1]);
    if (braces[2] === undefined) return [min, min];
    return [min, braces[3] === "" ? Infinity : Number(braces[3])];
  }

  private escapedTerm(): PatternNode {
    if (this.tryRead("b")) return { type: "edge", edge: "word" };
    if (this.tryRead("B")) return { type: "edge", edge: "not-word" };
    const next = this.source.charAt(this.at);
    if (next >= "1" && next <= "9") throw new UnsupportedPattern("back-references are not supported");
    if (next === "k") throw new UnsupportedPattern("named back-references are not supported");
    return singleMemberSet(this.escape());
  }

  private characterClass(): PatternNode {
    const negated = this.tryRead("^");
    const members: SetMember[] = [];
    while (!this.tryRead("]")) {
      const low = this.classAtom();
      if (!this.startsWith("-") || this.source.charAt(this.at + 1) === "]") {
        members.push(low);
        continue;
      }
      this.at++;
      const high = this.classAtom();
      if (low.type === "range" && high.type === "range") members.push(range(low.from, high.to));
      else members.push(low, singleCharacter(45), high); // without `u`, `[\w-x]` contains a plain hyphen
    }
    return { type: "set", negated, members };
  }

  private classAtom(): SetMember {
    if (this.at >= this.source.length) throw new UnsupportedPattern("a character class is not closed");
    if (!this.tryRead("\\")) return singleCharacter(this.codePoint());
    if (this.tryRead("b")) return singleCharacter(8);
    return this.escape();
  }

  /** Reads the text after a backslash that means one character of a set. */
  private escape(): SetMember {
    const letter = this.source.charAt(this.at);
    if (letter !== "" && CLASS_ESCAPES.includes(letter)) {
      this.at++;
      return { type: "class", name: letter as "d" }; // one of CLASS_ESCAPES, as checked above
    }
    const control = CONTROL_ESCAPES.get(letter);
    if (control !== undefined) {
      this.at++;
      return singleCharacter(control);
    }
    if (this.unicode && (letter === "p" || letter === "P")) return this.property();
    for (const form of this.unicode ? NUMERIC_ESCAPES : OLDER_ESCAPES) {
      form.lastIndex = this.at;
      const found = form.exec(this.source);
      if (found === null) continue;
      this.at = form.lastIndex;
      return singleCharacter(escapedCode(found));
    }
    if (letter >= "0" && letter <= "9") return this.octal();
    if (letter === "c") throw new UnsupportedPattern("a control escape without a letter");
    return singleCharacter(this.codePoint());
  }

  private property(): SetMember {
    PROPERTY.lastIndex = this.at;
    const found = PROPERTY.exec(this.source);
    if (found === null) throw new UnsupportedPattern("a Unicode property without a name");
    this.at = PROPERTY.lastIndex;
    return { type: "property", name: found[2] ?? "", negated: found[1] === "P" };
  }

  /** Reads `\\0`, and without `u` the legacy `\\12` and `\\377`. */
  private octal(): SetMember {
    OCTAL.lastIndex = this.at;
    const digits = OCTAL.exec(this.source)?.[0];
    if (digits === undefined) return singleCharacter(this.codePoint()); // `\\8`, which is an 8
    this.at += digits.length;
    return singleCharacter(Number.parseInt(digits, 8));
  }

  /** Reads the next character, which is a UTF-16 unit without `u`. */
  private codePoint(): number {
    const code = (this.unicode ? this.source.codePointAt(this.at) : this.source.charCodeAt(this.at)) ?? 0;
    this.at += code > 0xffff ? 2 : 1;
    return code;
  }

  private startsWith(text: string): boolean {
    return this.source.startsWith(text, this.at);
  }

  private tryRead(text: string): boolean {
    if (!this.source.startsWith(text, this.at)) return false;
    this.at += text.length;
    return true;
  }
}

const LOOKS: readonly (readonly [mark: string, ahead: boolean, negated: boolean])[] = [
  ["=", true, false],
  ["!", true, true],
  ["<=", false, false],
  ["<!", false, true],
];
const BRACES = /\{(\d+)(,(\d*))?\}/uy;
/** LegacyOctalEscapeSequence of ECMA-262, Annex B.1.2: up to 255. */
const OCTAL = /[0-3][0-7]{0,2}|[4-7][0-7]?/uy;
const PROPERTY = /([pP])\{([^}]*)\}/uy;
/** `\uXXXX`, `\xXX` and `\cX`. */
const OLDER_ESCAPES: readonly RegExp[] = [/u([\da-fA-F]{4})/y, /x([\da-fA-F]{2})/y, /c([a-zA-Z])/y];
/** With `u`, also a surrogate pair and `\u{…}`. */
const NUMERIC_ESCAPES: readonly RegExp[] = [
  /u([dD][89abAB][\da-fA-F]{2})\\u([dD][c-fC-F][\da-fA-F]{2})/y,
  /u\{([\da-fA-F]+)\}/y,
  ...OLDER_ESCAPES,
];

function escapedCode(found: RegExpExecArray): number {
  const [text, digits = "", trail] = found;
  if (text.startsWith("c")) return digits.charCodeAt(0) % 32;
  const code = Number.parseInt(digits, 16);
  if (trail === undefined) return Math.min(code, LAST_CODE_POINT);
  return (code - 0xd800) * 0x400 + (Number.parseInt(trail, 16) - 0xdc00) + 0x10000;
}
