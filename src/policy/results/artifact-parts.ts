/** Replaces the files in an answer or a message by addresses, or by their types and sizes only. */
import { artifactOf, artifactUri, type Artifact } from "../../core/artifact.ts";
import { valueText, type ContentPart } from "../../core/content.ts";
import { readDataUri } from "../../core/formats/data-uri.ts";
import type { JsonValue } from "../../core/base/json.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { ErrorInfo } from "../../core/error.ts";
import type { SessionMessage } from "../../core/message.ts";
import { partText } from "../../core/result.ts";
import { mapTexts, mayHaveDataUrls, replaceDataUrls } from "./data-urls.ts";

/** Replaces files one by one and counts them. */
export interface FileReplacer {
  /** Number of files replaced so far. */
  readonly count: number;
  /** Returns the replacement of a file within a text. @param isShown whether the file is also added after the text that the model is shown */
  replaceInText(file: FoundFile, isShown: boolean): string;
  /** Returns the replacement of a file that is a content part. */
  replaceFile(file: FoundFile): ContentPart;
  /** Parts to add after the content, for files that were in texts. */
  readonly addedParts: readonly ContentPart[];
  /** Replaces files in the provider's native form of a message. */
  replaceInNative(text: string): string;
}

interface FoundFile {
  readonly mediaType: string;
  readonly base64: string;
  readonly name?: string | undefined;
}

/** The output and the content of a tool's answer. */
export interface AnswerParts {
  readonly output: JsonValue | undefined;
  readonly content: readonly ContentPart[] | undefined;
}

/** Replaces the files of an answer. Returns undefined if there are none. */
export function replaceInAnswer({ output, content }: AnswerParts, by: FileReplacer): AnswerParts | undefined {
  // a tool with content of its own has decided what the model sees: files in its output are for programs
  const isShown = content === undefined;
  const newOutput = output === undefined ? undefined : mapTexts(output, (text) => replaceTextFiles(text, by, isShown));
  if (content !== undefined) {
    const parts = content.map((part) => replacePart(part, by));
    return by.count === 0 ? undefined : { output: newOutput, content: [...parts, ...by.addedParts] };
  }
  if (by.count === 0) return undefined;
  const { addedParts } = by;
  return { output: newOutput, content: addedParts.length === 0 ? undefined : [textPart(valueText(newOutput)), ...addedParts] };
}

/** Replaces the files of a message. Returns the same message if there are none. */
export function replaceInMessage(message: SessionMessage, by: FileReplacer): SessionMessage {
  const { content, native } = message;
  const parts = typeof content === "string" ? replaceTextFiles(content, by) : content.map((part) => replacePart(part, by));
  if (by.count === 0) return message;
  const { addedParts } = by;
  const whole = typeof parts !== "string" ? [...parts, ...addedParts] : addedParts.length === 0 ? parts : [textPart(parts), ...addedParts];
  const blocks = native?.blocks.map((block) => mapTexts(block, (text) => by.replaceInNative(text)));
  return { ...message, content: whole, ...(native === undefined || blocks === undefined ? {} : { native: { ...native, blocks } }) };
}

function replacePart(part: ContentPart, by: FileReplacer): ContentPart {
  if (part.type === "text") return { ...part, text: replaceTextFiles(part.text, by) };
  const { annotations } = part;
  if (part.type !== "file") {
    const file = by.replaceFile({ mediaType: part.mediaType, base64: part.data });
    return annotations === undefined ? file : keepMark(file, { ...file, annotations });
  }
  const data = readDataUri(part.uri);
  if (data?.base64 === undefined) return part;
  const replaced = by.replaceFile({ mediaType: part.mediaType ?? data.mediaType, base64: data.base64, name: part.name });
  if (replaced.type !== "file") return replaced;
  const { text, title, description } = part;
  return keepMark(replaced, { ...replaced, ...omitUndefined({ text, title, description, annotations }) });
}

/** Returns the part, which has replaced bytes if the one that it was made from has. */
function keepMark(from: ContentPart, made: ContentPart): ContentPart {
  if (hasReplacedBytes(from)) REPLACED_PARTS.add(made);
  return made;
}

function replaceTextFiles(text: string, by: FileReplacer, isShown = true): string {
  return replaceDataUrls(text, ({ mediaType, data, name }) => by.replaceInText({ mediaType, base64: data, name }, isShown));
}

function textPart(text: string): ContentPart {
  return { type: "text", text };
}

/** Minimum length of data that is replaced in native form: shorter data may be part of other texts, and a mark would hardly be shorter. */
const MIN_NATIVE_CHARS = 96;
const NATIVE_MARK = "artifact-data:";
const IN_NATIVE = /artifact-data:([0-9a-f]{64})/gu;

const REPLACED_PARTS = new WeakSet<ContentPart>();

/** Whether the part replaced bytes, in this process: its address then belongs to bytes that the answer itself contained. */
export function hasReplacedBytes(part: ContentPart): boolean {
  return REPLACED_PARTS.has(part);
}

/** Replaces files by their addresses. Each file is one of `artifacts`, which must be stored before anything with its address. */
export class ArtifactAddresses implements FileReplacer {
  count = 0;
  readonly #artifacts = new Map<string, Artifact>();
  readonly #addedParts = new Map<string, ContentPart>();

  get artifacts(): readonly Artifact[] {
    return [...this.#artifacts.values()];
  }

  get addedParts(): readonly ContentPart[] {
    return [...this.#addedParts.values()];
  }

  replaceInText(file: FoundFile, isShown: boolean): string {
    const part = this.replaceFile(file);
    if (isShown) this.#addedParts.set(part.uri, part);
    return part.uri;
  }

  replaceFile({ mediaType, base64, name }: FoundFile): ContentPart & { readonly type: "file" } {
    this.count++;
    const bytes = Buffer.from(base64, "base64");
    const artifact = artifactOf(mediaType, bytes);
    const { id, mediaType: kept } = artifact;
    if (!this.#artifacts.has(id)) this.#artifacts.set(id, artifact);
    const part = {
      type: "file",
      uri: artifactUri(id),
      mediaType: kept,
      bytes: bytes.length,
      ...(name === undefined ? {} : { name }),
    } as const;
    REPLACED_PARTS.add(part);
    return part;
  }

  replaceInNative(text: string): string {
    let marked = text;
    for (const { id, data } of this.#artifacts.values())
      if (data.length >= MIN_NATIVE_CHARS && marked.length >= data.length) marked = marked.replaceAll(data, NATIVE_MARK + id);
    return marked;
  }
}

/** Replaces files by their type and size; the bytes are dropped. */
export class FilePlaceholders implements FileReplacer {
  count = 0;
  readonly addedParts: readonly ContentPart[] = [];

  replaceInText(file: FoundFile): string {
    return this.replaceFile(file).text;
  }

  replaceFile({ mediaType, base64, name }: FoundFile): ContentPart & { readonly type: "text" } {
    this.count++;
    const file = { type: "file", uri: `data:${mediaType};base64,${base64}`, mediaType, ...(name === undefined ? {} : { name }) } as const;
    return { type: "text", text: partText(file) };
  }

  /** Unchanged: the provider needs its own message exactly as it sent it. */
  replaceInNative(text: string): string {
    return text;
  }
}

/** Returns a text for a model in which the type and size of each file replace its data URL; the same text if it has none. */
export function mentionFiles(text: string): string {
  return replaceTextFiles(text, new FilePlaceholders());
}

/**
 * Returns the error with the type of each file in place of its data URL; the same error if it has none. Sizes are left out: texts of errors are cut,
 * so the data may be incomplete.
 */
export function mentionErrorFiles(error: ErrorInfo): ErrorInfo {
  const { message, hint, details } = error;
  const texts = [message, hint ?? "", ...(details ?? [])];
  if (!texts.some(mayHaveDataUrls)) return error;
  return {
    ...error,
    message: mentionFileTypes(message),
    ...(hint === undefined ? {} : { hint: mentionFileTypes(hint) }),
    ...(details === undefined ? {} : { details: Object.freeze(details.map(mentionFileTypes)) }),
  };
}

function mentionFileTypes(text: string): string {
  return replaceDataUrls(text, ({ mediaType }) => `[file ${mediaType}]`);
}

/** Returns the ids of the artifacts in a text of a provider's native form. */
export function findNativeArtifactIds(text: string): readonly string[] {
  return text.includes(NATIVE_MARK) ? Array.from(text.matchAll(IN_NATIVE), ([, id = ""]) => id) : [];
}

/** Returns the text as the provider sent it. @param dataOf returns an artifact's base64; undefined if it is unknown */
export function restoreNativeData(text: string, dataOf: (id: string) => string | undefined): string {
  return text.includes(NATIVE_MARK) ? text.replaceAll(IN_NATIVE, (mark, id: string) => dataOf(id) ?? mark) : text;
}
