/** OpenRouter's reasoning blocks, which are streamed in pieces and sent back whole. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { addTo } from "../../core/base/add-to.ts";

const TEXT_FIELDS = ["text", "summary", "data"] as const;

interface Block {
  fields: JsonObject;
  readonly pieces: Map<string, string[]>;
}

/** Merges consecutive pieces with the same type and index into one block. */
export class ReasoningDetails {
  readonly #blocks: Block[] = [];

  add(piece: JsonValue): void {
    if (!isJsonObject(piece)) return;
    const last = this.#blocks.at(-1);
    const isSame = last !== undefined && piece["index"] !== undefined && last.fields["index"] === piece["index"];
    const block = isSame && last.fields["type"] === piece["type"] ? last : this.#startBlock();
    const given = Object.entries(piece).filter(([, value]) => value !== null);
    block.fields = { ...block.fields, ...Object.fromEntries(given) };
    for (const key of TEXT_FIELDS) {
      const text = piece[key];
      if (typeof text !== "string") continue;
      addTo(block.pieces, key, text);
    }
  }

  get blocks(): readonly JsonObject[] {
    return this.#blocks.map(({ fields, pieces }) => {
      const whole = [...pieces].map(([key, texts]) => [key, texts.join("")] as const);
      return { ...fields, ...Object.fromEntries(whole) };
    });
  }

  #startBlock(): Block {
    const block: Block = { fields: {}, pieces: new Map() };
    this.#blocks.push(block);
    return block;
  }
}
