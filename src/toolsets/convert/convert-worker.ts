/** The thread that converts pages and PDF documents to text, so that a hostile document cannot block the program or exhaust its memory. */
import { readFile } from "node:fs/promises";
import { parentPort, workerData } from "node:worker_threads";
import type { PDFDocumentProxy } from "unpdf/pdfjs";
import type { ConvertAnswer, ConvertJob } from "./convert-document.ts";

/** Comments, and elements whose text is not HTML: what looks like a tag in them is none. */
const NO_TAGS = /<!--(?:-?>|[^]*?(?:-->|$))|<(script|style|title|textarea)\b[^]*?(?:<\/\1\s*>|$)/giu;

/** Thrown if the package of a converter could not be loaded. */
class UnloadedPackage extends Error {}

// No converter needs the network, and the address guard does not apply in this thread.
globalThis.fetch = () => Promise.reject(new Error("A converter may not use the network."));

const NEEDS_PASSWORD = "it is encrypted, and only opens with a password. Ask the user for a copy without one";
/** Maximum size of all buffers, in bytes. The heap limit does not count them, and a few kilobytes of PDF can unpack to gigabytes. */
const MAX_BUFFER_BYTES = 512 * 1024 * 1024;
/** Smaller buffers are not checked, for speed. */
const SMALL_BYTES = 64 * 1024;

globalThis.Uint8Array = new Proxy(Uint8Array, {
  construct(type, values: unknown[], target) {
    const [size] = values;
    if (typeof size === "number" && size > SMALL_BYTES) checkMemory(size);
    return Reflect.construct(type, values, target) as Uint8Array;
  },
});

// Its pieces are not created by the constructor above.
const Unpacked = DecompressionStream;
globalThis.DecompressionStream = class {
  readonly readable: ReadableStream;
  readonly writable: WritableStream;

  constructor(format: ConstructorParameters<typeof Unpacked>[0]) {
    const { readable, writable } = new Unpacked(format);
    const counted = new TransformStream<Uint8Array, Uint8Array>({
      transform(piece, controller) {
        checkMemory(piece.byteLength);
        controller.enqueue(piece);
      },
    });
    this.readable = readable.pipeThrough(counted);
    this.writable = writable;
  }
};

/** Ends the thread: a thrown error would count as a fault of one stream or page, and the next one would be tried. */
function checkMemory(more: number): void {
  if (process.memoryUsage().arrayBuffers + more <= MAX_BUFFER_BYTES) return;
  postAnswer({ error: "it unpacks to more than 512 MB", isUnloaded: false });
  process.exit();
}

try {
  postAnswer(await convert(workerData as ConvertJob)); // made by convertDocument()
} catch (thrown: unknown) {
  const isLocked = thrown instanceof Error && thrown.name === "PasswordException";
  const message = isLocked ? NEEDS_PASSWORD : thrown instanceof Error ? thrown.message : String(thrown);
  postAnswer({ error: message.slice(0, 500), isUnloaded: thrown instanceof UnloadedPackage || isNotFound(thrown) });
}

function postAnswer(value: ConvertAnswer): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(value);
}

function throwUnloadedPackage(thrown: unknown): never {
  throw new UnloadedPackage(thrown instanceof Error ? thrown.message : String(thrown));
}

/** Whether a module is missing: a loaded package may lack a dependency of its own. */
function isNotFound(thrown: unknown): boolean {
  return thrown instanceof Error && "code" in thrown && thrown.code === "ERR_MODULE_NOT_FOUND";
}

async function convert({ kind, bytes, url }: ConvertJob): Promise<ConvertAnswer> {
  return kind === "pdf" ? convertPdf(bytes) : convertPage(new TextDecoder().decode(bytes), url);
}

async function convertPage(html: string, url: string | undefined): Promise<ConvertAnswer> {
  const { Defuddle } = await import("defuddle/node").catch(throwUnloadedPackage);
  const { title, content } = await Defuddle(withBody(html), url, { markdown: true, useAsync: false });
  return { text: content, title };
}

/** Adds a missing `<body>`, which HTML allows to leave out, like `<html>`. Without it the parser finds no text, and fails without any element. */
function withBody(html: string): string {
  const tags = html.replaceAll(NO_TAGS, (part) => " ".repeat(part.length));
  if (/<(?:body|frameset)[\s>]/iu.test(tags)) return html;
  const head = /<\/head\s*>/iu.exec(tags);
  if (head === null) return `<html><body>${html}`;
  const end = head.index + head[0].length;
  return `${html.slice(0, end)}<body>${html.slice(end)}`;
}

/** Converts page by page: a damaged page does not affect the others, and a page's memory is freed before the next. */
async function convertPdf(bytes: Uint8Array): Promise<ConvertAnswer> {
  const { getDocumentProxy } = await import("unpdf").catch(throwUnloadedPackage);
  const missingMaps = new Set<string>();
  const document = await getDocumentProxy(new Uint8Array(bytes), { BinaryDataFactory: packageFiles(missingMaps) });
  const pages: string[] = [];
  const faults: string[] = [];
  for (let at = 1; at <= document.numPages; at++) {
    let text: string;
    try {
      text = await pageText(document, at);
    } catch (thrown: unknown) {
      const fault = thrown instanceof Error ? thrown.message : String(thrown);
      faults.push(fault);
      text = `(this page cannot be read: ${fault.slice(0, 500)})`;
    }
    pages.push(`--- page ${at} of ${document.numPages} ---\n${text}`);
  }
  const [fault] = faults;
  if (fault !== undefined && faults.length === pages.length) throw new Error(fault);
  if (missingMaps.size > 0)
    pages.unshift(`(text is missing: the character maps ${[...missingMaps].join(", ")} of the package pdfjs-dist are not installed)`);
  return { text: pages.join("\n\n"), title: undefined };
}

async function pageText(document: PDFDocumentProxy, number: number): Promise<string> {
  const page = await document.getPage(number);
  const { items } = await page.getTextContent();
  const fields = formFields(await page.getAnnotations());
  page.cleanup();
  const text = items
    .map((item) => ("str" in item ? `${item.str}${item.hasEOL ? "\n" : ""}` : ""))
    .join("")
    .trim();
  return [...(text === "" ? [] : [text]), ...fields].join("\n") || "(no text on this page; it may be an image)";
}

/** Returns the filled form fields of a page, one per line: their values are not part of its text. */
function formFields(annotations: readonly unknown[]): readonly string[] {
  return annotations.flatMap((annotation) => {
    if (typeof annotation !== "object" || annotation === null || !("fieldName" in annotation) || !("fieldValue" in annotation)) return [];
    const { fieldName, fieldValue } = annotation;
    const values: readonly unknown[] = Array.isArray(fieldValue) ? fieldValue : [fieldValue];
    const value = values.filter((one) => typeof one === "string" && one !== "" && one !== "Off").join(", ");
    return value === "" ? [] : [`[field ${String(fieldName)}: ${value}]`];
  });
}

/** Reads files of `pdfjs-dist`, at the place that unpdf gives if it is installed, and collects missing character maps, whose text is left out. */
function packageFiles(missingMaps: Set<string>) {
  return class {
    readonly #folders: Readonly<Record<string, string | null | undefined>>;

    constructor(folders: Readonly<Record<string, string | null | undefined>>) {
      this.#folders = folders;
    }

    async fetch({ kind, filename }: { readonly kind: string; readonly filename: string }): Promise<Uint8Array> {
      try {
        return new Uint8Array(await readFile(new URL(filename, this.#folders[kind] ?? undefined)));
      } catch (thrown: unknown) {
        if (kind === "cMapUrl") missingMaps.add(filename.replace(/\.bcmap$/u, ""));
        throw thrown;
      }
    }
  };
}
