/** Corrects images that providers would refuse, and with them every later request of the conversation. */
import type { ContentPart } from "../core/content.ts";
import { imageType, isImageType } from "../core/formats/image-type.ts";
import { partText, type ToolResult } from "../core/result.ts";

/** Returns the parts with each image under the type that its bytes show, or its mention if they are no image. The same array if nothing changes. */
export function withValidImages(parts: readonly ContentPart[]): readonly ContentPart[] {
  const valid = parts.map(withValidImage);
  return valid.every((part, index) => part === parts[index]) ? parts : valid;
}

/** Does the same with the content of a result. */
export function resultWithValidImages<Result extends ToolResult | undefined>(result: Result): Result | ToolResult {
  if (result?.content === undefined) return result;
  const content = withValidImages(result.content);
  return content === result.content ? result : { ...result, content };
}

function withValidImage(part: ContentPart): ContentPart {
  if (part.type !== "image") return part;
  const mediaType = imageType(part.data);
  if (mediaType === undefined) return isImageType(part.mediaType) ? { type: "text", text: partText(part) } : part; // others are not sent as images
  return mediaType === part.mediaType ? part : { ...part, mediaType };
}
