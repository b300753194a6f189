/** Parses JSON so that its numbers are written back unchanged. */
import { parseExactly } from "./parse-exactly.ts";

/**
 * Parses a JSON text, for a document that is read, changed in one place and written. A number that `JSON.stringify` would write differently, such as
 * `1.0`, `1e22` or an integer of 20 digits, becomes a `JSON.rawJSON` object, and is written unchanged.
 *
 * @throws SyntaxError as `JSON.parse` does
 * @see https://github.com/tc39/proposal-json-parse-with-source
 */
export function parseWithRawNumbers(text: string): unknown {
  return parseExactly(text, (_key, value, context) => {
    const source = context?.source;
    return typeof value === "number" && source !== undefined && String(value) !== source ? rawJSON(source) : value;
  });
}

const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => unknown };
