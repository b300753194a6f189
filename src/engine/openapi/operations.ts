/** Finds the operations of a document, and gives each its name. */
import { describeThrown } from "../../core/error.ts";
import { ownText, ownTexts } from "./document.ts";
import type { Found, OpenApiDocument } from "./document.ts";
import { distinctName, operationName } from "./operation-name.ts";
import { readExtension } from "./tool-extension.ts";
import type { ToolExtension } from "./tool-extension.ts";
import { ROOT, below, quote } from "./warnings.ts";

/** An operation as it stands in the document. */
export interface ListedOperation {
  readonly method: string;
  readonly path: string;
  readonly operationId: string | undefined;
  readonly tags: readonly string[];
  /** The path item. */
  readonly item: Found;
  readonly operation: Found;
  readonly extension: ToolExtension;
  /** Unique in the document. */
  readonly name: string;
}

const METHODS: ReadonlySet<string> = new Set(["get", "put", "post", "delete", "options", "head", "patch", "trace"]);
const MAX_OPERATIONS = 50_000;
const MAX_TAGS = 20;

/** Stops after each path. @param isTrusted believe `x-haft` where it takes caution away */
export function* listOperations(document: OpenApiDocument, isTrusted: boolean): Generator<undefined, readonly ListedOperation[]> {
  const found: ListedOperation[] = [];
  for (const { key, value, place } of document.members({ value: document.root, place: ROOT }, "paths")) {
    const item = document.object(value, place, "a path");
    try {
      if (item !== undefined) found.push(...operationsOf(document, key, item, isTrusted));
    } catch (error: unknown) {
      document.warnings.add(place, `the path cannot be read and is left out: ${describeThrown(error)}`);
    }
    yield;
  }
  if (found.length > MAX_OPERATIONS) {
    document.warnings.add(below(ROOT, "paths"), `there are ${found.length} operations; those after ${MAX_OPERATIONS} are left out.`);
  }
  return withDistinctNames(document, found.slice(0, MAX_OPERATIONS));
}

function operationsOf(document: OpenApiDocument, path: string, item: Found, isTrusted: boolean): readonly ListedOperation[] {
  document.look(1);
  const entries = Object.entries(item.value);
  document.look(entries.length);
  return entries.flatMap(([key, declared]) => {
    if (!METHODS.has(key)) return [];
    const operation = document.object(declared, below(item.place, key), "an operation");
    if (operation === undefined) return [];
    if (!path.startsWith("/"))
      document.warnings.add(item.place, `a path begins with a slash, which ${quote(path)} lacks; one is put before it.`);
    const operationId = ownText(operation.value, "operationId");
    const extension = readExtension(document, [{ value: document.root, place: ROOT }, item, operation], isTrusted);
    const named = { method: key.toUpperCase(), path: path.startsWith("/") ? path : `/${path}`, operationId };
    const tags = [...new Set(ownTexts(operation.value, "tags"))].filter((tag) => tag.length <= 200).slice(0, MAX_TAGS);
    return [{ ...named, tags, item, operation, extension, name: extension.name ?? operationName(named) }];
  });
}

/**
 * Operations of one name are all named after method and path, so that none depends on which comes first. One whose id is the name itself
 * keeps it: another operation cannot take it out of a rule that names it.
 */
function withDistinctNames(document: OpenApiDocument, operations: readonly ListedOperation[]): readonly ListedOperation[] {
  const sharing = Map.groupBy(operations, ({ name }) => name);
  const kept = new Map([...sharing].map(([name, same]) => [name, keeperOf(name, same)]));
  const names = new Set([...kept].filter(([, keeper]) => keeper !== undefined).map(([name]) => name));
  return operations.flatMap((operation) => {
    if (kept.get(operation.name) === operation) return [operation];
    const name = distinctName(operation.name, operation);
    if (names.has(name)) {
      document.warnings.add(operation.operation.place, `the name ${name} is taken as well; the operation is left out.`);
      return [];
    }
    names.add(name);
    document.warnings.add(operation.operation.place, `several operations are called ${quote(operation.name)}; this one is called ${name}.`);
    return [{ ...operation, name }];
  });
}

/** The operation that keeps a name: the only one, or the only one that the document or the program calls so. */
function keeperOf(name: string, same: readonly ListedOperation[]): ListedOperation | undefined {
  if (same.length === 1) return same[0];
  const called = same.filter(({ operationId, extension }) => (extension.name ?? operationId) === name);
  return called.length === 1 ? called[0] : undefined;
}
