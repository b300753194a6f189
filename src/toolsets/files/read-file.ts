/** The tool `read`: numbered lines of a text file, an image, or a PDF. */
import type { ToolContext } from "../../core/context.ts";
import { ToolOutput } from "../../core/content.ts";
import type { ToolError } from "../../core/error.ts";
import type { JsonObject } from "../../core/base/json.ts";
import type { JsonSchema, Tool } from "../../core/tool.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { plural } from "../../core/base/wording.ts";
import { createHash } from "node:crypto";
import { convertDocument } from "../convert/convert-document.ts";
import { HEAD_BYTES, type Media, detectMedia, refuseBinary } from "./detect-binary.ts";
import { type Fingerprint, MAX_TEXT_BYTES, fingerprint, readFilePieces, readHead, readWhole, fileTooLargeError } from "./file-bytes.ts";
import { fileError, refusalError } from "./file-error.ts";
import { LineWindow, MAX_LINE_BYTES, MAX_LINE_CHARS } from "./line-window.ts";
import { type OpenFile, openFile } from "./open-resolved-path.ts";
import { pathLine } from "./path-list.ts";
import { recordRead, findShowingCall } from "./track-reads.ts";
import { MAX_MEDIA_BYTES } from "../../policy/results/media-limits.ts";
import { supersedesFileCalls } from "./supersede-file-calls.ts";
import { isDamaged, isEncrypted } from "./whole-media.ts";
import { type ResolvedPath, type Workspace, pathSchema } from "./workspace-path.ts";

/** Maximum size of a PDF that is read as text, in bytes. */
const MAX_PDF_BYTES = 32 * 1024 * 1024;
/** Maximum length of the text of a PDF that is kept for the next read. */
const MAX_KEPT_CHARS = 4 * 1024 * 1024;
const MAX_LINE_MIB = MAX_LINE_BYTES / 1024 / 1024;
const AFTER_LONG_LINE = "Read a part of the file with a command such as tail -c, or ask the user to split it.";

const OTHER_BYTES_NOTE = "(bytes that are not UTF-8 are shown as \ufffd; if this text is written back, they are lost)";

interface ReadInput {
  readonly path: string;
  readonly offset?: number;
  readonly limit?: number;
}

const INPUT_SCHEMA: JsonSchema = {
  type: "object",
  properties: {
    path: pathSchema("Path of the file, relative to the workspace."),
    offset: { type: "integer", minimum: 1, description: "First line to read; lines count from 1. Default 1." },
    limit: { type: "integer", minimum: 1, description: "Most lines to read. Default: as many as fit." },
  },
  required: ["path"],
  additionalProperties: false,
};

export interface ReadOptions {
  /** Whether to answer a repeated read of an unchanged file with one line. */
  readonly unchangedReads: boolean;
  /** Whether to read PDFs as text instead of as documents. */
  readonly pdfText: boolean;
}

export function readTool(workspace: Workspace, options: ReadOptions): Tool {
  const texts = new PdfTexts();
  return {
    name: "read",
    description:
      `Reads a file of the workspace. Text comes with line numbers (the number and the tab after it are not part of the file); images (PNG, JPEG, GIF, WebP) up to 3.5 MB${options.pdfText ? " come as they are, and PDFs as text. " : " and PDFs up to 4.5 MB come as they are. "}` +
      `Long files stop at 200 kB and say how to continue; lines over ${MAX_LINE_CHARS} characters are cut. A file must be read before it can be changed.`,
    inputSchema: INPUT_SCHEMA,
    effects: { reads: (input) => [workspace.key(input["path"])], writes: [], idempotent: true },
    supersedes: supersedesFileCalls(workspace),
    maxResultBytes: 0, // it has its own limits, and a truncated PDF is invalid
    execute: (input: ReadInput, context: ToolContext) => readFile({ texts, workspace, options, input, context }),
  };
}

/** The text of the PDF that was read last: a model reads a long one in several calls, and each conversion takes up to seconds. */
class PdfTexts {
  #last: { readonly hash: string; readonly text: string } | undefined;

  /** @throws as `convertDocument` */
  async get(bytes: Uint8Array, signal: AbortSignal): Promise<string> {
    const hash = createHash("sha256").update(bytes).digest("base64");
    if (this.#last?.hash === hash) return this.#last.text;
    const { text } = await convertDocument({ kind: "pdf", bytes }, signal);
    this.#last = text.length > MAX_KEPT_CHARS ? undefined : { hash, text };
    return text;
  }
}

interface ReadRequest {
  readonly texts: PdfTexts;
  readonly workspace: Workspace;
  readonly options: ReadOptions;
  readonly input: ReadInput;
  readonly context: ToolContext;
}

async function readFile(request: ReadRequest): Promise<ToolOutput> {
  const resolved = await request.workspace.resolveForRead(request.input.path, request.context);
  const file = await openFile(resolved);
  try {
    const head = await readHead(file.handle, HEAD_BYTES);
    const media = detectMedia(head);
    if (media?.kind === "pdf" && request.options.pdfText) return await readPdfText(request, resolved, file);
    if (media !== undefined) return await readMedia(request, { resolved, file, media });
    if (head.length > 0) refuseBinary(resolved.shown, head); // an empty file has no type, whatever its name says
    return await readLines(request, resolved, file);
  } catch (thrown: unknown) {
    throw fileError(thrown, { verb: "read", shown: resolved.shown });
  } finally {
    await file.handle.close();
  }
}

async function readMedia(request: ReadRequest, found: { resolved: ResolvedPath; file: OpenFile; media: Media }): Promise<ToolOutput> {
  const { resolved, file, media } = found;
  const bytes = await readWhole(file, { maxBytes: MAX_MEDIA_BYTES[media.kind], signal: request.context.signal });
  if (bytes === undefined) return tooLargeOutput(resolved, { file, media });
  if (isDamaged(bytes, media.mediaType)) return damagedOutput(resolved, { file, media });
  if (media.kind === "pdf" && isEncrypted(bytes)) return encryptedOutput(resolved, { file, media });
  const known = fingerprint(file.stats, file.stats.size > MAX_TEXT_BYTES ? undefined : bytes);
  const earlier = findEarlierRead(request, resolved, known);
  if (earlier !== undefined) return unchangedOutput(resolved, earlier);
  recordRead(request.context, resolved.real, known, viewKey(request.input));
  const data = bytes.toString("base64");
  const output = { path: resolved.shown, mediaType: media.mediaType, bytes: bytes.length };
  if (media.kind === "image") return new ToolOutput({ content: [{ type: "image", mediaType: media.mediaType, data }], output });
  const uri = `data:${media.mediaType};base64,${data}`;
  return new ToolOutput({ content: [{ type: "file", uri, mediaType: media.mediaType, name: resolved.shown }], output });
}

/** Returns the lines of all pages, numbered like those of a text file. */
async function readPdfText(request: ReadRequest, resolved: ResolvedPath, file: OpenFile): Promise<ToolOutput> {
  const { input, context } = request;
  const bytes = await readWhole(file, { maxBytes: MAX_PDF_BYTES, signal: context.signal });
  if (bytes === undefined) throw fileTooLargeError(resolved.shown, MAX_PDF_BYTES);
  const known = fingerprint(file.stats, file.stats.size > MAX_TEXT_BYTES ? undefined : bytes);
  const text = await request.texts.get(bytes, context.signal);
  const first = input.offset ?? 1;
  const window = new LineWindow(first, input.limit ?? Number.MAX_SAFE_INTEGER);
  window.add(Buffer.from(text));
  window.finish();
  if (first > 1 && window.lines.length === 0 && window.stoppedAt === undefined) throw pastEndError(resolved, window, first);
  const earlier = findEarlierRead(request, resolved, known);
  if (earlier !== undefined) return unchangedOutput(resolved, earlier, textOf(window));
  recordRead(context, resolved.real, known, viewKey(input));
  return describeLines(resolved, { first, window, total: window.count });
}

function pastEndError(resolved: ResolvedPath, window: LineWindow, first: number): ToolError {
  return refusalError(`${JSON.stringify(resolved.shown)} has ${plural(window.count, "line")}; line ${first} is past its end.`);
}

function lineNotReachedError(resolved: ResolvedPath, overlongLine: number, first: number): ToolError {
  return refusalError(
    `Line ${overlongLine} of ${JSON.stringify(resolved.shown)} is longer than ${MAX_LINE_MIB} MiB; line ${first} after it cannot be read.`,
    AFTER_LONG_LINE,
  );
}

/** The file is not shown, so it does not count as read. */
function tooLargeOutput(resolved: ResolvedPath, { file, media }: FoundMedia): ToolOutput {
  const [kind, limit] = media.kind === "image" ? ["image", "3.5 MB"] : ["PDF", "4.5 MB"];
  return notShownOutput(
    resolved,
    { file, media },
    { why: `it is larger than ${limit}, the largest ${kind} that is shown`, tooLarge: true },
  );
}

function damagedOutput(resolved: ResolvedPath, found: FoundMedia): ToolOutput {
  return notShownOutput(resolved, found, { why: "it is damaged or incomplete", damaged: true });
}

function encryptedOutput(resolved: ResolvedPath, found: FoundMedia): ToolOutput {
  return notShownOutput(resolved, found, { why: "it is encrypted; ask the user for a copy that is not", encrypted: true });
}

interface FoundMedia {
  readonly file: OpenFile;
  readonly media: Media;
}

function notShownOutput(
  resolved: ResolvedPath,
  { file, media }: FoundMedia,
  { why, ...output }: { readonly why: string } & JsonObject,
): ToolOutput {
  const { mediaType } = media;
  const bytes = file.stats.size;
  const text = `[file ${pathLine(resolved.shown)}: ${mediaType}, ${bytes} bytes]\n(not shown: ${why})`;
  return textOutput(text, { path: resolved.shown, mediaType, bytes, ...output });
}

async function readLines(request: ReadRequest, resolved: ResolvedPath, file: OpenFile): Promise<ToolOutput> {
  const first = request.input.offset ?? 1;
  const window = new LineWindow(first, request.input.limit ?? Number.MAX_SAFE_INTEGER);
  const known = await scanLines(file, window, request.context.signal);
  if (window.overlongLine !== undefined && window.lines.length === 0) throw lineNotReachedError(resolved, window.overlongLine, first);
  if (first > 1 && window.lines.length === 0 && window.stoppedAt === undefined) throw pastEndError(resolved, window, first);
  const earlier = findEarlierRead(request, resolved, known.fingerprint);
  if (earlier !== undefined) return unchangedOutput(resolved, earlier, textOf(window));
  recordRead(request.context, resolved.real, known.fingerprint, viewKey(request.input));
  const total = known.complete ? window.count : undefined;
  return describeLines(resolved, { first, window, total });
}

/**
 * Reads the whole file for its hash, or only up to the end of the window if the file is too large to be compared byte by byte. Never reads further
 * into a line without end.
 */
async function scanLines(
  file: OpenFile,
  window: LineWindow,
  signal: AbortSignal,
): Promise<{ fingerprint: Fingerprint; complete: boolean }> {
  const { mtimeMs, size } = file.stats;
  const hash = size > MAX_TEXT_BYTES ? undefined : createHash("sha256");
  let seen = 0;
  for await (const piece of readFilePieces(file, signal)) {
    seen += piece.length;
    window.add(piece);
    hash?.update(piece);
    if (window.isFull && (hash === undefined || seen > MAX_TEXT_BYTES))
      return { fingerprint: { mtimeMs, size, hash: "" }, complete: false };
    if (window.overlongLine === undefined) continue;
    window.finish();
    return { fingerprint: { mtimeMs, size, hash: "" }, complete: false };
  }
  window.finish();
  return { fingerprint: { mtimeMs, size, hash: hash?.digest("base64") ?? "" }, complete: true };
}

function describeLines(resolved: ResolvedPath, shown: { first: number; window: LineWindow; total: number | undefined }): ToolOutput {
  const { first, window, total } = shown;
  const last = first + window.lines.length - 1;
  const output = { path: resolved.shown, firstLine: first, lastLine: last, ...omitUndefined({ totalLines: total }), text: textOf(window) };
  if (total === 0) return textOutput("(the file is empty)", output);
  const lines = [...window.lines, ...(window.hasOtherBytes ? [OTHER_BYTES_NOTE] : [])].join("\n");
  if (first === 1 && last === total) return textOutput(lines, output);
  const range = `lines ${first}–${last} of ${total ?? "a file over 10 MiB"}`;
  const reason = window.stoppedAt === undefined ? "" : "; stopped at 200 kB";
  const next = last === total ? "" : `; ${continuationHint(window, last)}`;
  return textOutput(`${lines}\n(${range}${reason}${next})`, output);
}

function continuationHint({ overlongLine }: LineWindow, last: number): string {
  if (overlongLine !== last) return `continue with offset ${last + 1}`;
  return `line ${last} is longer than ${MAX_LINE_MIB} MiB, and what follows it cannot be read. ${AFTER_LONG_LINE}`;
}

/** Returns the id of the call that showed the same part of the same file, if such references are enabled. */
function findEarlierRead({ options, context, input }: ReadRequest, resolved: ResolvedPath, now: Fingerprint): string | undefined {
  return options.unchangedReads ? findShowingCall(context, resolved.real, now, viewKey(input)) : undefined;
}

function viewKey(input: ReadInput): string {
  return `${input.offset ?? 1}:${input.limit ?? ""}`;
}

/** Returns the lines without their numbers: programs and chains are given the output, not the content. */
function textOf(window: LineWindow): string {
  return window.lines.map((line) => line.slice(line.indexOf("\t") + 1)).join("\n");
}

/** @param text what programs and chains are given again: they are not shown the earlier result */
function unchangedOutput(resolved: ResolvedPath, sameAs: string, text?: string): ToolOutput {
  const line = `(${pathLine(resolved.shown)} is unchanged since you read this part of it; see the earlier result)`;
  const output = { path: resolved.shown, unchanged: true, ...omitUndefined({ text }) };
  return new ToolOutput({ content: [{ type: "text", text: line }], output, sameAs });
}

function textOutput(text: string, output: unknown): ToolOutput {
  return new ToolOutput({ content: [{ type: "text", text }], output });
}
