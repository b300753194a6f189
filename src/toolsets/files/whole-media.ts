/** Finds images and PDF files that are damaged, incomplete or encrypted: a provider rejects one of them, and with it every later request of the conversation. */

/** The size of the smallest image of each type, in bytes: a header, one pixel, and the end. */
const MIN_BYTES: ReadonlyMap<string, number> = new Map([
  ["image/png", 57],
  ["image/jpeg", 100],
  ["image/gif", 26],
  ["image/webp", 26],
]);
const JPEG_END = Buffer.from([0xff, 0xd9]);
const JPEG_SCAN = 0xda;
/** The length of a marker, and of the length after it, in bytes. */
const MARKER_BYTES = 2;
/** Where a PNG has its width, and then its height. */
const PNG_WIDTH_AT = 16;
const RIFF_HEADER_BYTES = 8;

/**
 * Whether the bytes of a file lack something that every file of their type has. Bytes after its end are allowed. A JPEG without its end counts as
 * damaged: browsers show what there is of it, but decoders that report errors, as providers use them, refuse it.
 */
export function isDamaged(bytes: Buffer, mediaType: string): boolean {
  if (bytes.length < (MIN_BYTES.get(mediaType) ?? 0)) return true;
  switch (mediaType) {
    case "image/png":
      return bytes.readUInt32BE(PNG_WIDTH_AT) === 0 || bytes.readUInt32BE(PNG_WIDTH_AT + 4) === 0 || bytes.lastIndexOf("IEND") < 0;
    case "image/jpeg":
      return bytes.indexOf(JPEG_END, findJpegScan(bytes)) < 0;
    case "image/webp":
      return bytes.readUInt32LE(4) + RIFF_HEADER_BYTES > bytes.length;
    case "application/pdf":
      return bytes.lastIndexOf("%%EOF") < 0 && bytes.lastIndexOf("startxref") < 0;
    default:
      return false;
  }
}

const ENCRYPT_KEY = "/Encrypt";
const ENCRYPT_ENTRY = /^\/Encrypt\s*(?:\d{1,10}\s+\d{1,5}\s+R\b|<<)/u;
const ENTRY_BYTES = 64;
/** Number of places looked at in a file without a trailer: it may consist of them. */
const MAX_ENTRIES = 1_000;

/** Whether a PDF is encrypted, also if it opens without a password. Its trailer, which is never encrypted itself, says so. */
export function isEncrypted(bytes: Buffer): boolean {
  const trailer = findTrailer(bytes) ?? bytes;
  let at = trailer.indexOf(ENCRYPT_KEY);
  for (let entries = 0; at >= 0 && entries < MAX_ENTRIES; entries++) {
    if (ENCRYPT_ENTRY.test(trailer.toString("latin1", at, at + ENTRY_BYTES))) return true;
    at = trailer.indexOf(ENCRYPT_KEY, at + 1);
  }
  return false;
}

/**
 * Returns the trailer of a PDF, or the dictionary of its cross-reference stream; undefined if it is not where the end of the file says. Other parts may
 * contain the text of an entry too, such as a page about PDF files.
 *
 * @see https://pdfa.org/resource/iso-32000-2/, 7.5.5 and 7.5.8
 */
function findTrailer(bytes: Buffer): Buffer | undefined {
  const end = bytes.lastIndexOf("startxref");
  const offset = end < 0 ? undefined : /^startxref\s+(\d{1,10})\b/u.exec(bytes.toString("latin1", end, end + ENTRY_BYTES))?.[1];
  if (offset === undefined) return undefined;
  const head = bytes.toString("latin1", Number(offset), Number(offset) + ENTRY_BYTES);
  if (/^\s*\d+\s+\d+\s+obj\b/u.test(head)) return upTo(bytes, "stream", Number(offset));
  const start = /^\s*xref\b/u.test(head) ? bytes.indexOf("trailer", Number(offset)) : -1;
  return start < 0 ? undefined : upTo(bytes, "startxref", start);
}

function upTo(bytes: Buffer, word: string, start: number): Buffer | undefined {
  const end = bytes.indexOf(word, start);
  return end < 0 ? undefined : bytes.subarray(start, end);
}

/**
 * Returns where the compressed image begins. The segments before it may contain an end as well: that of the preview which a camera adds.
 *
 * @see https://www.w3.org/Graphics/JPEG/itu-t81.pdf, annex B
 */
function findJpegScan(bytes: Buffer): number {
  let at = MARKER_BYTES;
  while (at + 2 * MARKER_BYTES <= bytes.length && bytes[at] === 0xff && bytes[at + 1] !== JPEG_SCAN)
    at += bytes[at + 1] === 0xff ? 1 : MARKER_BYTES + bytes.readUInt16BE(at + MARKER_BYTES); // 0xff may be repeated before a marker
  return at;
}
