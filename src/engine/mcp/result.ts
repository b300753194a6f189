/** Puts the answer to `tools/call` in our words. Nothing it points to is fetched. */
import { ToolOutput } from "../../core/content.ts";
import type { ContentPart } from "../../core/content.ts";
import { ToolError } from "../../core/error.ts";
import { isJsonObject } from "../../core/base/json.ts";
import type { JsonObject, JsonValue } from "../../core/base/json.ts";

/** Of an error that is said in JSON, so much is shown. */
const MAX_REASON_CHARS = 2_000;

/**
 * `structuredContent` becomes the output, `content` the parts, in order. Parts of a kind not known here are
 * kept as JSON text.
 *
 * @throws ToolError `execution_failed` with the text of the answer, else its JSON, when it is marked `isError`; `invalid_output`
 * when it is not an answer at all
 */
export function toToolOutput(answer: unknown, server: string): ToolOutput {
  if (!isJsonObject(answer))
    throw new ToolError("invalid_output", `MCP server "${server}" answered tools/call with something that is not an object.`);
  const content = Array.isArray(answer["content"]) ? answer["content"].map(toPart) : [];
  const output = answer["structuredContent"];
  if (answer["isError"] === true) throw new ToolError("execution_failed", reasonOf(content, output), { outcome: "failed" });
  return new ToolOutput({
    ...(output === undefined ? {} : { output }),
    ...(content.length === 0 && output !== undefined ? {} : { content }),
    ...(isJsonObject(answer["_meta"]) ? { metadata: answer["_meta"] } : {}),
  });
}

/** What the server says of an error: in words, else as the JSON that it gave. */
function reasonOf(content: readonly ContentPart[], output: JsonValue | undefined): string {
  const text = joinedText(content);
  if (text !== "") return text;
  return output === undefined || output === null ? "Tool reported isError=true" : JSON.stringify(output).slice(0, MAX_REASON_CHARS);
}

function joinedText(content: readonly ContentPart[]): string {
  const texts: string[] = [];
  for (const part of content) if (part.type === "text") texts.push(part.text);
  return texts.join("\n").trim();
}

function toPart(item: unknown): ContentPart {
  const part = isJsonObject(item) ? item : {};
  const { type, text, data, mimeType } = part;
  if (type === "text" && typeof text === "string") return { type, text };
  if ((type === "image" || type === "audio") && typeof data === "string")
    return { type, data, mediaType: typeof mimeType === "string" ? mimeType : "application/octet-stream" };
  if (type === "resource_link" && typeof part["uri"] === "string") return filePart(part, part["uri"]);
  const resource = part["resource"];
  if (type === "resource" && isJsonObject(resource) && typeof resource["uri"] === "string") return resourcePart(resource, resource["uri"]);
  return { type: "text", text: JSON.stringify(item) ?? "" };
}

function resourcePart(resource: JsonObject, uri: string): ContentPart {
  const { blob, mimeType } = resource;
  if (typeof blob !== "string") return filePart(resource, uri);
  const mediaType = typeof mimeType === "string" ? mimeType : "application/octet-stream";
  if (mediaType.startsWith("image/")) return { type: "image", mediaType, data: blob };
  if (mediaType.startsWith("audio/")) return { type: "audio", mediaType, data: blob };
  return { type: "file", uri: `data:${mediaType};base64,${blob}`, mediaType, name: uri };
}

function filePart(source: JsonObject, uri: string): ContentPart {
  const { mimeType, name, text } = source;
  return {
    type: "file",
    uri,
    ...(typeof mimeType === "string" ? { mediaType: mimeType } : {}),
    ...(typeof text === "string" ? { text } : {}),
    ...(typeof name === "string" ? { name } : {}),
  };
}
