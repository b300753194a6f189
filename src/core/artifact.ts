/** Files that tools and models answer with, kept by their content apart from the log, which then has a short address for each. */
import { checkArgument, checkText } from "./check-argument.ts";
import { hash } from "node:crypto";

/** The bytes of a file, as base64, and what they are. */
export interface Artifact {
  /** The SHA-256 of the bytes, in hexadecimal. */
  readonly id: string;
  readonly mediaType: string;
  readonly data: string;
}

/**
 * Keeps artifacts by their content: the same bytes are kept once, whichever session they are of.
 *
 * Every implementation passes `artifactStoreContract` of `haft/testing`.
 */
export interface ArtifactStore {
  /** Keeps an artifact; resolves once it is durable. One that is there already stays as it is, and counts as stored now. @param at wall-clock milliseconds since the epoch */
  put(request: { readonly artifact: Artifact; readonly at: number }): Promise<void>;
  /** Undefined for an id that nothing is kept under. @throws ToolError `corrupt_record` where the bytes are not those that were kept. By rejecting */
  get(id: string): Promise<Artifact | undefined>;
  /** Removes what was last stored before a time. Resolves to how many. Logs that have the address keep it. */
  prune(request: { readonly before: number }): Promise<number>;
}

const SCHEME = "artifact:";
const ADDRESS = /^artifact:([0-9a-f]{64})$/u;

const MEDIA_TYPE = /^[\x20-\x7e]{1,255}$/u;

/** A media type that every store can keep and every header can have; for all others `application/octet-stream`. */
export function keptMediaType(mediaType: string): string {
  return MEDIA_TYPE.test(mediaType) ? mediaType : "application/octet-stream";
}

/** The artifact of some bytes. */
export function artifactOf(mediaType: string, bytes: Uint8Array): Artifact {
  checkText(mediaType, "artifactOf(mediaType, bytes)", "a media type");
  checkArgument(ArrayBuffer.isView(bytes), "artifactOf(mediaType, bytes)", "bytes", bytes, 'Of a text: Buffer.from(text, "utf8").');
  return {
    id: hash("sha256", bytes),
    mediaType: keptMediaType(mediaType),
    data: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64"),
  };
}

/** `artifact:` and the id: the address that replaces the bytes. */
export function artifactUri(id: string): string {
  checkText(id, "artifactUri()", "the id of an artifact");
  return `${SCHEME}${id}`;
}

/** The id in an address; undefined for every other text. */
export function artifactId(uri: string): string | undefined {
  return typeof uri === "string" ? ADDRESS.exec(uri)?.[1] : undefined;
}
