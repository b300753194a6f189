/** Lists the operations of a document, and names each. */
import { pushAll } from "../../core/collections/push-all.ts";
import { describeThrown } from "../../core/error.ts";
import { ownString, ownStrings, type LocatedObject, type OpenApiDocument } from "./document.ts";
import type { FilterableOperation } from "./operation-filter.ts";
import { readExtension, type ToolExtension } from "./tool-extension.ts";
import { ROOT, childPlace, quote } from "./warnings.ts";
import { hash } from "node:crypto";

/** An operation of the document. Its name is unique there. */
export interface ListedOperation extends FilterableOperation {
  /** The path item. */
  readonly item: LocatedObject;
  readonly operation: LocatedObject;
  readonly extension: ToolExtension;
}

const METHODS: ReadonlySet<string> = new Set(["get", "put", "post", "delete", "options", "head", "patch", "trace"]);
const MAX_OPERATIONS = 50_000;
const MAX_TAGS = 20;

/** Lists the operations; yields after each path. @param isTrusted whether `x-haft` may reduce caution */
export function* listOperations(document: OpenApiDocument, isTrusted: boolean): Generator<undefined, readonly ListedOperation[]> {
  const found: ListedOperation[] = [];
  for (const { key, value, place } of document.readMembers({ value: document.root, place: ROOT }, "paths")) {
    const item = document.readObject(value, place, "a path");
    try {
      if (item !== undefined) pushAll(found, operationsOf(document, key, item, isTrusted));
    } catch (error: unknown) {
      document.warnings.add(place, `the path cannot be read and is left out: ${describeThrown(error)}`);
    }
    yield;
  }
  if (found.length > MAX_OPERATIONS) {
    document.warnings.add(childPlace(ROOT, "paths"), `there are ${found.length} operations; those after ${MAX_OPERATIONS} are left out.`);
  }
  return withDistinctNames(document, found.slice(0, MAX_OPERATIONS));
}

function operationsOf(document: OpenApiDocument, path: string, item: LocatedObject, isTrusted: boolean): readonly ListedOperation[] {
  document.countReads(1);
  const entries = Object.entries(item.value);
  document.countReads(entries.length);
  return entries.flatMap(([key, declared]) => {
    if (!METHODS.has(key)) return [];
    const operation = document.readObject(declared, childPlace(item.place, key), "an operation");
    if (operation === undefined) return [];
    if (!path.startsWith("/")) document.warnings.add(item.place, `the path ${quote(path)} does not begin with a slash; one is added.`);
    const operationId = ownString(operation.value, "operationId");
    const extension = readExtension(document, [{ value: document.root, place: ROOT }, item, operation], isTrusted);
    const named = { method: key.toUpperCase(), path: path.startsWith("/") ? path : `/${path}`, operationId };
    const tags = [...new Set(ownStrings(operation.value, "tags"))].filter((tag) => tag.length <= 200).slice(0, MAX_TAGS);
    return [{ ...named, tags, item, operation, extension, name: extension.name ?? operationName(named) }];
  });
}

/** Renames operations that share a name after method and path, whatever their order. One whose id is the name keeps it, as rules may name it. */
function withDistinctNames(document: OpenApiDocument, operations: readonly ListedOperation[]): readonly ListedOperation[] {
  const sharing = Map.groupBy(operations, ({ name }) => name);
  const kept = new Map([...sharing].map(([name, same]) => [name, findNameOwner(name, same)]));
  const names = new Set([...kept].filter(([, keeper]) => keeper !== undefined).map(([name]) => name));
  return operations.flatMap((operation) => {
    if (kept.get(operation.name) === operation) return [operation];
    const name = withHashSuffix(operation.name, `${operation.method} ${operation.path}`);
    if (names.has(name)) {
      document.warnings.add(operation.operation.place, `the name ${name} is also taken; the operation is left out.`);
      return [];
    }
    names.add(name);
    document.warnings.add(operation.operation.place, `several operations are called ${quote(operation.name)}; this one is called ${name}.`);
    return [{ ...operation, name }];
  });
}

/** The operation that keeps a name: the only one, or the only one with this id or `x-haft` name. */
function findNameOwner(name: string, same: readonly ListedOperation[]): ListedOperation | undefined {
  if (same.length === 1) return same[0];
  const called = same.filter(({ operationId, extension }) => (extension.name ?? operationId) === name);
  return called.length === 1 ? called[0] : undefined;
}

/** `method` is in upper case. */
type NamedBy = Pick<FilterableOperation, "method" | "path" | "operationId">;

const MAX_LENGTH = 64;
const ALLOWED = /^[A-Za-z0-9_-]{1,64}$/u;
const HASH_SUFFIX = /_[0-9a-f]{8}$/u;
const HASH_SUFFIX_LENGTH = 9;
/** Separators in ids and paths. Consecutive ones become a single underscore. */
const SEPARATORS = /[/.: ]+/gu;

/**
 * The name of an operation's tool, `[A-Za-z0-9_-]{1,64}`. It depends only on the operation, not on the rest of the document.
 *
 * `repos/get-content` becomes `repos_get-content`, `chat.post` becomes `chat_post`, and an operation without an id is named after method and path:
 * `GET /pets/{id}` is `get_pets_by_id`. A name with other characters or more than 64 is adapted and ends with `_` and 8 digits of a hash of the
 * original. Operations with the same name are distinguished by method and path; the original is kept in the tool's metadata.
 */
export function operationName({ method, path, operationId }: NamedBy): string {
  if (operationId !== undefined && operationId !== "") return sanitizeName(operationId, operationId);
  const slug = path.replace(/^\//u, "").replaceAll(/\{([^{}]*)\}/gu, "by_$1");
  return sanitizeName(`${method.toLowerCase()}_${slug}`, `${method} ${path}`);
}

function sanitizeName(text: string, original: string): string {
  const name = text.slice(0, 4 * MAX_LENGTH).replaceAll(SEPARATORS, "_");
  return ALLOWED.test(name) && !HASH_SUFFIX.test(name) ? name : withHashSuffix(name, original);
}

function withHashSuffix(base: string, original: string): string {
  const fit = base.replaceAll(/[^A-Za-z0-9_-]+/gu, "_").slice(0, MAX_LENGTH - HASH_SUFFIX_LENGTH);
  return `${fit}_${hash("sha256", JSON.stringify(original)).slice(0, 8)}`;
}
