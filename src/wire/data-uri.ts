/** Files that come with their bytes, as `data:` URIs. */

/** The base64 of a `data:` URI of this media type; undefined for every other. */
export function dataOf(uri: string, mediaType: string): string | undefined {
  const head = `data:${mediaType};base64,`;
  return uri.startsWith(head) ? uri.slice(head.length) : undefined;
}
