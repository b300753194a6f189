/** Marks values so that their origin can be found: each string and number of an answer is replaced by a unique one. */
import { isDeepStrictEqual } from "node:util";
import { isJsonArray, isJsonObject, type JsonValue } from "../../core/base/json.ts";
import { childOf, type JsonStep } from "../../core/base/json-steps.ts";

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
  readonly #differs: boolean;
  readonly #origins = new Map<JsonValue, Origin>();
  readonly #marked = new Map<number, JsonValue>();
  #count = 0;

  /** @param differs whether to use other numbers, negated booleans, and one more item in each array that is not empty */
  constructor(differs: boolean) {
    this.#differs = differs;
  }

  mark(value: JsonValue, step: number): JsonValue {
    const marked = this.#mark(value, { step, path: [] });
    this.#marked.set(step, marked);
    return marked;
  }

  /** Returns the origin of a value, or the value itself if no part of it comes from an answer; undefined if it was combined or computed. */
  sourceOf(value: JsonValue): { readonly value: JsonValue } | Origin | undefined {
    const leaf = this.#firstMark(value, []);
    if (leaf === "computed") return undefined;
    if (leaf === undefined) return { value };
    const { origin, path } = leaf;
    const length = origin.path.length - path.length;
    if (length < 0 || !isDeepStrictEqual(origin.path.slice(length), path)) return undefined;
    const root = origin.path.slice(0, length);
    let found: JsonValue | undefined = this.#marked.get(origin.step);
    for (const step of root) found = found === undefined ? undefined : childOf(found, step);
    return isDeepStrictEqual(found, value) ? { step: origin.step, path: root } : undefined;
  }

  #mark(value: JsonValue, origin: Origin): JsonValue {
    if (typeof value === "boolean") return this.#differs ? !value : value;
    if (value === null) return null;
    if (typeof value === "string") return this.#leaf(MARK, origin);
    if (typeof value === "number") return this.#leaf("", origin);
    const inside = (item: JsonValue, step: JsonStep): JsonValue => this.#mark(item, { step: origin.step, path: [...origin.path, step] });
    if (!isJsonArray(value)) return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, inside(item, key)]));
    const [first] = value;
    return (this.#differs && first !== undefined ? [...value, first] : value).map(inside);
  }

  /** @param mark the prefix of a string; `""` for a number */
  #leaf(mark: string, origin: Origin): JsonValue {
    const number = FIRST_NUMBER + ++this.#count * 1_009 + (this.#differs ? 500 : 0);
    const leaf = mark === "" ? number : `${mark}${number}`;
    this.#origins.set(leaf, origin);
    return leaf;
  }

  #firstMark(
    value: JsonValue,
    path: readonly JsonStep[],
  ): { readonly origin: Origin; readonly path: readonly JsonStep[] } | "computed" | undefined {
    const origin = this.#origins.get(value);
    if (origin !== undefined) return { origin, path };
    if (typeof value === "string") return value.includes(MARK) ? "computed" : undefined;
    if (isJsonArray(value) || isJsonObject(value)) {
      for (const [key, item] of Object.entries(value)) {
        const found = this.#firstMark(item, [...path, isJsonArray(value) ? Number(key) : key]);
        if (found !== undefined) return found;
      }
    }
    return undefined;
  }
}
