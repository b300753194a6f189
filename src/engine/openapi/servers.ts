import { isJsonArray, isJsonObject, type JsonObject } from "../../core/base/json.ts";
import { own } from "../../core/base/own.ts";
import { ownText, ownTexts, type Found, type OpenApiDocument } from "./document.ts";
import { ROOT, below, quote, type Place } from "./warnings.ts";

const MAX_URL_LENGTH = 2_000;
const HTTP = /^https?:\/\//iu;

/**
 * The addresses that a document declares, without a trailing slash.
 *
 * The first of several servers is used, with the defaults of its variables. A relative address is resolved against the document's, if that is an
 * http(s) address. Undefined if the document declares none, or one that cannot be called.
 */
export class Servers {
  /** The address for operations that declare none. */
  readonly ofDocument: string | undefined;
  readonly #document: OpenApiDocument;
  /** The address of the document itself. */
  readonly #home: string | undefined;

  constructor(document: OpenApiDocument, origin: string) {
    this.#document = document;
    this.#home = HTTP.test(origin) ? origin : undefined;
    const root: Found = { value: document.root, place: ROOT };
    this.ofDocument = document.version === "2.0" ? this.#ofSwagger(root) : this.#first(root, "/");
  }

  /** The address of the operation, else of its path, else of the document. */
  of(operation: Found, item: Found): string | undefined {
    if (this.#document.version === "2.0") return Object.hasOwn(operation.value, "schemes") ? this.#ofSwagger(operation) : this.ofDocument;
    for (const level of [operation, item]) if (isJsonArray(own(level.value, "servers"))) return this.#first(level);
    return this.ofDocument;
  }

  #first(level: Found, fallback?: string): string | undefined {
    const servers = own(level.value, "servers");
    const first = isJsonArray(servers) ? servers[0] : undefined;
    const place = below(level.place, "servers", "0");
    if (!isJsonObject(first)) return fallback === undefined ? this.ofDocument : this.#usable(fallback, place);
    const url = ownText(first, "url");
    return url === undefined ? undefined : this.#usable(filled(first, url), place);
  }

  #ofSwagger(level: Found): string | undefined {
    const { root } = this.#document;
    const home = this.#home === undefined ? null : URL.parse(this.#home);
    const schemes = ownTexts(level.value, "schemes") ?? ownTexts(root, "schemes") ?? [];
    const scheme = ["https", "http"].find((each) => schemes.includes(each)) ?? home?.protocol.replace(":", "") ?? "https";
    const host = ownText(root, "host") ?? home?.host;
    if (host === undefined || host === "") return undefined;
    const basePath = ownText(root, "basePath") ?? "";
    return this.#usable(`${scheme}://${host}${basePath.startsWith("/") ? "" : "/"}${basePath}`, below(ROOT, "host"));
  }

  #usable(address: string, place: Place): string | undefined {
    const url = address.length > MAX_URL_LENGTH ? null : URL.parse(address, this.#home);
    // a relative address without one of the document is not an error
    if (url === null && this.#home === undefined && !/^[a-z][a-z0-9+.-]*:/iu.test(address)) return undefined;
    const isWhole = url !== null && HTTP.test(url.href) && !/[{}]|%7[bd]/iu.test(url.href);
    if (isWhole && url.username === "" && url.password === "") return url.origin + url.pathname.replace(/(?<!\/)\/+$/u, "");
    const shown = url === null || url.username + url.password === "" ? quote(address) : "an address with a user name";
    this.#document.warnings.add(
      place,
      `${shown} cannot be called: it must be a whole http(s) address without a user name. Set a base URL.`,
    );
    return undefined;
  }
}

function filled(server: JsonObject, url: string): string {
  const variables = own(server, "variables");
  if (!isJsonObject(variables)) return url;
  return url.slice(0, MAX_URL_LENGTH).replaceAll(/\{([^{}]*)\}/gu, (whole, name: string) => {
    const variable = own(variables, name);
    if (!isJsonObject(variable)) return whole;
    const fallback = own(variable, "default") ?? ownTexts(variable, "enum")?.[0];
    return typeof fallback === "string" || typeof fallback === "number" ? String(fallback) : whole;
  });
}
