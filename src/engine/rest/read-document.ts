/** Reads an OpenAPI document from a file, an address or memory. References to other documents are not followed. */
import { ToolError, pickHints } from "../../core/error.ts";
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import { parseJsonText } from "../../documents/parse-json-file.ts";
import { readTextFile } from "../../documents/read-text-file.ts";
import type { HttpClient } from "../../net/http-request.ts";
import { decodeText, excerpt } from "./answer-text.ts";
import { parseMediaType } from "./media-type.ts";

/** Maximum size of a document; the largest of 2,639 public ones has 33 MB. */
export const MAX_DOCUMENT_BYTES = 64 * 1024 * 1024;
/** Limits of JSON documents. 64-bit bounds, which are common in documents, are rounded, as they remain bounds. */
const JSON_LIMITS = { maxDepth: 256, maxNodes: 10_000_000, maxChars: MAX_DOCUMENT_BYTES, longIntegers: "round" } as const;
/** About 16 MB of YAML. Each token takes some 300 bytes of memory, so a hostile document could exhaust it. */
const MAX_YAML_TOKENS = 4_000_000;
const YAML_LIMITS = {
  maxTokens: MAX_YAML_TOKENS,
  maxDepth: 256,
  maxAliases: 10_000,
  maxNodes: 5_000_000,
  positionDepth: 4,
  plainKeys: true,
  roundsIntegers: true,
};

export interface ReadOptions {
  /** The name of a document in memory. */
  readonly name: string;
  /** Used only for an address. */
  readonly client: HttpClient;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

export interface ReadDocument {
  readonly document: JsonObject;
  /** The path, or the address without its query, which may contain a key. */
  readonly origin: string;
  /** The text that was read; undefined for a document given as JSON. */
  readonly text?: string;
}

export function isAddress(source: string): boolean {
  return /^https?:\/\//iu.test(source);
}

/** @throws ToolError `invalid_config` if it is not a document, with the position; `unavailable` if it cannot be fetched; as a rejection */
export async function readDocument(source: string | JsonObject, options: ReadOptions): Promise<ReadDocument> {
  if (typeof source !== "string") return { document: source, origin: options.name };
  const { text, origin } = isAddress(source) ? await fetchText(source, options) : await fileText(source);
  const document = await parseDocument(text, origin);
  if (!isJsonObject(document)) throw new ToolError("invalid_config", `${origin} is not an OpenAPI document: it contains no object.`);
  return { document, origin, text };
}

interface DocumentText {
  readonly text: string;
  readonly origin: string;
}

async function fileText(path: string): Promise<DocumentText> {
  const text = await readTextFile({
    path,
    what: "OpenAPI document",
    code: "invalid_config",
    maxBytes: MAX_DOCUMENT_BYTES,
    hint: "Give the path of a JSON or YAML file, or an http(s) address.",
  });
  return { text: text.startsWith("\uFEFF") ? text.slice(1) : text, origin: path };
}

async function fetchText(address: string, { client, headers, signal }: ReadOptions): Promise<DocumentText> {
  const headerEntries = Object.entries(headers);
  const url = new URL(address);
  const shownAddress = withoutQuery(url);
  try {
    const response = await client.request({
      method: "GET",
      url,
      headers: [["accept", "application/json, application/yaml;q=0.9, */*;q=0.5"], ...headerEntries],
      secretHeaders: headerEntries.map(([name]) => name.toLowerCase()),
      secretQuery: [...url.searchParams.keys()],
      signal,
    });
    if (response.status !== 200) {
      response.discard();
      throw new ToolError("unavailable", `HTTP ${response.status}.`);
    }
    const text = decodeText(await response.bytes(), parseMediaType(response.headers.get("content-type")?.[0]));
    if (text === undefined) throw new ToolError("unavailable", "it is in an unknown encoding.");
    return { text, origin: withoutQuery(response.url) };
  } catch (error: unknown) {
    const failure = ToolError.fromUnknown(error);
    const { message, code } = failure;
    throw new ToolError(
      code === "cancelled" ? code : "unavailable",
      `The OpenAPI document ${shownAddress} could not be fetched: ${message}`,
      {
        cause: error,
        ...pickHints(failure),
      },
    );
  }
}

function withoutQuery(url: URL): string {
  const stripped = new URL(url);
  stripped.search = "";
  stripped.hash = "";
  return stripped.href;
}

/** Parses JSON or YAML, depending on the first character: a JSON object begins with a brace, and YAML hardly ever does. */
async function parseDocument(text: string, origin: string): Promise<unknown> {
  if (/^\s*[{[]/u.test(text) && !/\.ya?ml$/iu.test(origin)) return parseJsonText(text, origin, JSON_LIMITS);
  if (/^\s*</u.test(text)) throw new ToolError("invalid_config", `${origin} is a web page, not an OpenAPI document: ${excerpt(text, 80)}`);
  const { hasTooManyTokens, parseYaml } = await import("../../documents/parse-yaml.ts");
  try {
    return parseYaml(text, origin, YAML_LIMITS).value;
  } catch (thrown: unknown) {
    const error = ToolError.fromUnknown(thrown);
    if (!hasTooManyTokens(error)) throw error;
    throw new ToolError(error.code, error.message, {
      hint: "Give the document as JSON, which needs far less work to read: npx yaml --single --json < api.yaml > api.json",
      cause: error,
    });
  }
}
