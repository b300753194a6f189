/** Adds the files that a conversation only refers to, for a model. */
import { checkArgument, hasMethods } from "../core/check-argument.ts";
import { artifactId, type Artifact, type ArtifactStore } from "../core/artifact.ts";
import type { ContentPart } from "../core/content.ts";
import { getContentParts, type ModelMessage, type NativeMessage } from "../core/message.ts";
import { findNativeArtifactIds, restoreNativeData } from "../policy/results/artifact-parts.ts";
import { mapTexts } from "../policy/results/data-urls.ts";
import { imageType, isValidImage } from "../core/formats/image-type.ts";
import { isValidPdf } from "../policy/results/extract-data-urls.ts";
import { MAX_MEDIA_BYTES } from "../policy/results/media-limits.ts";

const SHOWN_MEDIA_TYPES = /^(?:image\/|audio\/|application\/pdf$)/u;

/** The copy of each message with its files, so that a round only pays for new messages. */
const ATTACHED = new WeakMap<ModelMessage, ModelMessage>();

/**
 * Returns the messages with the images, audio and PDF files that they contain as artifacts: each file directly after its name and address, images up
 * to 3.5 MB and others up to 4.5 MB. For a program that calls a model itself. Other artifacts, and those that the store does not have, stay
 * addresses. A message without artifacts stays the same object, and a message attached before is reused.
 *
 * @throws what the store rejects with, as a rejection
 */
export async function attachArtifacts(messages: readonly ModelMessage[], artifacts: ArtifactStore): Promise<readonly ModelMessage[]> {
  checkArgument(Array.isArray(messages), "attachArtifacts(messages, artifacts)", "an array of messages", messages);
  checkArgument(
    hasMethods(artifacts, "get"),
    "attachArtifacts(messages, artifacts)",
    "a store of artifacts",
    artifacts,
    "artifactsOf(session) gives that of a session.",
  );
  for (const message of messages)
    checkArgument(typeof message === "object" && message !== null, "attachArtifacts(messages, artifacts)", "messages", message);
  const attached: ModelMessage[] = [];
  for (const message of messages) attached.push(ATTACHED.get(message) ?? (await attachMessageFiles(message, artifacts)));
  return attached;
}

/**
 * Returns the parts of one answer with the files that `attachArtifacts` would add to its message; the same array if there are none.
 *
 * @param isSelected selects the parts whose files are added. @default all
 */
export async function attachContent(
  content: readonly ContentPart[],
  artifacts: ArtifactStore,
  isSelected: (part: ContentPart) => boolean = () => true,
): Promise<readonly ContentPart[]> {
  const ids = new Set(content.flatMap((part) => (isSelected(part) ? (findShownArtifactId(part) ?? []) : [])));
  if (ids.size === 0) return content;
  const found = await findArtifacts(ids, artifacts);
  return content.flatMap((part) => (isSelected(part) ? withFile(part, found) : [part]));
}

async function attachMessageFiles(message: ModelMessage, store: ArtifactStore): Promise<ModelMessage> {
  const ids = artifactIdsIn(message);
  if (ids.size === 0) {
    ATTACHED.set(message, message);
    return message;
  }
  const found = await findArtifacts(ids, store);
  const whole = withFiles(message, found);
  if (found.size === ids.size) ATTACHED.set(message, whole);
  return whole;
}

async function findArtifacts(ids: ReadonlySet<string>, store: ArtifactStore): Promise<ReadonlyMap<string, Artifact>> {
  const found = new Map<string, Artifact>();
  for (const id of ids) {
    const artifact = await store.get(id);
    if (artifact !== undefined) found.set(id, artifact);
  }
  return found;
}

function artifactIdsIn(message: ModelMessage): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const part of getContentParts(message)) {
    const id = findShownArtifactId(part);
    if (id !== undefined) ids.add(id);
  }
  if (message.role === "assistant")
    for (const block of message.native?.blocks ?? [])
      mapTexts(block, (text) => {
        for (const id of findNativeArtifactIds(text)) ids.add(id);
        return text;
      });
  return ids;
}

/** Returns the id of an artifact that a model can be shown. */
function findShownArtifactId(part: ContentPart): string | undefined {
  if (part.type !== "file" || part.text !== undefined) return undefined;
  const { mediaType = "", bytes = 0 } = part;
  const isTooLarge = bytes > (mediaType.startsWith("image/") ? MAX_MEDIA_BYTES.image : MAX_MEDIA_BYTES.pdf);
  return SHOWN_MEDIA_TYPES.test(mediaType) && !isTooLarge ? artifactId(part.uri) : undefined;
}

function withFiles(message: ModelMessage, found: ReadonlyMap<string, Artifact>): ModelMessage {
  const parts = (content: readonly ContentPart[]): readonly ContentPart[] => content.flatMap((part) => withFile(part, found));
  if (message.role === "call" || message.role === "job") return message;
  if (message.role === "result") {
    const { content } = message.result;
    return content === undefined ? message : { ...message, result: { ...message.result, content: parts(content) } };
  }
  const { content, native, ...rest } = message;
  const own = native === undefined ? undefined : restoreFiles(native, found);
  return { ...rest, content: typeof content === "string" ? content : parts(content), ...(own === undefined ? {} : { native: own }) };
}

/**
 * Restores the files in a provider's form of a message. Undefined if a file no longer exists: a provider rejects its own message with a placeholder
 * in place of an image, but accepts the message without that form.
 */
function restoreFiles(native: NativeMessage, found: ReadonlyMap<string, Artifact>): NativeMessage | undefined {
  let isWhole = true;
  const dataOf = (id: string): string | undefined => {
    const data = found.get(id)?.data;
    isWhole &&= data !== undefined;
    return data;
  };
  const blocks = native.blocks.map((block) => mapTexts(block, (text) => restoreNativeData(text, dataOf)));
  return isWhole ? { ...native, blocks } : undefined;
}

/** Returns the messages for a store whose artifacts cannot be read: provider forms that contained files are removed. */
export function withoutArtifacts(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  return messages.map((message) => ATTACHED.get(message) ?? (artifactIdsIn(message).size === 0 ? message : withFiles(message, new Map())));
}

function withFile(part: ContentPart, found: ReadonlyMap<string, Artifact>): readonly ContentPart[] {
  const artifact = found.get(findShownArtifactId(part) ?? "");
  if (artifact === undefined || part.type !== "file") return [part];
  const { data } = artifact;
  const { mediaType: declaredType = artifact.mediaType } = part;
  const mediaType = declaredType.startsWith("image/") ? (imageType(data) ?? declaredType) : declaredType;
  if (isValidImage(mediaType, data)) return [part, { type: "image", mediaType, data }];
  if (mediaType.startsWith("audio/")) return data === "" ? [part] : [part, { type: "audio", mediaType, data }];
  if (!isValidPdf(mediaType, data)) return [part]; // providers reject every later request with a damaged PDF
  const { uri: _uri, bytes: _bytes, ...named } = part;
  return [part, { ...named, uri: `data:${mediaType};base64,${data}` }];
}
