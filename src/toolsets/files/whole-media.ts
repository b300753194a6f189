/** Finds images and PDF files that are damaged or incomplete: a provider rejects one of them, and with it every later request of the conversation. */

/** The size of the smallest image of each type, in bytes: a header, one pixel, and the end. */
const MIN_BYTES: ReadonlyMap<string, number> = new Map([
  ["image/png", 57],
  ["image/jpeg", 100],
  ["image/gif", 26],
  ["image/webp", 26],
]);
const JPEG_END = Buffer.from([0xff, 0xd9]);
/** Where a PNG has its width, and then its height. */
const PNG_WIDTH_AT = 16;
const RIFF_HEADER_BYTES = 8;

/** Whether the bytes of a file lack something that every file of their type has. Bytes after its end are allowed. */
export function isDamaged(bytes: Buffer, mediaType: string): boolean {
  if (bytes.length < (MIN_BYTES.get(mediaType) ?? 0)) return true;
  switch (mediaType) {
    case "image/png":
      return bytes.readUInt32BE(PNG_WIDTH_AT) === 0 || bytes.readUInt32BE(PNG_WIDTH_AT + 4) === 0 || bytes.lastIndexOf("IEND") < 0;
    case "image/jpeg":
      return bytes.lastIndexOf(JPEG_END) < 0;
    case "image/webp":
      return bytes.readUInt32LE(4) + RIFF_HEADER_BYTES > bytes.length;
    case "application/pdf":
      return bytes.lastIndexOf("%%EOF") < 0 && bytes.lastIndexOf("startxref") < 0;
    default:
      return false;
  }
}
