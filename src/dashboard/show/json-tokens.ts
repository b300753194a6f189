/** JSON as indented text in coloured tokens, up to a number of characters: a large value costs no more than the part that is shown. */
import { firstCharacters } from "./inert-text.ts";

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
  return { tokens: writer.tokens, isCut: writer.left <= 0 };
}

class TokenWriter {
  readonly tokens: JsonToken[] = [];
  left: number;

  constructor(budget: number) {
    this.left = budget;
  }

  write(value: unknown, depth: number): void {
    if (this.left <= 0) return;
    if (typeof value === "string") this.#put("string", quoted(value, this.left));
    else if (typeof value === "number") this.#put("number", String(value));
    else if (typeof value !== "object" || value === null) this.#put("word", String(value));
    else if (depth >= MAX_DEPTH) this.#put("mark", Array.isArray(value) ? "[…]" : "{…}");
    else if (Array.isArray(value)) this.#array(value, depth);
    else this.#object(value, depth);
  }

  #array(items: readonly unknown[], depth: number): void {
    if (items.length === 0) return this.#put("mark", "[]");
    this.#put("mark", "[");
    for (const [index, item] of items.entries()) {
      if (this.left <= 0) return;
      this.#line(depth + 1, index > 0);
      this.write(item, depth + 1);
    }
    this.#line(depth, false);
    this.#put("mark", "]");
  }

  #object(value: object, depth: number): void {
    let index = 0;
    this.#put("mark", "{");
    for (const key in value) {
      if (!Object.hasOwn(value, key)) continue;
      if (this.left <= 0) return;
      this.#line(depth + 1, index++ > 0);
      this.#put("key", quoted(key, this.left));
      this.#put("mark", ": ");
      this.write((value as Readonly<Record<string, unknown>>)[key], depth + 1); // only own keys
    }
    if (index > 0) this.#line(depth, false);
    this.#put("mark", "}");
  }

  #line(depth: number, comma: boolean): void {
    this.#put("mark", `${comma ? "," : ""}\n${"  ".repeat(depth)}`);
  }

  #put(kind: JsonToken["kind"], text: string): void {
    if (this.left <= 0) return;
    this.tokens.push({ kind, text });
    this.left -= text.length;
  }
}

/** Quotes a string; cuts a long one first. */
function quoted(text: string, most: number): string {
  return text.length > most ? `${JSON.stringify(firstCharacters(text, most)).slice(0, -1)}…` : JSON.stringify(text);
}
