/** Messages of two sides that take turns, the user first, as Anthropic and Bedrock want them. */
import type { JsonObject } from "../core/base/json.ts";

type Side = "user" | "assistant";

/** Messages of one side that follow each other become one; those without blocks are left out. */
export class AlternatingTurns {
  readonly written: { readonly role: Side; readonly content: JsonObject[] }[] = [];
  readonly #opening: JsonObject;

  /** @param opening what the user says where the conversation begins with the assistant */
  constructor(opening: JsonObject) {
    this.#opening = opening;
  }

  add(role: Side, blocks: readonly JsonObject[]): void {
    if (blocks.length === 0) return;
    const last = this.written.at(-1);
    if (last?.role === role) {
      last.content.push(...blocks);
      return;
    }
    if (last === undefined && role === "assistant") this.add("user", [this.#opening]);
    this.written.push({ role, content: [...blocks] });
  }
}

export const OPENING_TEXT = "(The conversation begins with the assistant.)";
