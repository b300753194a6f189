import { isJsonArray, isJsonObject, type JsonObject } from "../../core/base/json.ts";
import { getOwn } from "../../core/base/get-own.ts";
import { ownString, ownStrings, type LocatedObject, type OpenApiDocument } from "./document.ts";
import { ROOT, childPlace, quote, type Place } from "./warnings.ts";

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
  readonly documentServer: string | undefined;
  readonly #document: OpenApiDocument;
  /** The address of the document itself. */
  readonly #documentAddress: string | undefined;

  constructor(document: OpenApiDocument, origin: string) {
    this.#document = document;
    this.#documentAddress = HTTP.test(origin) ? origin : undefined;
    const root: LocatedObject = { value: document.root, place: ROOT };
    this.documentServer = document.version === "2.0" ? this.#swaggerServer(root) : this.#firstServer(root, "/");
  }

  /** The address of the operation, else of its path, else of the document. */
  serverOf(operation: LocatedObject, item: LocatedObject): string | undefined {
    if (this.#document.version === "2.0")
      return Object.hasOwn(operation.value, "schemes") ? this.#swaggerServer(operation) : this.documentServer;
    for (const level of [operation, item]) if (isJsonArray(getOwn(level.value, "servers"))) return this.#firstServer(level);
    return this.documentServer;
  }

  #firstServer(level: LocatedObject, fallback?: string): string | undefined {
    const servers = getOwn(level.value, "servers");
    const first = isJsonArray(servers) ? servers[0] : undefined;
    const place = childPlace(level.place, "servers", "0");
    if (!isJsonObject(first)) return fallback === undefined ? this.documentServer : this.#usableAddress(fallback, place);
    const url = ownString(first, "url");
    return url === undefined ? undefined : this.#usableAddress(fillVariables(first, url), place);
  }

  #swaggerServer(level: LocatedObject): string | undefined {
    const { root } = this.#document;
    const home = this.#documentAddress === undefined ? null : URL.parse(this.#documentAddress);
    const schemes = ownStrings(level.value, "schemes") ?? ownStrings(root, "schemes") ?? [];
    const scheme = ["https", "http"].find((each) => schemes.includes(each)) ?? home?.protocol.replace(":", "") ?? "https";
    const host = ownString(root, "host") ?? home?.host;
    if (host === undefined || host === "") return undefined;
    const basePath = ownString(root, "basePath") ?? "";
    return this.#usableAddress(`${scheme}://${host}${basePath.startsWith("/") ? "" : "/"}${basePath}`, childPlace(ROOT, "host"));
  }

  #usableAddress(address: string, place: Place): string | undefined {
    const url = address.length > MAX_URL_LENGTH ? null : URL.parse(address, this.#documentAddress);
    // a relative address without one of the document is not an error
    if (url === null && this.#documentAddress === undefined && !/^[a-z][a-z0-9+.-]*:/iu.test(address)) return undefined;
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

function fillVariables(server: JsonObject, url: string): string {
  const variables = getOwn(server, "variables");
  if (!isJsonObject(variables)) return url;
  return url.slice(0, MAX_URL_LENGTH).replaceAll(/\{([^{}]*)\}/gu, (whole, name: string) => {
    const variable = getOwn(variables, name);
    if (!isJsonObject(variable)) return whole;
    const fallback = getOwn(variable, "default") ?? ownStrings(variable, "enum")?.[0];
    return typeof fallback === "string" || typeof fallback === "number" ? String(fallback) : whole;
  });
}
