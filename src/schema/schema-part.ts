/** Checks a value against a part of a schema, whose references still resolve within the whole document. */
import { getOwn } from "../core/base/get-own.ts";
import { type JsonObject, type JsonValue, isJsonObject } from "../core/base/json.ts";
import { compileSchema, type CompileOptions, type Validator } from "./compile-schema.ts";
import { DEFAULT_URI } from "./references/reference-uri.ts";
import { escapePointerStep } from "../core/base/json-pointer.ts";
import { getOrAdd } from "../core/base/get-or-add.ts";

/** Maximum number of subschemas that are compiled a second time, as parts, for one schema: about 200 ms in the worst case, once. */
const MAX_PART_SCHEMAS = 100_000;
const EMPTY: JsonObject = Object.freeze({});

/** The parts of one schema document, each compiled on first use. */
export class SchemaParts {
  readonly #root: JsonValue;
  readonly #validators = new Map<number, Map<JsonObject, Validator | undefined>>();
  #pointerIndex: PointerIndex | undefined;
  #schemasLeft = MAX_PART_SCHEMAS;

  constructor(root: JsonValue) {
    this.#root = root;
  }

  /** True if the value matches this part of the schema; false also if the part cannot be checked on its own, or not within `maxSteps`. */
  matches(schema: JsonValue, value: JsonValue, maxSteps: number): boolean {
    if (typeof schema === "boolean") return schema;
    if (!isJsonObject(schema)) return false;
    const parts = getOrAdd(this.#validators, maxSteps, () => new Map());
    if (!parts.has(schema)) parts.set(schema, this.#compile(schema, { maxSteps }));
    return parts.get(schema)?.check(value) ?? false;
  }

  /** Compiles a part whose references still resolve within the whole document. */
  #compile(part: JsonObject, options: CompileOptions): Validator | undefined {
    if (!isJsonObject(this.#root)) return undefined;
    this.#pointerIndex ??= indexPointers(this.#root);
    const dialect = getOwn(this.#root, "$schema");
    const head = dialect === undefined ? EMPTY : { $schema: dialect };
    try {
      const { pointers, hasReferences } = this.#pointerIndex;
      this.#schemasLeft -= hasReferences ? pointers.size : indexPointers(part).pointers.size;
      if (this.#schemasLeft < 0) return undefined;
      if (!hasReferences) return compileSchema({ ...head, allOf: [part] }, options);
      const pointer = pointers.get(part);
      if (pointer === undefined) return undefined;
      const id = getOwn(this.#root, "$id");
      const base = typeof id === "string" ? id : `${DEFAULT_URI}document`;
      const definitions = dialect === undefined || String(dialect).includes("2020") ? "$defs" : "definitions";
      const document = { ...this.#root, $id: base };
      return compileSchema({ ...head, allOf: [{ $ref: `${base}#${pointer}` }], [definitions]: { document } }, options);
    } catch {
      return undefined; // a part that cannot be checked alone is left unrepaired
    }
  }
}

interface PointerIndex {
  /** JSON pointers, percent-encoded. */
  readonly pointers: ReadonlyMap<JsonObject, string>;
  readonly hasReferences: boolean;
}

function indexPointers(root: JsonObject): PointerIndex {
  const pointers = new Map<JsonObject, string>([[root, ""]]);
  let hasReferences = false;
  const open: (readonly [value: JsonValue, pointer: string])[] = [[root, ""]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [value, pointer] = next;
    if (typeof value !== "object" || value === null) continue;
    for (const [key, child] of Object.entries(value)) {
      if (key === "$ref" || key === "$dynamicRef") hasReferences = true;
      const childPointer = `${pointer}/${encodeURIComponent(escapePointerStep(key.toWellFormed()))}`;
      if (isJsonObject(child)) pointers.set(child, childPointer);
      open.push([child, childPointer]);
    }
  }
  return { pointers, hasReferences };
}

/** Returns the maximum number of steps for a value of this many nodes; few distinct numbers, so that parts are rarely recompiled. */
export function stepLimitFor(nodes: number): number {
  let steps = 1_024;
  while (steps < 50 * nodes) steps *= 4;
  return steps;
}

/** Counts the values of a tree; stops counting above `limit`. */
export function countNodes(value: JsonValue, limit: number): number {
  let count = 0;
  const open: JsonValue[] = [value];
  for (let next = open.pop(); next !== undefined && count <= limit; next = open.pop()) {
    count++;
    if (typeof next !== "object" || next === null) continue;
    const children: readonly JsonValue[] = Object.values(next);
    if (count + children.length > limit) return limit + 1;
    for (const child of children) open.push(child);
  }
  return count;
}
