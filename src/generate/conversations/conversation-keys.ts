/** Detects duplicate conversations, with 8 bytes for each one written. */
import { hash } from "node:crypto";

/** A line of a file, in any format. */
export interface WrittenConversation {
  readonly system?: unknown;
  readonly messages?: unknown;
  readonly conversations?: unknown;
}

const FIRST_CAPACITY = 1_024;

/**
 * The keys of written conversations. The probability that two different ones have the same key is 1 in 10^19, so a false duplicate is unlikely even
 * among a million; it would only be generated again.
 */
export class ConversationKeys {
  /** A hash table with two 32-bit words per slot; a slot whose words are both 0 is free. */
  #slots = new Uint32Array(2 * FIRST_CAPACITY);
  #count = 0;

  /** Adds the key of a conversation. @returns false if it was there already */
  add(conversation: WrittenConversation): boolean {
    const [high, low] = hashConversation(conversation);
    if (!insertKey(this.#slots, high, low)) return false;
    if (++this.#count * 4 > this.#slots.length) this.#grow(); // half of the slots are used
    return true;
  }

  #grow(): void {
    const before = this.#slots;
    this.#slots = new Uint32Array(2 * before.length);
    for (let at = 0; at < before.length; at += 2) {
      const [high = 0, low = 0] = [before[at], before[at + 1]];
      if (high !== 0 || low !== 0) insertKey(this.#slots, high, low);
    }
  }
}

/** Inserts a key. @returns false if it is there already */
function insertKey(slots: Uint32Array, high: number, low: number): boolean {
  for (let at = (2 * low) % slots.length; ; at = (at + 2) % slots.length) {
    if (slots[at] === high && slots[at + 1] === low) return false;
    if (slots[at] === 0 && slots[at + 1] === 0) {
      slots[at] = high;
      slots[at + 1] = low;
      return true;
    }
  }
}

/** Returns the key of a conversation. Ids of calls count from 1 in every conversation, so they do not make conversations differ. */
function hashConversation({ system, messages, conversations }: WrittenConversation): readonly [high: number, low: number] {
  const digest = hash("sha256", JSON.stringify([system, messages ?? conversations]), "buffer");
  return [digest.readUInt32LE(0), digest.readUInt32LE(4) || 1];
}
