import { getOrAdd } from "../../../core/base/get-or-add.ts";
import { ToolError } from "../../../core/error.ts";
import type { Random } from "../../../core/ports.ts";
import { FIRST_NAMES, LAST_NAMES } from "../../../schema/example/words.ts";

/** The kinds of values that can be replaced in a recorded conversation. */
export const REDACTED_KINDS = ["secrets", "emails", "phones", "names", "ids"] as const;
/** One of `REDACTED_KINDS`. */
export type RedactedKind = (typeof REDACTED_KINDS)[number];
/** The kinds of values that are replaced in recorded conversations; `none` leaves all values unchanged. */
export type Redaction = "none" | readonly RedactedKind[];

/** @throws ToolError `invalid_argument` for an invalid value */
export function checkRedaction(redact: unknown, owner: string): void {
  if (redact === undefined || redact === "none") return;
  const unknownKind = Array.isArray(redact) ? redact.find((kind) => !REDACTED_KINDS.includes(kind)) : redact;
  if (Array.isArray(redact) && redact.length > 0 && unknownKind === undefined) return;
  throw new ToolError("invalid_argument", `redact of ${owner} is ${JSON.stringify(unknownKind ?? redact)}.`, {
    hint: `It takes "none", or an array of ${REDACTED_KINDS.join(", ")}.`,
  });
}

const MAX_DRAWS = 40;
/** The letters at the beginning of an id, such as `ord_`, tell its type and are kept. */
const ID_PREFIX = /^[A-Za-z]{1,12}[-_:.](?=.*\d)/u;
const UUID = /^[\da-f]{8}-[\da-f]{4}-[1-8][\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/iu;

/**
 * Draws replacements for values. The n-th value of a conversation gets the n-th draw, whatever the value is, so that a replacement reveals nothing of
 * it and cannot be used to test guesses.
 */
export class ReplacementDraws {
  /** The replacements by kind and value. */
  readonly #drawn = new Map<string, string>();
  readonly #taken = new Set<string>();
  readonly #random: Random;
  #secrets = 0;

  /** @param reserved the values of the conversation, which no replacement may equal */
  constructor(random: Random, reserved: Iterable<string>) {
    this.#random = random;
    for (const value of reserved) this.#taken.add(value);
  }

  replaceSecret(value: string): string {
    return this.#getOrDraw(`secret ${value}`, () => this.#drawUnused(() => `[secret ${++this.#secrets}]`));
  }

  replaceEmail(value: string): string {
    const isEncoded = /%40/iu.test(value);
    const drawn = this.#getOrDraw(`email ${value.toLowerCase().replace("%40", "@")}`, () =>
      this.#drawUnused((round) =>
        `${this.#pick(FIRST_NAMES)}.${this.#pick(LAST_NAMES)}${round === 0 ? "" : round}@example.com`.toLowerCase(),
      ),
    );
    return isEncoded ? drawn.replace("@", "%40") : drawn;
  }

  replacePhone(value: string): string {
    return this.#getOrDraw(`phone ${value.replaceAll(/\D/gu, "")}`, () =>
      this.#drawUnused((round) => `+1-555-01${this.#digits(2 + Math.ceil(round / 10))}`),
    );
  }

  /** Replaces a name. Each part of a name has its own replacement, so that a person has the same first name with and without the last name. */
  replaceName(value: string): string {
    const words = value.split(" ");
    return words
      .map((word, at) => (/^\p{Lu}/u.test(word) ? this.#replaceNamePart(word, at > 0 && at === words.length - 1) : word))
      .join(" ");
  }

  replaceId(value: string): string {
    return this.#getOrDraw(`id ${value}`, () => this.#drawUnused(() => this.#drawSimilarId(value)));
  }

  #replaceNamePart(part: string, isLast: boolean): string {
    const pool = isLast ? LAST_NAMES : FIRST_NAMES;
    return this.#getOrDraw(`name ${part}`, () =>
      this.#drawUnused((round) => `${this.#pick(pool)}${round < pool.length ? "" : `-${this.#pick(pool)}`}`),
    );
  }

  #getOrDraw(key: string, draw: () => string): string {
    return getOrAdd(this.#drawn, key, draw);
  }

  #drawUnused(draw: (round: number) => string): string {
    for (let round = 0; ; round++) {
      const drawn = draw(round);
      if (this.#taken.has(drawn) && round < MAX_DRAWS) continue;
      this.#taken.add(drawn);
      return drawn;
    }
  }

  /** Returns a similar id: digits replace digits, letters replace letters, and a UUID stays a UUID. */
  #drawSimilarId(value: string): string {
    if (UUID.test(value)) return value.replaceAll(/[\da-f]/giu, (digit, at: number) => (at === 14 || at === 19 ? digit : this.#hex(digit)));
    const prefix = ID_PREFIX.exec(value)?.[0] ?? "";
    const rest = value.slice(prefix.length);
    const isHex = /^(?=.*\d)[\da-f-]{6,}$/iu.test(rest);
    const drawn = rest.replaceAll(/[A-Za-z\d]/gu, (sign, at: number) => {
      if (isHex && rest.search(/[a-f]/iu) >= 0) return this.#hex(sign);
      if (/\d/u.test(sign)) return String(at === 0 ? this.#drawBelow(9) + 1 : this.#drawBelow(10));
      const letter = String.fromCodePoint(97 + this.#drawBelow(26));
      return sign === sign.toUpperCase() ? letter.toUpperCase() : letter;
    });
    return prefix + drawn;
  }

  #hex(sign: string): string {
    const digit = this.#drawBelow(16).toString(16);
    return sign === sign.toLowerCase() ? digit : digit.toUpperCase();
  }

  #digits(count: number): string {
    return Array.from({ length: count }, () => this.#drawBelow(10)).join("");
  }

  #pick(items: readonly string[]): string {
    return items[this.#drawBelow(items.length)] ?? "";
  }

  #drawBelow(count: number): number {
    return Math.floor(this.#random.next() * count);
  }
}
