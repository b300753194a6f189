/** The images that models are shown, recognized by their first bytes. */

/** The image types that every provider accepts, and how their base64 begins. One invalid image would make every later request fail. */
const IMAGE_SIGNATURES: ReadonlyMap<string, string> = new Map([
  ["image/png", "iVBORw0KGgo"],
  ["image/jpeg", "/9j/"],
  ["image/gif", "R0lGOD"],
  ["image/webp", "UklGR"],
]);

/** Whether the data is an image that every provider accepts, judging by its first bytes. */
export function isValidImage(mediaType: string, data: string): boolean {
  const beginning = IMAGE_SIGNATURES.get(mediaType);
  return beginning !== undefined && data.length % 4 === 0 && data.startsWith(beginning);
}

/** Whether every provider accepts images of this type. */
export function isImageType(mediaType: string): boolean {
  return IMAGE_SIGNATURES.has(mediaType);
}

/** Returns the media type that the first bytes of an image show; undefined if it is not one that every provider accepts. */
export function imageType(data: string): string | undefined {
  for (const [mediaType, beginning] of IMAGE_SIGNATURES) if (data.startsWith(beginning)) return mediaType;
  return undefined;
}
