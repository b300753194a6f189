/** Tells text from what is not: by its first bytes, and by extensions that never mean text. */
import { extname } from "node:path";
import { refusal } from "./file-error.ts";

/** How many bytes of a file are looked at. */
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

/** The image or PDF that a file's first bytes announce, whatever its name says. */
export function detectMedia(head: Buffer): Media | undefined {
  const text = head.toString("latin1", 0, 12);
  if (text.startsWith("\u0089PNG\r\n\u001a\n")) return { kind: "image", mediaType: "image/png" };
  if (text.startsWith("\u00ff\u00d8\u00ff")) return { kind: "image", mediaType: "image/jpeg" };
  if (text.startsWith("GIF87a") || text.startsWith("GIF89a")) return { kind: "image", mediaType: "image/gif" };
  if (text.startsWith("RIFF") && text.slice(8) === "WEBP") return { kind: "image", mediaType: "image/webp" };
  if (text.startsWith("%PDF-")) return { kind: "pdf", mediaType: "application/pdf" };
  return undefined;
}

/** Why a file is not text, or undefined when it is; without its first bytes only the name is judged. */
export function binaryReason(name: string, head?: Buffer): string | undefined {
  const extension = extname(name).toLowerCase();
  if (BINARY_EXTENSIONS.has(extension)) return `its extension is ${extension}`;
  if (head === undefined) return undefined;
  const size = Math.min(head.length, HEAD_BYTES);
  let control = 0;
  for (let at = 0; at < size; at++) {
    const byte = head[at] ?? 0;
    if (byte === 0) return "it holds NUL bytes";
    if (isControl(byte)) control++;
  }
  return control > size * MAX_CONTROL_SHARE ? "more than a tenth of it is control bytes" : undefined;
}

/** Tab, line ends, form feed, backspace and the escape of terminal colours occur in text. */
function isControl(byte: number): boolean {
  return byte < 8 || byte === 11 || (byte > 13 && byte < 32 && byte !== 27) || byte === 127;
}

/** @throws ToolError when the file is not text */
export function refuseBinary(shown: string, head?: Buffer): void {
  const reason = binaryReason(shown, head);
  if (reason === undefined) return;
  throw refusal(`${JSON.stringify(shown)} is a binary file: ${reason}.`, "This tool works on text files only.");
}
