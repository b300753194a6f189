/** Tool names as providers allow them, and back. */
import { hash } from "node:crypto";
import { DEFAULT_NAMESPACE, splitName } from "../core/call.ts";
import { ToolError } from "../core/error.ts";

/** What every provider takes: Gemini wants a letter or `_` first, OpenAI at most 64 characters. */
const ALLOWED = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/u;
const MARKED = /__[0-9a-f]{16}$/u;
const MAX_BASE_LENGTH = 64 - "__".length - 16;

/**
 * The name a provider is given for a tool: `[A-Za-z_][A-Za-z0-9_-]{0,63}`.
 *
 * `web::search` is `web__search`, and `default::` is left out. A name that this would not lead back from (other characters, more than
 * 64, a second `__`) is made fit and ends with `__` and 16 digits of the SHA-256 of its JSON. A pure function of the name, so that the
 * definitions sent to a provider and the calls it has seen agree, whatever other tools there are.
 */
export function providerName(qualifiedName: string): string {
  const short = shortName(qualifiedName);
  const plain = short.replace("::", "__");
  if (ALLOWED.test(plain) && !MARKED.test(plain) && plain.replace("__", "::") === short) return plain;
  const fit = plain.replaceAll(/[^A-Za-z0-9_-]/gu, "_").replace(/^(?=[^A-Za-z_])/u, "_");
  return `${fit.slice(0, MAX_BASE_LENGTH)}__${hash("sha256", JSON.stringify(short)).slice(0, 16)}`;
}

/** The names of one conversation, and the way back from them. */
export class ProviderNames {
  readonly #decoded = new Map<string, string>();

  /** @throws ToolError `duplicate` when two names come to the same: 64 bits of their hashes are equal */
  encode(name: string): string {
    const encoded = providerName(name);
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
