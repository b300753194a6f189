/** Puts a result of ours in the words of `tools/call`. */
import { valueText } from "../../core/content.ts";
import type { ContentPart } from "../../core/content.ts";
import { isJsonObject } from "../../core/json.ts";
import type { JsonObject, JsonValue } from "../../core/json.ts";
import { resultText } from "../../core/result.ts";
import type { ToolResult } from "../../core/result.ts";
import { providerName } from "../../wire/provider-name.ts";
import type { Tool } from "../../core/tool.ts";

export interface CallAnswer {
  readonly content: readonly JsonObject[];
  readonly structuredContent?: JsonValue;
  readonly isError?: boolean;
  readonly _meta?: JsonObject;
}

/**
 * The answer of a call.
 *
 * JSON is sent as `structuredContent` when the tool has an output schema or it is an object, and as text for clients that read only
 * that. Whatever is not `ok` is marked as an error, with the text that a model would read, and with no structured content: a client
 * refuses one that breaks the tool's schema.
 */
export function toCallAnswer(result: ToolResult, tool: Tool | undefined): CallAnswer {
  const meta = metaOf(result);
  if (result.status !== "ok")
    return { content: [{ type: "text", text: resultText(result, (name) => providerName(name)) }], isError: true, ...meta };
  const { output, content, truncation } = result;
  const parts = content === undefined ? textOf(output) : content.map(toBlock);
  if (output === undefined) return { content: parts, ...meta };
  const wasCut = truncation !== undefined && content === undefined;
  const promised = tool?.outputSchema !== undefined;
  if (wasCut) return { content: parts, ...(promised ? { isError: true } : {}), ...meta };
  return { content: parts, ...(promised || isJsonObject(output) ? { structuredContent: output } : {}), ...meta };
}

function textOf(output: JsonValue | undefined): readonly JsonObject[] {
  return output === undefined ? [] : [{ type: "text", text: valueText(output) }];
}

function toBlock(part: ContentPart): JsonObject {
  if (part.type === "text") return { type: "text", text: part.text };
  if (part.type !== "file") return { type: part.type, data: part.data, mimeType: part.mediaType };
  const { uri, mediaType, text, name } = part;
  const mimeType: JsonObject = mediaType === undefined ? {} : { mimeType: mediaType };
  if (text !== undefined) return { type: "resource", resource: { uri, ...mimeType, text } };
  const blob = /^data:[^,]*;base64,(.*)$/su.exec(uri)?.[1];
  if (blob !== undefined) return { type: "resource", resource: { uri: name ?? "data:", ...mimeType, blob } };
  return { type: "resource_link", uri, name: name ?? uri, ...mimeType };
}

/** What is for programs: the tool's own metadata, and what was done to the call. */
function metaOf({ metadata, repairs, warnings, origin }: ToolResult): { readonly _meta?: JsonObject } {
  const notes: JsonObject = {
    ...(repairs.length === 0 ? {} : { repairs: repairs.map(({ path, kind, note }) => ({ path, kind, note })) }),
    ...(warnings.length === 0 ? {} : { warnings }),
    ...(origin === "live" ? {} : { origin }),
  };
  const own = Object.entries(metadata ?? {}).filter(([key]) => !key.startsWith("io.modelcontextprotocol/") && key !== "haft/call");
  if (own.length === 0 && Object.keys(notes).length === 0) return {};
  return { _meta: { ...Object.fromEntries(own), ...(Object.keys(notes).length === 0 ? {} : { "haft/call": notes }) } };
}
