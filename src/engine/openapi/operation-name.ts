/** Names of tools: made of one operation alone, and the way back from them. */
import { hash } from "node:crypto";

export interface NamedBy {
  /** Upper case. */
  readonly method: string;
  readonly path: string;
  readonly operationId: string | undefined;
}

const MAX_LENGTH = 64;
const ALLOWED = /^[A-Za-z0-9_-]{1,64}$/u;
const MARK = /_[0-9a-f]{8}$/u;
const MARK_LENGTH = 9;

/**
 * The name of an operation's tool, `[A-Za-z0-9_-]{1,64}`: a pure function of the operation, whatever else is in its document.
 *
 * `repos/get-content` is `repos--get-content`, `chat.post` is `chat-_post`, and an operation without an id is named after method and path:
 * `GET /pets/{id}` is `get_pets--by-id`. A name that this would not lead back from (other characters, more than 64, a `--` of its own)
 * is made fit and ends with `_` and 8 digits of a hash of the original.
 */
export function operationName(operation: NamedBy): string {
  const { operationId } = operation;
  if (operationId !== undefined && operationId !== "") return plainName(encodeId(operationId), operationId, decodeId);
  const original = `${operation.method} ${operation.path}`;
  return plainName(encodePath(operation), original, decodePath);
}

/** For operations that share a name, which only equal ids do: told apart by method and path. */
export function distinctName(name: string, operation: NamedBy): string {
  return marked(name, `${operation.method} ${operation.path}`);
}

function plainName(encoded: string, original: string, decode: (name: string) => string): string {
  if (ALLOWED.test(encoded) && !MARK.test(encoded) && decode(encoded) === original) return encoded;
  return marked(encoded.slice(0, 4 * MAX_LENGTH), original);
}

function marked(base: string, original: string): string {
  const fit = base.replaceAll(/[^A-Za-z0-9_-]+/gu, "_").slice(0, MAX_LENGTH - MARK_LENGTH);
  return `${fit}_${hash("sha256", JSON.stringify(original)).slice(0, 8)}`;
}

function encodeId(id: string): string {
  return id.replaceAll("/", "--").replaceAll(".", "-_");
}

function decodeId(name: string): string {
  return name.replaceAll("--", "/").replaceAll("-_", ".");
}

function encodePath({ method, path }: NamedBy): string {
  const slug = path.replace(/^\//u, "").replaceAll(/\{([^{}]*)\}/gu, "by-$1");
  return `${method.toLowerCase()}_${encodeId(slug)}`;
}

function decodePath(name: string): string {
  const at = name.indexOf("_");
  const segments = decodeId(name.slice(at + 1)).split("/");
  const path = segments.map((segment) => (segment.startsWith("by-") ? `{${segment.slice("by-".length)}}` : segment)).join("/");
  return `${name.slice(0, at).toUpperCase()} /${path}`;
}
