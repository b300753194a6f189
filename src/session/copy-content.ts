/** Copies content parts to frozen JSON, and checks each of them against its type. */
import type { ContentPart } from "../core/content.ts";
import { areAnnotations } from "../core/formats/content-annotations.ts";
import { ToolError } from "../core/error.ts";
import { copyJson, isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../core/base/json.ts";

/** Leaves room for images and documents in base64: a file of 20 MB has 27 million characters. */
const CONTENT_LIMITS = { maxChars: 64 * 1024 * 1024 } as const;

/** The string fields that each type of part needs, and those it may have. */
const FIELDS: Readonly<Record<ContentPart["type"], { readonly needs: readonly string[]; readonly may: readonly string[] }>> = {
  text: { needs: ["text"], may: [] },
  image: { needs: ["mediaType", "data"], may: [] },
  audio: { needs: ["mediaType", "data"], may: [] },
  file: { needs: ["uri"], may: ["mediaType", "text", "name", "title", "description"] },
};

/** Copies and checks content. @throws ToolError `not_json` or `too_large`, naming the wrong part */
export function copyContent(content: unknown): readonly ContentPart[] {
  const { value } = copyJson(content, CONTENT_LIMITS);
  if (!isJsonArray(value)) throw new ToolError("not_json", "content is not an array of parts");
  value.forEach(checkPart);
  return value as unknown as readonly ContentPart[]; // every part was just checked
}

function checkPart(part: JsonValue, index: number): void {
  const type = isJsonObject(part) ? part["type"] : undefined;
  if (!isJsonObject(part) || typeof type !== "string" || !isPartType(type)) {
    throw new ToolError(
      "not_json",
      `content part ${index} is not text, image, audio or file`,
      MCP_RESOURCES.has(type) ? RESOURCE_HINT : {},
    );
  }
  const { needs, may } = FIELDS[type];
  const wrong = needs.find((name) => !isText(part, name)) ?? may.find((name) => part[name] !== undefined && !isText(part, name));
  const { bytes } = part;
  if (type === "file" && bytes !== undefined && (typeof bytes !== "number" || !Number.isSafeInteger(bytes) || bytes < 0))
    throw new ToolError("not_json", `content part ${index} is file, and its "bytes" is not an integer of at least 0`);
  const notes = part["annotations"];
  if (notes !== undefined && !areAnnotations(notes))
    throw new ToolError("not_json", `content part ${index} is ${type}, and its "annotations" are not as in MCP`, ANNOTATIONS_HINT);
  if (wrong === undefined) return;
  const hint = wrong === "mediaType" && "mimeType" in part ? MEDIA_TYPE_HINT : {};
  throw new ToolError("not_json", `content part ${index} is ${type}, and its "${wrong}" is not a string`, hint);
}

/** Types of parts in MCP, which a program that was an MCP server may still return. */
const MCP_RESOURCES: ReadonlySet<unknown> = new Set(["resource", "resource_link"]);
const RESOURCE_HINT = { operatorHint: 'A resource is a file here: { type: "file", uri, mediaType, text }.' };
const MEDIA_TYPE_HINT = { operatorHint: 'Did you mean "mediaType" in place of "mimeType"?' };

const ANNOTATIONS_HINT = {
  operatorHint:
    'They are { audience: ["user", "assistant"], priority: 0 to 1, lastModified: "2026-01-31T12:00:00Z" }; each may be left out.',
};

function isPartType(type: string): type is ContentPart["type"] {
  return Object.hasOwn(FIELDS, type);
}

function isText(part: JsonObject, name: string): boolean {
  return typeof part[name] === "string";
}
