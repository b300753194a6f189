/** The metadata of an answer for the program: status, address, selected headers, and the next page. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { HttpResponse } from "../../net/http-request.ts";
import type { Secrets } from "./secrets.ts";

export interface MetadataContext {
  readonly secrets: Secrets;
  /** The origin of the API: addresses elsewhere are shown without their query. */
  readonly origin: string;
  /** Query parameters that hold credentials. */
  readonly secretQuery: readonly string[];
  readonly output: JsonValue | undefined;
}

const SHOWN_HEADERS =
  /^(?:content-type|content-length|content-language|etag|last-modified|location|date|retry-after|deprecation|sunset|warning|link|(?:x-)?request-id|(?:x-)?correlation-id|(?:x-)?rate-?limit.*|x-total-count|x-(?:total|page|per-page|next-page|prev-page|total-pages))$/u;
const MAX_HEADER_LENGTH = 1_000;
const MAX_HEADERS = 40;

export function answerMetadata(response: HttpResponse, context: MetadataContext): JsonObject {
  const pagination = findNextPage(response, context);
  return {
    status: response.status,
    url: redactAddress(response.url, context),
    headers: selectHeaders(response, context),
    ...(pagination === undefined ? {} : { pagination }),
  };
}

/** The address without secrets. One of another origin may be signed, and is shown without its query. */
function redactAddress(address: URL, { secrets, origin, secretQuery }: MetadataContext): string {
  const url = new URL(address);
  url.username = "";
  url.password = "";
  url.hash = "";
  if (url.origin !== origin) url.search = "";
  for (const name of secretQuery) if (url.searchParams.has(name)) url.searchParams.delete(name);
  return secrets.redact(url.href);
}

function selectHeaders({ headers, url }: HttpResponse, context: MetadataContext): JsonObject {
  const shown: (readonly [string, string])[] = [];
  for (const [name, values] of headers) {
    if (!SHOWN_HEADERS.test(name) || name === "link" || shown.length === MAX_HEADERS) continue;
    const value = values.join(", ").slice(0, MAX_HEADER_LENGTH);
    const isAddress = name === "location" && URL.canParse(value, url.href);
    shown.push([name, isAddress ? redactAddress(new URL(value, url), context) : context.secrets.redact(value)]);
  }
  return Object.fromEntries(shown);
}

/** Fields that may hold a cursor or an address. The most ambiguous names, such as `next`, come last. */
const CURSOR_FIELDS: readonly string[] = (
  "next_cursor nextCursor next_page_token nextPageToken nextToken next_token continuation_token continuationToken " +
  "@odata.nextLink nextLink next_link next_url next_page_url next_page nextPage end_cursor endCursor next after cursor"
).split(" ");
/** Objects in which services put these fields. */
const CURSOR_CONTAINERS: readonly string[] =
  "response_metadata pagination paging page_info pageInfo meta metadata cursors links _links".split(" ");

/** `{next, from}`: an address or a cursor, and the header or field that it was found in. The Link header is preferred. */
function findNextPage({ headers, url }: HttpResponse, context: MetadataContext): JsonObject | undefined {
  const link = parseNextLink(headers.get("link")?.join(", ") ?? "");
  if (link !== undefined && URL.canParse(link, url.href)) return { next: redactAddress(new URL(link, url), context), from: "Link" };
  const found = findCursor(context.output, "") ?? findNestedCursor(context.output);
  return found === undefined
    ? undefined
    : { ...found, next: typeof found.next === "string" ? redactCursor(found.next, context) : found.next };
}

/** A cursor without secrets; one that is an address is handled as one. */
function redactCursor(text: string, context: MetadataContext): string {
  return /^https?:\/\//iu.test(text) && URL.canParse(text) ? redactAddress(new URL(text), context) : context.secrets.redact(text);
}

interface Cursor {
  readonly next: string | number;
  readonly from: string;
}

function findNestedCursor(output: JsonValue | undefined): Cursor | undefined {
  for (const holder of CURSOR_CONTAINERS) {
    const inner = ownField(output, holder);
    const found = findCursor(inner, `${holder}.`) ?? findCursor(ownField(inner, "cursors"), `${holder}.cursors.`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function findCursor(value: JsonValue | undefined, prefix: string): Cursor | undefined {
  for (const name of CURSOR_FIELDS) {
    const found = ownField(value, name);
    const next = isJsonObject(found) ? ownField(found, "href") : found;
    if ((typeof next === "string" && next !== "" && next.length <= 4_096) || typeof next === "number")
      return { next, from: `${prefix}${name}` };
  }
  return undefined;
}

function ownField(value: JsonValue | undefined, key: string): JsonValue | undefined {
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** The address with `rel="next"` of a Link header. @see https://www.rfc-editor.org/rfc/rfc8288 */
function parseNextLink(header: string): string | undefined {
  for (const [, address, parameters = ""] of header.slice(0, 16_384).matchAll(/<([^<>]{1,4096})>([^<]{0,1024})/gu)) {
    const rel = /;\s{0,9}rel\s{0,9}=\s{0,9}(?:"([^"]*)"|([^\s;,"]+))/iu.exec(parameters);
    const relations = (rel?.[1] ?? rel?.[2] ?? "").toLowerCase().split(/\s+/u);
    if (relations.includes("next")) return address;
  }
  return undefined;
}
