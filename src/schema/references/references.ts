import { unescapePointerStep } from "../../core/base/json-pointer.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { addTo } from "../../core/base/add-to.ts";
import { DEFAULT_URI, absoluteUri } from "./reference-uri.ts";

const MAX_LENGTH = 1_024;

/** Resolves the references of one schema document: `#`, JSON pointers, anchors and `$id`s, and nothing outside of it. */
export class References {
  readonly #root: JsonObject;
  readonly #resolved = new Map<string, JsonValue | undefined>();
  #schemaByName: ReadonlyMap<string, JsonObject> | undefined;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  /** Returns the schema that a reference refers to; undefined if there is none. */
  resolve(reference: string): JsonValue | undefined {
    if (!this.#resolved.has(reference)) this.#resolved.set(reference, this.#resolveUncached(reference));
    return this.#resolved.get(reference);
  }

  #resolveUncached(reference: string): JsonValue | undefined {
    if (reference.length > MAX_LENGTH) return undefined;
    const at = reference.indexOf("#");
    const address = at < 0 ? reference : reference.slice(0, at);
    const fragment = at < 0 ? "" : decodeFragment(reference.slice(at + 1));
    const { $id: rootAddress } = this.#root;
    const base = (typeof rootAddress === "string" ? absoluteUri(rootAddress, DEFAULT_URI) : undefined) ?? DEFAULT_URI;
    this.#schemaByName ??= indexNames(this.#root, base);
    const document =
      address === "" ? this.#root : (this.#schemaByName.get(address) ?? this.#schemaByName.get(absoluteUri(address, base) ?? ""));
    if (document === undefined || fragment === undefined) return undefined;
    if (fragment === "") return document;
    return fragment.startsWith("/") ? resolvePointer(document, fragment) : this.#schemaByName.get(`#${fragment}`);
  }
}

function decodeFragment(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined; // invalid percent-encoding
  }
}

function resolvePointer(document: JsonObject, pointer: string): JsonValue | undefined {
  let at: JsonValue | undefined = document;
  for (const step of pointer.slice(1).split("/")) {
    if (at === undefined) return undefined;
    const key = unescapePointerStep(step);
    if (isJsonArray(at)) at = /^\d{1,9}$/u.test(key) ? at[Number(key)] : undefined;
    else at = isJsonObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  }
  return at;
}

/** Returns the schemas of a document by `$id`, as written and as resolved against the root, and by `#` with `$anchor` or `$dynamicAnchor`. */
function indexNames(root: JsonObject, base: string): ReadonlyMap<string, JsonObject> {
  const named = new Map<string, JsonObject>();
  const open: JsonValue[] = [root];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (isJsonArray(next)) for (const item of next) open.push(item);
    if (!isJsonObject(next)) continue;
    const { $id: id, $anchor: anchor, $dynamicAnchor: dynamic } = next;
    for (const name of [
      id,
      typeof id === "string" ? absoluteUri(id, base)?.replace(/#$/u, "") : undefined,
      anchor === undefined ? undefined : `#${textOf(anchor)}`,
      dynamic === undefined ? undefined : `#${textOf(dynamic)}`,
    ])
      if (typeof name === "string" && name !== "#" && !named.has(name)) named.set(name, next);
    for (const value of Object.values(next)) open.push(value);
  }
  return named;
}

function textOf(value: JsonValue): string {
  return typeof value === "string" ? value : "";
}

/** Whether the references contain a cycle. @param uses the names that each name refers to */
export function hasCycle(uses: ReadonlyMap<string, ReadonlySet<string>>): boolean {
  const users = new Map<string, string[]>();
  const left = new Map<string, number>();
  for (const [name, used] of uses) {
    left.set(name, used.size);
    for (const one of used) addTo(users, one, name);
  }
  const free = [...left].filter(([, count]) => count === 0).map(([name]) => name);
  let freed = 0;
  for (let next = free.pop(); next !== undefined; next = free.pop()) {
    freed++;
    for (const user of users.get(next) ?? []) {
      const count = (left.get(user) ?? 0) - 1;
      left.set(user, count);
      if (count === 0) free.push(user);
    }
  }
  return freed < uses.size;
}
