/** References: strings by which a call of a sequence uses the output of an earlier one, such as `$order.items[0].id`. */
import { ToolError } from "../../core/error.ts";
import type { JsonValue } from "../../core/base/json.ts";
import { describeMissingStep, followSteps, matchAt, parseStepAt } from "../../core/base/json-steps.ts";
import { truncateText } from "../../core/base/truncate-text.ts";

export interface ReferenceSyntax {
  /** Whether references end with a dollar sign, as NESTFUL writes them: `$var1.geoId$`. Keys may then hold spaces. @default false */
  readonly closingDollar?: boolean;
}

/** A place in the output of a call. */
export interface Reference {
  /** The reference as written. */
  readonly text: string;
  /** The id of the call, without its dollar sign. */
  readonly id: string;
  /** The path to the place; empty for the whole output. */
  readonly steps: readonly (string | number)[];
}

/** A part of a longer text: a reference, or an escaped dollar sign. */
export interface TextPart {
  readonly start: number;
  readonly end: number;
  readonly reference: Reference | undefined;
}

/** Maximum number of characters of a reference. */
const MAX_LENGTH = 1_024;
const ID = /\$([\p{L}\p{N}_-]{1,128})/uy;
const NAME = /\.([\p{L}\p{N}_-]{1,256})/uy;
const SPACED_NAME = /\.([^.[\]$"]{1,256})/uy;
const AMOUNT = /^\$\d+[.,]\d/;
const DIGITS = /\d+/g;

/** Returns the id without dollar signs: `$1` and `1` are the same id, and with closing dollars `$1$` is as well. */
export function referenceId(id: string, { closingDollar = false }: ReferenceSyntax = {}): string {
  const bare = id.startsWith("$") ? id.slice(1) : id;
  return closingDollar && bare.endsWith("$") ? bare.slice(0, -1) : bare;
}

/**
 * Distinguishes the references of one sequence from other texts.
 *
 * A reference is `$`, the id of a call (letters, digits, `_` and `-`) and steps: `.name`, `[0]`, `["any key"]`. A text of this form that names no
 * call of the sequence is a reference to a missing call if it has steps, or an id that differs from one of the sequence only in its digits, and
 * always with closing dollars; else it is plain text, such as `$HOME`. Amounts such as `$5.00` are plain text too, but `$5.0.name` is a reference. `$$` means one dollar sign at the
 * beginning of a text, and inside it if a reference would follow.
 */
export class ReferenceReader {
  readonly #ids: ReadonlySet<string>;
  /** The ids that contain digits, with each number replaced by 0. */
  readonly #patterns: ReadonlySet<string>;
  readonly #closingDollar: boolean;

  /** @param ids without dollar signs: see `referenceId` */
  constructor(ids: Iterable<string>, { closingDollar = false }: ReferenceSyntax = {}) {
    this.#ids = new Set(ids);
    this.#patterns = new Set([...this.#ids].filter((id) => /\d/.test(id)).map(maskDigits));
    this.#closingDollar = closingDollar;
  }

  /** Returns the reference if the whole text is one. */
  readWholeText(text: string): Reference | undefined {
    if (text.charCodeAt(0) !== DOLLAR || text.length > MAX_LENGTH) return undefined;
    const reference = this.#scan(text, 0);
    return reference?.text.length === text.length && this.#isReference(reference) ? reference : undefined;
  }

  /** Returns the references to calls of the sequence in a text, and its escaped dollar signs, in order. For texts that are not one as a whole. */
  findParts(text: string): readonly TextPart[] {
    const parts: TextPart[] = [];
    for (let at = text.indexOf("$"); at >= 0;) {
      const escapes = text.charCodeAt(at + 1) === DOLLAR;
      const reference = this.#scan(text, escapes ? at + 1 : at);
      const isKnown = reference !== undefined && this.#ids.has(reference.id);
      let end = at + 1;
      if (isKnown) end = at + reference.text.length + (escapes ? 1 : 0);
      if (escapes && (isKnown || at === 0)) parts.push({ start: at, end: at + 1, reference: undefined });
      else if (isKnown) parts.push({ start: at, end, reference });
      at = text.indexOf("$", escapes && !isKnown ? at + 2 : end);
    }
    return parts;
  }

  /** Returns the longest reference that begins here, whether it names a call or not. */
  #scan(text: string, start: number): Reference | undefined {
    const id = matchAt(ID, text, start)?.[1];
    if (id === undefined) return undefined;
    let end = start + 1 + id.length;
    const mayBeAmount = AMOUNT.test(text.slice(start, end + 2));
    const steps: (string | number)[] = [];
    const name = this.#closingDollar ? SPACED_NAME : NAME;
    for (
      let next = parseStepAt(text, end, name);
      next !== undefined && next.end - start < MAX_LENGTH;
      next = parseStepAt(text, end, name)
    ) {
      steps.push(next.step);
      ({ end } = next);
    }
    if (mayBeAmount && steps.slice(1).every(isNumberName)) return undefined;
    if (this.#closingDollar && text.charCodeAt(end++) !== DOLLAR) return undefined;
    return { text: text.slice(start, end), id, steps };
  }

  #isReference({ id, steps }: Reference): boolean {
    return this.#closingDollar || steps.length > 0 || this.#ids.has(id) || this.#patterns.has(maskDigits(id));
  }
}

const DOLLAR = 0x24;

function isNumberName(step: string | number): boolean {
  return typeof step === "string" && /^\d+$/.test(step);
}

function maskDigits(id: string): string {
  return id.replace(DIGITS, "0");
}

/**
 * Returns the value at a place, by own properties only. A name of digits counts as an index in an array.
 *
 * @throws ToolError `invalid_input` that says how far the path led, and what is there
 */
export function valueAt(output: JsonValue, { text, steps }: Reference): JsonValue {
  const followed = followSteps(output, steps);
  if ("value" in followed) return followed.value;
  throw new ToolError(
    "invalid_input",
    `The reference ${quoteReference(text)} cannot be resolved: ${describeMissingStep(followed.missing, followed.in)}.`,
    {
      hint: "Refer to a value that the earlier call returned.",
    },
  );
}

/** Returns the reference in quotes, for messages. */
export function quoteReference(text: string): string {
  return JSON.stringify(truncateText(text, 200));
}
