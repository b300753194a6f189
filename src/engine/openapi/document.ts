/** Looks up parts of an untrusted OpenAPI document: own properties only, and nothing outside it. */
import { unescapePointerStep } from "../../core/base/json-pointer.ts";
import { getOwn } from "../../core/base/get-own.ts";
import { ToolError } from "../../core/error.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { recognizeForeignDocument } from "../../documents/foreign-document.ts";
import { decodePercent } from "../../schema/references/reference-uri.ts";
import { ROOT, Warnings, childPlace, quote, type Place } from "./warnings.ts";

/** Later versions are read like 3.1. */
export type OpenApiVersion = "2.0" | "3.0" | "3.1";

/** An object of the document, and its place. */
export interface LocatedObject {
  readonly value: JsonObject;
  readonly place: Place;
}

/** A value of the document, and its place. */
export interface LocatedValue {
  readonly value: JsonValue;
  readonly place: Place;
}

export interface LocatedMember extends LocatedValue {
  readonly key: string;
}

const MAX_REFERENCES = 20;
/**
 * Maximum number of members of objects and arrays that are read for all operations together. A small document can cause very much work if many paths
 * refer to one large part. The largest public documents need a quarter of this.
 */
const MAX_READS = 2_000_000;
/** Maximum number of items of a string array that are read. */
const MAX_TEXTS = 1_000;

export class OpenApiDocument {
  readonly root: JsonObject;
  readonly version: OpenApiVersion;
  readonly warnings = new Warnings();
  readonly #targets = new Map<string, LocatedValue | undefined>();
  #readsLeft = MAX_READS;

  /** @throws ToolError `invalid_config` if it is not an OpenAPI document */
  constructor(root: JsonObject, origin: string) {
    this.root = root;
    this.version = versionOf(root, origin);
  }

  /** Counts members that are about to be read. @throws ToolError `too_large` once they are too many for one document */
  countReads(count: number): void {
    this.#readsLeft -= count;
    if (this.#readsLeft < 0) {
      throw new ToolError(
        "too_large",
        `the operations of the document have more than ${MAX_READS} parts in all; those from here on are left out.`,
      );
    }
  }

  /** The target of a reference of the form `#/a/b`, with its place; undefined if it does not exist or is outside the document. */
  resolveReference(reference: string): LocatedValue | undefined {
    if (!this.#targets.has(reference)) this.#targets.set(reference, this.#resolvePointer(reference));
    return this.#targets.get(reference);
  }

  /** Warns that a reference has no target. Nothing is ever fetched. */
  warnMissingTarget(reference: string, from: Place): void {
    const problem = reference.startsWith("#") ? "refers to nothing" : "lies outside of the document and is not fetched";
    this.warnings.add(from, `${quote(reference)} ${problem}; this part is left open.`);
  }

  /** An object, or the target of its `$ref`; undefined, with a warning, for anything else. */
  readObject(value: JsonValue | undefined, place: Place, what: string): LocatedObject | undefined {
    let at = value;
    let where = place;
    for (let count = 0; count < MAX_REFERENCES; count++) {
      if (!isJsonObject(at)) {
        this.warnings.add(where, `${what} must be an object, not ${quote(at)}; it is left out.`);
        return undefined;
      }
      const reference = getOwn(at, "$ref");
      if (typeof reference !== "string") return { value: at, place: where };
      const found = this.resolveReference(reference);
      if (found === undefined) {
        this.warnMissingTarget(reference, where);
        return undefined;
      }
      at = found.value;
      where = found.place;
    }
    this.warnings.add(place, `${what} is a circle of references; it is left out.`);
    return undefined;
  }

  /** The members of an object property, without `x-` extensions. A value of another type is ignored with a warning. */
  readMembers(parent: LocatedObject, key: string): readonly LocatedMember[] {
    const map = getOwn(parent.value, key);
    if (map === undefined) return [];
    if (!isJsonObject(map)) {
      this.warnings.add(childPlace(parent.place, key), `${key} must be an object, not ${quote(map)}; it is left out.`);
      return [];
    }
    const entries = Object.entries(map);
    this.countReads(entries.length);
    return entries
      .filter(([name]) => !name.startsWith("x-"))
      .map(([name, value]) => ({ key: name, value, place: childPlace(parent.place, key, name) }));
  }

  /** The items of an array property. A value of another type is ignored with a warning. */
  readItems(parent: LocatedObject, key: string): readonly LocatedValue[] {
    const list = getOwn(parent.value, key);
    if (list === undefined) return [];
    if (!isJsonArray(list)) {
      this.warnings.add(childPlace(parent.place, key), `${key} must be an array, not ${quote(list)}; it is left out.`);
      return [];
    }
    this.countReads(list.length);
    return list.map((value, index) => ({ value, place: childPlace(parent.place, key, String(index)) }));
  }

  #resolvePointer(reference: string): LocatedValue | undefined {
    if (!reference.startsWith("#/")) return undefined;
    let at: JsonValue = this.root;
    let place = ROOT;
    for (const step of reference.slice(2).split("/")) {
      const key = unescapePointerStep(decodePercent(step));
      if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
      const next: JsonValue | undefined = isJsonArray(at) ? at[Number(key)] : isJsonObject(at) ? at[key] : undefined;
      if (next === undefined) return undefined;
      at = next;
      place = childPlace(place, key);
    }
    return { value: at, place };
  }
}

export function ownString(object: JsonObject, key: string): string | undefined {
  const value = getOwn(object, key);
  return typeof value === "string" ? value : undefined;
}

/** The strings among the first thousand items of an array property. */
export function ownStrings(object: JsonObject, key: string): readonly string[] | undefined {
  const value = getOwn(object, key);
  return isJsonArray(value) ? value.slice(0, MAX_TEXTS).filter((item) => typeof item === "string") : undefined;
}

/** The version of the document. YAML reads `swagger: 2.0` as the number 2. */
function versionOf(root: JsonObject, origin: string): OpenApiVersion {
  if (!isJsonObject(root)) throw notOpenApiError(origin, `it is ${quote(root)}`);
  const openapi = getOwn(root, "openapi");
  const swagger = getOwn(root, "swagger");
  if (openapi === undefined && (swagger === 2 || swagger === "2" || swagger === "2.0")) return "2.0";
  const version = typeof openapi === "number" ? String(openapi) : openapi;
  if (typeof version === "string" && /^3(?:\.|$)/u.test(version)) return /^3(?:\.0|$)/u.test(version) ? "3.0" : "3.1";
  if (openapi !== undefined) throw notOpenApiError(origin, `its "openapi" is ${quote(openapi)}`);
  if (swagger !== undefined) throw notOpenApiError(origin, `its "swagger" is ${quote(swagger)}`);
  const foreign = recognizeForeignDocument(root);
  if (foreign !== undefined) throw notOpenApiError(origin, `it is ${foreign.what}`, foreign.instead);
  const keys = Object.keys(root).slice(0, 10).map(quote);
  throw notOpenApiError(origin, keys.length === 0 ? "it is empty" : `its keys are ${keys.join(", ")}`);
}

const EXPECTED_DOCUMENT = 'Give a document with "openapi": "3.0.x" or "3.1.x", or "swagger": "2.0", and its operations under "paths".';

/** @param instead what would work */
export function notOpenApiError(origin: string, problem: string, instead: string = EXPECTED_DOCUMENT): ToolError {
  return new ToolError("invalid_config", `${quote(origin)} is not an OpenAPI document: ${problem}.`, { operatorHint: instead });
}
