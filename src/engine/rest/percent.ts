/** Writes text for use in an address. */
import { ToolError } from "../../core/error.ts";

/** Everything but letters, digits and `-._~` becomes percent signs, as in RFC 3986. @throws ToolError `invalid_input` for half a character */
export function percentEncode(text: string): string {
  checkWhole(text);
  return encodeURIComponent(text).replace(/[!'()*]/gu, hexOf);
}

/**
 * The same, but reserved characters stay as they are, and so does what is encoded already. Those that would end the value
 * (`&`, `#`), or are read as something else by what decodes forms (`+`, `[`, `]`), are encoded all the same.
 */
export function encodeReserved(text: string): string {
  checkWhole(text);
  return encodeURI(text)
    .replaceAll(/%25(?=[0-9a-fA-F]{2})/gu, "%")
    .replaceAll(/[&#+[\]]/gu, hexOf);
}

function hexOf(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

function checkWhole(text: string): void {
  if (!text.isWellFormed()) {
    throw new ToolError("invalid_input", "The input holds half a character (a lone surrogate), which cannot be sent in an address.");
  }
}
