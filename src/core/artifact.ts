/** Files in answers of tools and models, stored by content outside the log, which only has a short address for each. */
import { checkArgument, checkString } from "./check-argument.ts";
import { hash } from "node:crypto";

/** The bytes of a file, as base64, and their media type. */
export interface Artifact {
  /** The SHA-256 of the bytes, in hexadecimal. */
  readonly id: string;
  readonly mediaType: string;
  readonly data: string;
}

/**
 * Stores artifacts by content: the same bytes are stored once, for all sessions.
 *
 * Every implementation passes `artifactStoreContract` of `haft/testing`.
 */
export interface ArtifactStore {
  /**
   * Stores an artifact; resolves once durable. If it exists, only its time of storage is updated. @param at wall-clock milliseconds since the epoch
   */
  put(request: { readonly artifact: Artifact; readonly at: number }): Promise<void>;
  /** Returns an artifact; undefined if there is none. @throws ToolError `corrupt_record` if the stored bytes do not match the id, as a rejection */
  get(id: string): Promise<Artifact | undefined>;
  /** Removes artifacts last stored before a time. Resolves to their number. Logs that refer to them are not changed. */
  prune(request: { readonly before: number }): Promise<number>;
}

const SCHEME = "artifact:";
const ADDRESS = /^artifact:([0-9a-f]{64})$/u;

const MEDIA_TYPE = /^[\x20-\x7e]{1,255}$/u;

/** Returns the media type if every store can keep it and every header can hold it, else `application/octet-stream`. */
export function toStorableMediaType(mediaType: string): string {
  return MEDIA_TYPE.test(mediaType) ? mediaType : "application/octet-stream";
}

/** Creates the artifact for some bytes. */
export function artifactOf(mediaType: string, bytes: Uint8Array): Artifact {
  checkString(mediaType, "artifactOf(mediaType, bytes)", "a media type");
  checkArgument(ArrayBuffer.isView(bytes), "artifactOf(mediaType, bytes)", "bytes", bytes, 'Of a text: Buffer.from(text, "utf8").');
  return {
    id: hash("sha256", bytes),
    mediaType: toStorableMediaType(mediaType),
    data: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64"),
  };
}

/** Returns the address that replaces the bytes: `artifact:` and the id. */
export function artifactUri(id: string): string {
  checkString(id, "artifactUri()", "the id of an artifact");
  return `${SCHEME}${id}`;
}

/** Returns the id in an artifact's address; undefined for any other text. */
export function artifactId(uri: string): string | undefined {
  return typeof uri === "string" ? ADDRESS.exec(uri)?.[1] : undefined;
}
