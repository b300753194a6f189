/** URI references and JSON pointers inside one schema document. Nothing is read from files or the network. */
import { unescapePointerStep } from "../../core/base/json-pointer.ts";

/** The base of relative references in a document without `$id`. */
export const DEFAULT_URI = "schema:///";

export interface UriParts {
  /** Empty for a reference to the same resource. */
  readonly base: string;
  /** Decoded, without `#`; empty when absent. */
  readonly fragment: string;
}

/** Splits a URI reference; an invalidly encoded fragment stays as it is. */
export function splitUri(uri: string): UriParts {
  const at = uri.indexOf("#");
  if (at < 0) return { base: uri, fragment: "" };
  return { base: uri.slice(0, at), fragment: decodePercent(uri.slice(at + 1)) };
}

/** Decodes percent-encoding; returns the text unchanged if the encoding is invalid. */
export function decodePercent(text: string): string {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Resolves a reference without a fragment (RFC 3986); undefined if it is invalid. */
export function absoluteUri(reference: string, base: string): string | undefined {
  return URL.parse(reference, base)?.href;
}

/** Resolves a JSON pointer by own properties and items, and calls `pass` with each object on the way; undefined if there is no such value. */
export function walkPointer(start: object, pointer: string, pass: (object: { readonly [key: string]: unknown }) => void): unknown {
  let at: unknown = start;
  for (const step of pointer.slice(1).split("/")) {
    const key = unescapePointerStep(step);
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
    at = Reflect.get(at, key);
    // known to be an object by the checks before
    if (typeof at === "object" && at !== null && !Array.isArray(at)) pass(at as { readonly [key: string]: unknown });
  }
  return at;
}
