/** Distinguishes text files from others by their first bytes, and by extensions that never mean text. */
import { extname } from "node:path";
import { refusalError } from "./file-error.ts";

/** Number of bytes at the start of a file that are examined. */
export const HEAD_BYTES = 8192;
const MAX_CONTROL_SHARE = 0.1;

const BINARY_EXTENSIONS: ReadonlySet<string> = new Set(
  (
    ".png .jpg .jpeg .gif .webp .bmp .ico .tif .tiff .heic .avif .psd .pdf .zip .gz .tgz .bz2 .xz .zst .7z .rar .tar .jar .war .whl " +
    ".exe .dll .so .dylib .a .o .obj .lib .class .pyc .pyo .wasm .node .bin .iso .dmg .deb .rpm .apk .msi " +
    ".mp3 .mp4 .m4a .m4v .wav .ogg .flac .avi .mov .mkv .webm .wmv .woff .woff2 .ttf .otf .eot " +
    ".doc .docx .xls .xlsx .ppt .pptx .odt .ods .odp .sqlite .sqlite3 .db .parquet .npy .npz .pkl .pickle .pt .onnx .gguf .safetensors"
  ).split(" "),
);

export interface Media {
  readonly kind: "image" | "pdf";
  readonly mediaType: string;
}

/** Returns the image or PDF type that a file's first bytes announce, whatever its name. */
export function detectMedia(head: Buffer): Media | undefined {
  const text = head.toString("latin1", 0, 12);
  if (text.startsWith("\u0089PNG\r\n\u001a\n")) return { kind: "image", mediaType: "image/png" };
  if (text.startsWith("\u00ff\u00d8\u00ff")) return { kind: "image", mediaType: "image/jpeg" };
  if (text.startsWith("GIF87a") || text.startsWith("GIF89a")) return { kind: "image", mediaType: "image/gif" };
  if (text.startsWith("RIFF") && text.slice(8) === "WEBP") return { kind: "image", mediaType: "image/webp" };
  if (text.startsWith("%PDF-")) return { kind: "pdf", mediaType: "application/pdf" };
  return undefined;
}

/** Returns why a file is not text, or undefined if it is. Without its first bytes only the name is examined. */
export function findBinaryReason(name: string, head?: Buffer): string | undefined {
  const extension = extname(name).toLowerCase();
  if (BINARY_EXTENSIONS.has(extension)) return `its extension is ${extension}`;
  return head === undefined ? undefined : findControlReason(head.subarray(0, HEAD_BYTES));
}

function findControlReason(codes: Iterable<number> & { readonly length: number }): string | undefined {
  let control = 0;
  for (const code of codes) {
    if (code === 0) return "it contains NUL bytes";
    if (isControl(code)) control++;
  }
  return control > codes.length * MAX_CONTROL_SHARE ? "more than a tenth of it is control bytes" : undefined;
}

/** Returns the encoding of text that is not UTF-8, judged by its first bytes: a byte order mark, or ASCII letters with NUL bytes between them. */
export function detectWideEncoding(head: Buffer): "UTF-16" | "UTF-16LE" | "UTF-16BE" | "UTF-32" | undefined {
  const mark = head.toString("latin1", 0, 4);
  if (mark === "\u00ff\u00fe\0\0" || mark === "\0\0\u00fe\u00ff") return "UTF-32";
  if (mark.startsWith("\u00ff\u00fe")) return isTextInUtf16(head, "utf-16le") ? "UTF-16" : undefined;
  if (mark.startsWith("\u00fe\u00ff")) return isTextInUtf16(head, "utf-16be") ? "UTF-16" : undefined;
  if (!head.includes(0)) return undefined;
  if (isMostlyNul(head, 1) && isTextInUtf16(head, "utf-16le")) return "UTF-16LE";
  return isMostlyNul(head, 0) && isTextInUtf16(head, "utf-16be") ? "UTF-16BE" : undefined;
}

/** Whether more than half of every first (0) or second (1) byte of each pair is NUL. */
function isMostlyNul(head: Buffer, which: 0 | 1): boolean {
  const bytes = head.filter((_byte, at) => at % 2 === which);
  return bytes.filter((byte) => byte === 0).length > bytes.length / 2;
}

function isTextInUtf16(head: Buffer, encoding: "utf-16le" | "utf-16be"): boolean {
  const text = new TextDecoder(encoding).decode(head.subarray(0, head.length - (head.length % 2)), { stream: true });
  return !text.includes("\ufffd") && findControlReason(Uint32Array.from(text, (letter) => letter.codePointAt(0) ?? 0)) === undefined;
}

/** Whether the byte is a control byte. Tab, line ends, form feed, backspace and the escape of terminal colours occur in text and do not count. */
function isControl(byte: number): boolean {
  return byte < 8 || byte === 11 || (byte > 13 && byte < 32 && byte !== 27) || byte === 127;
}

/** @throws ToolError if the file is neither UTF-8 nor in another encoding with single-byte ASCII letters */
export function refuseBinary(shown: string, head?: Buffer): void {
  const encoding = head === undefined ? undefined : detectWideEncoding(head);
  if (encoding !== undefined)
    throw refusalError(`${JSON.stringify(shown)} is in ${encoding}, and text is read in UTF-8 only.`, conversionHint(encoding));
  const reason = findBinaryReason(shown, head);
  if (reason !== undefined) throw binaryFileError(shown, reason);
}

export function binaryFileError(shown: string, reason: string): Error {
  return refusalError(`${JSON.stringify(shown)} is a binary file: ${reason}.`, "This tool works on text files only.");
}

function conversionHint(encoding: string): string {
  return `Convert it with a command such as iconv -f ${encoding} -t UTF-8, or ask the user to save it as UTF-8.`;
}
