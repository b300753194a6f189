/** Tool names as providers allow them, and back. */
import { hash } from "node:crypto";
import { DEFAULT_NAMESPACE, splitName } from "../core/call.ts";
import { ToolError } from "../core/error.ts";
import { checkText } from "../core/check-argument.ts";

/** The names that every provider takes: Gemini wants a letter or `_` first, OpenAI at most 64 characters. */
const ALLOWED = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/u;
const MARKED = /__[0-9a-f]{16}$/u;
const MAX_BASE_LENGTH = 64 - "__".length - 16;

/**
 * The name a provider is given for a tool: `[A-Za-z_][A-Za-z0-9_-]{0,63}`.
 *
 * `web::search` is `web__search`, and `default::` is left out. A name that this would not lead back from (other characters, more than
 * 64, a second `__`) is made fit and ends with `__` and 16 digits of the SHA-256 of its JSON. A pure function of the name, so that the
 * definitions sent to a provider and the calls it has seen agree, whatever other tools there are.
 *
 * @param fingerprint tells overloads of one name apart
 */
export function providerName(qualifiedName: string, fingerprint?: string): string {
  checkText(qualifiedName, "providerName()", "the name of a tool");
  if (fingerprint !== undefined) checkText(fingerprint, "providerName(name, fingerprint)", "the fingerprint of a schema");
  const short = shortName(qualifiedName);
  const plain = short.replace("::", "__");
  if (fingerprint === undefined && ALLOWED.test(plain) && !MARKED.test(plain) && plain.replace("__", "::") === short) return plain;
  const fit = plain.replaceAll(/[^A-Za-z0-9_-]/gu, "_").replace(/^(?=[^A-Za-z_])/u, "_");
  const of = fingerprint === undefined ? short : [short, fingerprint];
  return `${fit.slice(0, MAX_BASE_LENGTH)}__${hash("sha256", JSON.stringify(of)).slice(0, 16)}`;
}

/**
 * The tool that a model meant by a name: by the names it was given, else by what `providerName` leaves readable, else the name as it is.
 * `functions.`, which some models put before it, is taken off.
 */
export function qualifiedNameOf(name: string, given: ReadonlyMap<string, string>): string {
  const bare = name.startsWith("functions.") && !given.has(name) ? name.slice("functions.".length) : name;
  const known = given.get(bare);
  if (known !== undefined) return known;
  if (!bare.includes("__")) return bare;
  return ALLOWED.test(bare) && !MARKED.test(bare) ? bare.replace(/^([^]+?)__(?=[^])/u, "$1::") : bare;
}

/** True for a name that ends like those that were made fit: only its tool can say whether it is one. */
export function isMarked(name: string): boolean {
  return MARKED.test(name);
}

/** The names of one conversation, and the way back from them. */
export class ProviderNames {
  readonly #decoded = new Map<string, string>();

  /** @throws ToolError `duplicate` when two names are encoded alike: 64 bits of their hashes are equal */
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

  /** By the provider's name, the name as it was given. */
  get decoded(): ReadonlyMap<string, string> {
    return this.#decoded;
  }
}

/** Without `default::`, except where the rest would be taken for the tool of another namespace. */
function shortName(qualifiedName: string): string {
  const { namespace, name } = splitName(qualifiedName);
  return namespace === DEFAULT_NAMESPACE && splitName(name).namespace === undefined ? name : qualifiedName;
}
