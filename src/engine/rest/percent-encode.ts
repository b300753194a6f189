import { ToolError } from "../../core/error.ts";

/** Percent-encodes everything except letters, digits and `-._~`, as in RFC 3986. @throws ToolError `invalid_input` for a lone surrogate */
export function percentEncode(text: string): string {
  checkWellFormed(text);
  return encodeURIComponent(text).replace(/[!'()*]/gu, hexOf);
}

/**
 * Percent-encodes text, except reserved characters and existing escapes. Characters that would end the value (`&`, `#`), or that form decoders read
 * differently (`+`, `[`, `]`), are encoded as well.
 */
export function encodeReserved(text: string): string {
  checkWellFormed(text);
  return encodeURI(text)
    .replaceAll(/%25(?=[0-9a-fA-F]{2})/gu, "%")
    .replaceAll(/[&#+[\]]/gu, hexOf);
}

function hexOf(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

function checkWellFormed(text: string): void {
  if (!text.isWellFormed()) {
    throw new ToolError("invalid_input", "The input holds half a character (a lone surrogate), which cannot be sent in an address.");
  }
}
