/** Converts the content that a tool of AI SDK or Mastra shows a model in place of its output (`toModelOutput`) to content parts. */
import { ToolOutput, type ContentPart } from "../core/content.ts";
import { ToolError } from "../core/error.ts";

const SHOWABLE = /^(image|audio)\/[a-z0-9.+-]{1,64}$/u;

/**
 * Combines the output with the content for the model; returns the output alone if that content has an unknown form.
 *
 * @throws ToolError `execution_failed` if the content for the model is an error
 */
export function withModelOutput(output: unknown, shown: unknown): unknown {
  const { type, value } = fieldsOf(shown);
  if (type === "execution-denied") {
    const { reason } = fieldsOf(shown);
    throw new ToolError("execution_failed", typeof reason === "string" ? `It was denied: ${reason}` : "It was denied.");
  }
  if (type === "error-text" || type === "error-json") throw new ToolError("execution_failed", toText(value));
  if (type === "text" || type === "json") return new ToolOutput({ output, content: [{ type: "text", text: toText(value) }] });
  if (type !== "content" || !Array.isArray(value)) return output;
  return new ToolOutput({ output, content: value.map(toContentPart) });
}

/**
 * Returns the output, unless it is the result of an MCP tool that failed: the MCP clients of AI SDK and Mastra return that as an output. That of the
 * Agents SDK returns the content, as an array with a hidden `isError`; if the content is one part, it does not tell.
 *
 * @throws ToolError `execution_failed`
 */
export function refuseMcpError(output: unknown): unknown {
  const isArray = Array.isArray(output);
  const isError: unknown = isArray ? Reflect.get(output, "isError") : fieldsOf(output)["isError"];
  const content: unknown = isArray ? output : fieldsOf(output)["content"];
  if (isError !== true || !Array.isArray(content)) return output;
  const texts = content.map(fieldsOf).flatMap(({ text }) => (typeof text === "string" ? [text] : []));
  throw new ToolError("execution_failed", texts.length === 0 ? "The tool failed." : texts.join("\n"), { outcome: "failed" });
}

/**
 * Converts the output of an Agents SDK tool that is a content part or an array of them. Any other output is returned as it is, and so is one with a
 * file that only the provider has.
 */
export function withAgentsParts(output: unknown): unknown {
  const parts = (Array.isArray(output) ? output : [output]).map(toAgentsPart);
  const content = parts.filter((part) => part !== undefined);
  return content.length === 0 || content.length < parts.length ? output : new ToolOutput({ content });
}

/**
 * Reads `{ type: "image", image }` and `{ type: "file", file }`, whose value is an address or an object with `data` or a `url`. Images of MCP servers
 * have their `data` next to the type.
 */
function toAgentsPart(value: unknown): ContentPart | undefined {
  const { type, text, image, imageUrl, file } = fieldsOf(value);
  if (type === "text") return typeof text === "string" ? { type, text } : undefined;
  if (type !== "image" && type !== "file") return undefined;
  const held = (type === "image" ? (image ?? imageUrl) : file) ?? value;
  const { data, mimeType, mediaType = mimeType, url } = typeof held === "string" ? parseFileAddress(held) : fieldsOf(held);
  if (typeof url === "string") return { type: "file", uri: url };
  const isHeld = typeof mediaType === "string" && (typeof data === "string" || data instanceof Uint8Array);
  return isHeld ? toContentPart({ type, mediaType, data }) : undefined;
}

function parseFileAddress(address: string): Readonly<Record<string, unknown>> {
  const [, mediaType, data] = /^data:([^;,]+);base64,(.*)$/su.exec(address) ?? [];
  if (data !== undefined) return { mediaType, data };
  return /^https?:/iu.test(address) ? { url: address } : {};
}

/** Reads a content part of any version of AI SDK: `file` with tagged data, `media` and `image-data` with base64. */
function toContentPart(part: unknown): ContentPart {
  const { type, text, mediaType, data, url: link } = fieldsOf(part);
  if (typeof text === "string") return { type: "text", text };
  const inner = typeof data === "object" && !(data instanceof Uint8Array) ? fieldsOf(data) : { type: "data", data };
  if (typeof inner["text"] === "string") return { type: "text", text: inner["text"] };
  const url = inner["url"] ?? link; // the `url` of `file-url` and `image-url`
  if (typeof url === "string" || url instanceof URL)
    return { type: "file", uri: String(url), ...(typeof mediaType === "string" ? { mediaType } : {}) };
  const bytes = inner["data"];
  const base64 = bytes instanceof Uint8Array ? Buffer.from(bytes).toString("base64") : bytes;
  const kind = typeof mediaType === "string" ? SHOWABLE.exec(mediaType)?.[1] : undefined;
  if (typeof base64 === "string" && mediaType === "application/pdf")
    return { type: "file", mediaType, uri: `data:application/pdf;base64,${base64}` };
  if (typeof base64 !== "string" || typeof mediaType !== "string" || kind === undefined)
    return { type: "text", text: `[${typeof mediaType === "string" ? mediaType : toText(type)}]` };
  return { type: kind === "image" ? "image" : "audio", mediaType, data: base64 };
}

/** The fields of an object; {} for any other value. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
