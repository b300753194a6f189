/** URI references and JSON pointers inside one schema document. Nothing here opens a file or a socket. */
import { unescapeStep } from "../../core/base/json-pointer.ts";

/** The base of relative references while a document has no `$id`. */
export const DEFAULT_URI = "schema:///";

export interface UriParts {
  /** Empty for a reference to the same resource. */
  readonly base: string;
  /** Decoded, without `#`; empty when absent. */
  readonly fragment: string;
}

/** Splits a URI reference; a fragment that is badly encoded is left as it is. */
export function splitUri(uri: string): UriParts {
  const at = uri.indexOf("#");
  if (at < 0) return { base: uri, fragment: "" };
  return { base: uri.slice(0, at), fragment: decode(uri.slice(at + 1)) };
}

/** Text with its percent encoding undone, or as it is where that is broken. */
export function decode(text: string): string {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Resolves a reference without a fragment (RFC 3986); undefined when it cannot be read. */
export function absoluteUri(reference: string, base: string): string | undefined {
  return URL.parse(reference, base)?.href;
}

/** Follows a JSON pointer through own properties and items; undefined when it leads to nothing. */
export function walkPointer(start: object, pointer: string, pass: (object: { readonly [key: string]: unknown }) => void): unknown {
  let at: unknown = start;
  for (const step of pointer.slice(1).split("/")) {
    const key = unescapeStep(step);
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
    at = Reflect.get(at, key);
    if (typeof at === "object" && at !== null && !Array.isArray(at)) pass(at as { readonly [key: string]: unknown }); // an object, by the tests before
  }
  return at;
}
