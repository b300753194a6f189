/** Names of tools: made of one operation alone. */
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
/** What ids and paths are divided by; one line stands in a name for all that come together. */
const SEPARATORS = /[/.: ]+/gu;

/**
 * The name of an operation's tool, `[A-Za-z0-9_-]{1,64}`: a pure function of the operation, whatever else is in its document.
 *
 * `repos/get-content` is `repos_get-content`, `chat.post` is `chat_post`, and an operation without an id is named after method and path:
 * `GET /pets/{id}` is `get_pets_by_id`. A name with other characters or more than 64 is made fit and ends with `_` and 8 digits of a hash
 * of the original. Operations that come to the same name are told apart by `distinctName`; the original is kept in the tool's metadata.
 */
export function operationName({ method, path, operationId }: NamedBy): string {
  if (operationId !== undefined && operationId !== "") return plainName(operationId, operationId);
  const slug = path.replace(/^\//u, "").replaceAll(/\{([^{}]*)\}/gu, "by_$1");
  return plainName(`${method.toLowerCase()}_${slug}`, `${method} ${path}`);
}

/** For operations that share a name: told apart by method and path. */
export function distinctName(name: string, operation: NamedBy): string {
  return marked(name, `${operation.method} ${operation.path}`);
}

function plainName(text: string, original: string): string {
  const name = text.slice(0, 4 * MAX_LENGTH).replaceAll(SEPARATORS, "_");
  return ALLOWED.test(name) && !MARK.test(name) ? name : marked(name, original);
}

function marked(base: string, original: string): string {
  const fit = base.replaceAll(/[^A-Za-z0-9_-]+/gu, "_").slice(0, MAX_LENGTH - MARK_LENGTH);
  return `${fit}_${hash("sha256", JSON.stringify(original)).slice(0, 8)}`;
}
