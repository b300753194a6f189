/** Converts tool names to the names that providers allow, and back. */
import { hash } from "node:crypto";
import { DEFAULT_NAMESPACE, splitName } from "../core/call.ts";
import { ToolError } from "../core/error.ts";
import { checkString } from "../core/check-argument.ts";

/** The names that every provider accepts: Gemini requires a letter or `_` first, OpenAI at most 64 characters. */
const ALLOWED = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/u;
const HASH_SUFFIX = /__[0-9a-f]{16}$/u;
const MAX_BASE_LENGTH = 64 - "__".length - 16;

/**
 * Returns the name by which a tool is sent to a provider: `[A-Za-z_][A-Za-z0-9_-]{0,63}`.
 *
 * `web::search` becomes `web__search`, and `default::` is left out. A name that could not be decoded again (other characters, more than 64, a second
 * `__`) is rewritten and ends with `__` and 16 hex digits of the SHA-256 of its JSON. The name depends on nothing else, so that definitions and
 * earlier calls of a conversation match, whatever other tools there are.
 *
 * @param fingerprint distinguishes overloads of one name
 */
export function providerName(qualifiedName: string, fingerprint?: string): string {
  checkString(qualifiedName, "providerName()", "the name of a tool");
  if (fingerprint !== undefined) checkString(fingerprint, "providerName(name, fingerprint)", "the fingerprint of a schema");
  const short = shortName(qualifiedName);
  const plain = short.replace("::", "__");
  if (fingerprint === undefined && ALLOWED.test(plain) && !HASH_SUFFIX.test(plain) && plain.replace("__", "::") === short) return plain;
  const fit = plain.replaceAll(/[^A-Za-z0-9_-]/gu, "_").replace(/^(?=[^A-Za-z_])/u, "_");
  const of = fingerprint === undefined ? short : [short, fingerprint];
  return `${fit.slice(0, MAX_BASE_LENGTH)}__${hash("sha256", JSON.stringify(of)).slice(0, 16)}`;
}

/**
 * Returns the tool that a model meant by a name: looked up in the given names, else decoded as far as `providerName` is reversible, else the name
 * unchanged. A prefix `functions.`, which some models add, is removed, and so are control tokens such as `<|channel|>` with the text after them, and
 * white space around the name, which some servers leave in it.
 */
export function toQualifiedName(name: string, given: ReadonlyMap<string, string>): string {
  const bare = given.has(name) ? name : bareName(name);
  const known = given.get(bare);
  if (known !== undefined) return known;
  if (!bare.includes("__")) return bare;
  return ALLOWED.test(bare) && !HASH_SUFFIX.test(bare) ? bare.replace(/^([^]+?)__(?=[^])/u, "$1::") : bare;
}

/** Returns `get` for `functions.get<|channel|>commentary`. */
function bareName(name: string): string {
  const tokenAt = name.indexOf("<|");
  const head = (tokenAt > 0 ? name.slice(0, tokenAt) : name).trim();
  const bare = head.startsWith("functions.") ? head.slice("functions.".length) : head;
  return bare === "" ? name : bare;
}

/** Whether a name ends like those that `providerName` rewrote; only a look-up can tell whether it is one. */
export function hasHashSuffix(name: string): boolean {
  return HASH_SUFFIX.test(name);
}

/** The provider names of one conversation, and the map to decode them. */
export class ProviderNames {
  readonly #decoded = new Map<string, string>();

  /** @throws ToolError `duplicate` if two names get the same provider name, because 64 bits of their hashes are equal */
  encode(name: string, fingerprint?: string): string {
    const encoded = providerName(name, fingerprint);
    const known = this.#decoded.get(encoded);
    if (known !== undefined && shortName(known) !== shortName(name))
      throw new ToolError(
        "duplicate",
        `The tools ${JSON.stringify(known)} and ${JSON.stringify(name)} have the same provider name, ${encoded}.`,
      );
    if (known === undefined) this.#decoded.set(encoded, name);
    return encoded;
  }

  /** The original name by the provider name. */
  get decoded(): ReadonlyMap<string, string> {
    return this.#decoded;
  }
}

/** Removes `default::`, unless the rest would be read as a tool of another namespace. */
function shortName(qualifiedName: string): string {
  const { namespace, name } = splitName(qualifiedName);
  return namespace === DEFAULT_NAMESPACE && splitName(name).namespace === undefined ? name : qualifiedName;
}
