/** JSON as indented text in coloured tokens, up to a number of characters: a large value costs no more than the part that is shown. */
import { firstCharacters } from "./text-pieces.ts";

export interface JsonToken {
  readonly kind: "key" | "string" | "number" | "word" | "mark";
  readonly text: string;
}

export interface JsonText {
  readonly tokens: readonly JsonToken[];
  /** Whether more follows. */
  readonly isCut: boolean;
}

/** Maximum depth. No shown value reaches it: with two more spaces per level it would take a million characters. */
const MAX_DEPTH = 1_000;

export function jsonTokens(value: unknown, budget: number): JsonText {
  const writer = new TokenWriter(budget);
  writer.write(value, 0);
  return { tokens: writer.tokens, isCut: writer.charactersLeft <= 0 };
}

class TokenWriter {
  readonly tokens: JsonToken[] = [];
  charactersLeft: number;

  constructor(budget: number) {
    this.charactersLeft = budget;
  }

  write(value: unknown, depth: number): void {
    if (this.charactersLeft <= 0) return;
    if (typeof value === "string") this.#addToken("string", quoteString(value, this.charactersLeft));
    else if (typeof value === "number") this.#addToken("number", String(value));
    else if (typeof value !== "object" || value === null) this.#addToken("word", String(value));
    else if (depth >= MAX_DEPTH) this.#addToken("mark", Array.isArray(value) ? "[…]" : "{…}");
    else if (Array.isArray(value)) this.#array(value, depth);
    else this.#object(value, depth);
  }

  #array(items: readonly unknown[], depth: number): void {
    if (items.length === 0) return this.#addToken("mark", "[]");
    this.#addToken("mark", "[");
    for (const [index, item] of items.entries()) {
      if (this.charactersLeft <= 0) return;
      this.#addLineBreak(depth + 1, index > 0);
      this.write(item, depth + 1);
    }
    this.#addLineBreak(depth, false);
    this.#addToken("mark", "]");
  }

  #object(value: object, depth: number): void {
    let index = 0;
    this.#addToken("mark", "{");
    for (const key in value) {
      if (!Object.hasOwn(value, key)) continue;
      if (this.charactersLeft <= 0) return;
      this.#addLineBreak(depth + 1, index++ > 0);
      this.#addToken("key", quoteString(key, this.charactersLeft));
      this.#addToken("mark", ": ");
      this.write((value as Readonly<Record<string, unknown>>)[key], depth + 1); // only own keys
    }
    if (index > 0) this.#addLineBreak(depth, false);
    this.#addToken("mark", "}");
  }

  #addLineBreak(depth: number, comma: boolean): void {
    this.#addToken("mark", `${comma ? "," : ""}\n${"  ".repeat(depth)}`);
  }

  #addToken(kind: JsonToken["kind"], text: string): void {
    if (this.charactersLeft <= 0) return;
    this.tokens.push({ kind, text });
    this.charactersLeft -= text.length;
  }
}

/** Quotes a string; cuts a long one first. */
function quoteString(text: string, most: number): string {
  return text.length > most ? `${JSON.stringify(firstCharacters(text, most)).slice(0, -1)}…` : JSON.stringify(text);
}
