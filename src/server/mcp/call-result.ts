/** Converts a result to the result of `tools/call`. */
import { valueText, type ContentPart } from "../../core/content.ts";
import { toAttachmentUri } from "../../core/formats/attachment-uri.ts";
import { readFileData } from "../../core/formats/data-uri.ts";
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import { partText, resultText, type ToolResult } from "../../core/result.ts";
import { providerName } from "../../wire/provider-name.ts";
import type { Outcome } from "../../core/error-codes.ts";
import { compileSchema, type Validator } from "../../schema/compile-schema.ts";
import type { JsonSchema, Tool } from "../../core/tool.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";

export interface CallAnswer {
  readonly content: readonly JsonObject[];
  readonly structuredContent?: JsonValue;
  readonly isError?: boolean;
  readonly _meta?: JsonObject;
}

/**
 * Makes the answer of a call, complete both for clients that read only `content` and for those that read only `structuredContent`: some show a model
 * nothing else if it is present.
 *
 * `structuredContent` is sent if the tool has an output schema, or if the whole answer is an object; `content` then has the JSON as well. If a tool
 * without an output schema answers with content parts, only these are sent: its output is for the program that runs it. A result that is not `ok` is
 * marked as an error, with the text that a model would read and without structured content, because a client refuses content that does not match the
 * tool's schema. The same applies to an `ok` output that does not match it, such as one from which a credential was removed; its
 * outcome is `unknown`, because the tool did run.
 *
 * @param revision the client's revision: if it is older than a kind of content, it would refuse the whole answer, so that content is sent as text
 * @see https://modelcontextprotocol.io/specification/2025-11-25/server/tools#structured-content
 */
export function toCallAnswer(result: ToolResult, tool: Tool | undefined, revision?: string): CallAnswer {
  if (result.status !== "ok") {
    const meta = metaOf(result, result.error?.outcome);
    return { content: [{ type: "text", text: resultText(result, (name) => providerName(name)) }], isError: true, ...meta };
  }
  const { output, content, truncation } = result;
  const hasOutputSchema = tool?.outputSchema !== undefined;
  const isRefused = hasOutputSchema && output !== undefined && !fits(output, tool.outputSchema);
  const isWhole = truncation === undefined;
  const isError = isRefused || (content === undefined && !isWhole && hasOutputSchema);
  const meta = metaOf(result, isError ? "unknown" : undefined);
  if (content === undefined) {
    if (isError) return { content: textOf(output), isError, ...meta };
    const structured = isWhole && output !== undefined && (hasOutputSchema || isJsonObject(output)) ? { structuredContent: output } : {};
    return { content: textOf(output), ...structured, ...meta };
  }
  const blocks = content.map((part) => toSupportedBlock(part, revision));
  if (!hasOutputSchema || output === undefined) return { content: blocks, ...meta };
  const missing = containsOutput(content, output) ? [] : textOf(output);
  return { content: [...blocks, ...missing], ...(isError ? { isError } : { structuredContent: output }), ...meta };
}

/** The validators of output schemas, which do not change while their tools are offered. */
const VALIDATORS = new WeakMap<object, Validator>();

function fits(output: JsonValue, schema: JsonSchema): boolean {
  if (typeof schema === "boolean") return schema;
  return getOrAdd(VALIDATORS, schema, compiled).check(output);
}

function compiled(schema: object): Validator {
  try {
    return compileSchema(schema);
  } catch {
    return compileSchema(true); // a call of the tool says what is wrong with it
  }
}

function textOf(output: JsonValue | undefined): readonly JsonObject[] {
  return output === undefined ? [] : [{ type: "text", text: valueText(output) }];
}

/**
 * Whether the parts already contain the output as text: tools and servers that support older clients write it themselves. Servers with the Python
 * libraries wrap an output that is not an object as `{ result }`, and write it in one part, or an array with one part per item.
 *
 * @see https://gofastmcp.com/servers/tools — "Structured Output"
 */
function containsOutput(content: readonly ContentPart[], output: JsonValue): boolean {
  if (content.some((part) => isTextOf(part, output))) return true;
  if (!isJsonObject(output) || Object.keys(output).join() !== "result") return false;
  const { result } = output;
  if (result === undefined) return false;
  if (content.some((part) => isTextOf(part, result))) return true;
  if (!isJsonArray(result) || result.length !== content.length || content.length === 0) return false;
  return content.every((part, index) => isTextOf(part, result[index] ?? null));
}

/** Whether a text part is this value as text. */
function isTextOf(part: ContentPart, output: JsonValue): boolean {
  if (part.type !== "text") return false;
  if (part.text === valueText(output)) return true;
  if (typeof output === "string" || !/^\s*[[{]/u.test(part.text)) return false;
  try {
    return canonicalJson(parseJson(part.text)) === canonicalJson(output);
  } catch {
    return false; // text that only starts like JSON
  }
}

/** The first revision with these kinds of content; the other kinds exist in all revisions. */
const SUPPORTED_SINCE: ReadonlyMap<JsonValue | undefined, string> = new Map([
  ["audio", "2025-03-26"],
  ["resource_link", "2025-06-18"],
]);

function toSupportedBlock(part: ContentPart, revision: string | undefined): JsonObject {
  const block = toBlock(part);
  const since = SUPPORTED_SINCE.get(block["type"]);
  if (since === undefined || revision === undefined || revision >= since) return block;
  return { type: "text", text: partText(part), ...omitUndefined({ annotations: block["annotations"] }) };
}

function toBlock(part: ContentPart): JsonObject {
  const block = toBareBlock(part);
  const { annotations } = part;
  return annotations === undefined ? block : { ...block, annotations: { ...annotations } };
}

function toBareBlock(part: ContentPart): JsonObject {
  if (part.type === "text") return { type: "text", text: part.text };
  if (part.type !== "file") return { type: part.type, data: part.data, mimeType: part.mediaType };
  const { mediaType, text, name, title, description, bytes } = part;
  const mimeType: JsonObject = mediaType === undefined ? {} : { mimeType: mediaType };
  if (text !== undefined) return { type: "resource", resource: { uri: toAttachmentUri(part.uri), ...mimeType, text } };
  const blob = readFileData(part)?.base64;
  if (blob !== undefined) return { type: "resource", resource: { uri: toAttachmentUri(name ?? "data:"), ...mimeType, blob } };
  return {
    type: "resource_link",
    uri: toAttachmentUri(part.uri),
    name: name ?? part.uri,
    ...mimeType,
    ...omitUndefined({ title, description, size: bytes }),
  };
}

/** The metadata for programs: the tool's own, repairs and warnings of the call, and whether a failed call may have taken effect. */
function metaOf({ metadata, repairs, warnings, origin }: ToolResult, outcome: Outcome | undefined): { readonly _meta?: JsonObject } {
  const notes: JsonObject = {
    ...(repairs.length === 0 ? {} : { repairs: repairs.map(({ path, kind, note }) => ({ path, kind, note })) }),
    ...(warnings.length === 0 ? {} : { warnings }),
    ...(origin === "live" ? {} : { origin }),
    ...(outcome === "unknown" ? { outcome } : {}),
  };
  const own = Object.entries(metadata ?? {}).filter(([key]) => !key.startsWith("io.modelcontextprotocol/") && key !== "haft/call");
  if (own.length === 0 && Object.keys(notes).length === 0) return {};
  return { _meta: { ...Object.fromEntries(own), ...(Object.keys(notes).length === 0 ? {} : { "haft/call": notes }) } };
}
