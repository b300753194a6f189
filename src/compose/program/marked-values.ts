/** Marks values so that their origin can be found: each string and number of an answer is replaced by a unique one. */
import { isDeepStrictEqual } from "node:util";
import { isJsonArray, isJsonObject, type JsonValue } from "../../core/base/json.ts";
import { getChild, type JsonStep } from "../../core/base/json-steps.ts";

/** A place in an answer. */
export interface Origin {
  /** The number of the call that answered, from 1; 0 for the input. */
  readonly step: number;
  readonly path: readonly JsonStep[];
}

/** The start of each replaced string. Programs do not contain it. */
const MARK = "\u0001haft\u0001";
const FIRST_NUMBER = 4_611_000_000_000;

export class MarkedValues {
  readonly #usesOtherValues: boolean;
  readonly #origins = new Map<JsonValue, Origin>();
  readonly #markedRoots = new Map<number, JsonValue>();
  #count = 0;

  /** @param differs whether to use other numbers, negated booleans, and one more item in each array that is not empty */
  constructor(differs: boolean) {
    this.#usesOtherValues = differs;
  }

  mark(value: JsonValue, step: number): JsonValue {
    const marked = this.#mark(value, { step, path: [] });
    this.#markedRoots.set(step, marked);
    return marked;
  }

  /** Returns the origin of a value, or the value itself if no part of it comes from an answer; undefined if it was combined or computed. */
  findSource(value: JsonValue): { readonly value: JsonValue } | Origin | undefined {
    const leaf = this.#findFirstMark(value, []);
    if (leaf === "computed") return undefined;
    if (leaf === undefined) return { value };
    const { origin, path } = leaf;
    const length = origin.path.length - path.length;
    if (length < 0 || !isDeepStrictEqual(origin.path.slice(length), path)) return undefined;
    const root = origin.path.slice(0, length);
    let found: JsonValue | undefined = this.#markedRoots.get(origin.step);
    for (const step of root) found = found === undefined ? undefined : getChild(found, step);
    return isDeepStrictEqual(found, value) ? { step: origin.step, path: root } : undefined;
  }

  #mark(value: JsonValue, origin: Origin): JsonValue {
    if (typeof value === "boolean") return this.#usesOtherValues ? !value : value;
    if (value === null) return null;
    if (typeof value === "string") return this.#createMarker(MARK, origin);
    if (typeof value === "number") return this.#createMarker("", origin);
    const markChild = (item: JsonValue, step: JsonStep): JsonValue => this.#mark(item, { step: origin.step, path: [...origin.path, step] });
    if (!isJsonArray(value)) return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, markChild(item, key)]));
    const [first] = value;
    return (this.#usesOtherValues && first !== undefined ? [...value, first] : value).map(markChild);
  }

  /** @param mark the prefix of a string; `""` for a number */
  #createMarker(mark: string, origin: Origin): JsonValue {
    const number = FIRST_NUMBER + ++this.#count * 1_009 + (this.#usesOtherValues ? 500 : 0);
    const leaf = mark === "" ? number : `${mark}${number}`;
    this.#origins.set(leaf, origin);
    return leaf;
  }

  #findFirstMark(
    value: JsonValue,
    path: readonly JsonStep[],
  ): { readonly origin: Origin; readonly path: readonly JsonStep[] } | "computed" | undefined {
    const origin = this.#origins.get(value);
    if (origin !== undefined) return { origin, path };
    if (typeof value === "string") return value.includes(MARK) ? "computed" : undefined;
    if (isJsonArray(value) || isJsonObject(value)) {
      for (const [key, item] of Object.entries(value)) {
        const found = this.#findFirstMark(item, [...path, isJsonArray(value) ? Number(key) : key]);
        if (found !== undefined) return found;
      }
    }
    return undefined;
  }
}
