/** A frozen copy as of `copyJson`, for values that mostly consist of parts of earlier copies. */
import type { JsonLimits } from "./json-limits.ts";
import { copyJson, DEFAULT_MAX_CHARS, DEFAULT_MAX_DEPTH, DEFAULT_MAX_NODES, type JsonValue } from "./json.ts";

/**
 * Copies a value like `copyJson(value).value`, and shares parts of earlier copies by this function: an array or object of such a copy is reused
 * without walking it again, so a large value with one changed path costs only that path.
 *
 * The result is deeply frozen. A shared part counts towards the limits with its whole content, so the limits apply to the whole tree. Values frozen
 * elsewhere are copied: they may have getters, or parts that are not frozen.
 *
 * @throws ToolError `not_json` or `too_large`, as `copyJson`
 */
export function shareJson(value: unknown, limits: JsonLimits = NO_LIMITS): JsonValue {
  const copied = new SharingCopy(limits).copyRoot(value);
  return copied === NEEDS_SLOW_COPY ? copyJson(value, limits).value : copied;
}

const NO_LIMITS: JsonLimits = Object.freeze({});
const NEEDS_SLOW_COPY = Symbol("unusual");

/** The size of a container, itself included, which counts towards the limits where it is shared. */
interface SharedSize {
  readonly depth: number;
  readonly nodes: number;
  readonly chars: number;
}

/** Every container created here, inner ones included. They are frozen and only contain each other and primitives, so they cannot change. */
const SHARED_SIZES = new WeakMap<object, SharedSize>();

/** Copies plain JSON and shares earlier copies. Gives up at the first value that needs an error. */
class SharingCopy {
  #depthLeft: number;
  #nodesLeft: number;
  #charsLeft: number;
  /** The smallest `#depthLeft` reached inside the container that is being copied. */
  #deepest = 0;

  constructor(limits: JsonLimits) {
    this.#depthLeft = limits.maxDepth ?? DEFAULT_MAX_DEPTH;
    this.#nodesLeft = limits.maxNodes ?? DEFAULT_MAX_NODES;
    this.#charsLeft = limits.maxChars ?? DEFAULT_MAX_CHARS;
  }

  copyRoot(value: unknown): JsonValue | typeof NEEDS_SLOW_COPY {
    try {
      return this.#copy(value);
    } catch {
      return NEEDS_SLOW_COPY; // a getter, a proxy or a toJSON threw: copyJson reports where
    }
  }

  #copy(value: unknown): JsonValue | typeof NEEDS_SLOW_COPY {
    switch (typeof value) {
      case "string":
        return (this.#charsLeft -= value.length) < 0 ? NEEDS_SLOW_COPY : value;
      case "number":
        return Number.isFinite(value) ? value + 0 : NEEDS_SLOW_COPY; // JSON text has no -0
      case "boolean":
        return value;
      case "object":
        return value === null ? null : this.#copyObject(value);
      default:
        return NEEDS_SLOW_COPY;
    }
  }

  #copyObject(value: object): JsonValue | typeof NEEDS_SLOW_COPY {
    const size = SHARED_SIZES.get(value);
    if (size !== undefined) return this.#countShared(size) ? (value as JsonValue) : NEEDS_SLOW_COPY; // only JSON is created here
    if (isArray(value) || isPlain(value)) return this.#copyContainer(value);
    const limits = { maxDepth: this.#depthLeft, maxNodes: this.#nodesLeft, maxChars: this.#charsLeft };
    return this.#copy(copyJson(value, limits).value);
  }

  #countShared({ depth, nodes, chars }: SharedSize): boolean {
    this.#nodesLeft -= nodes;
    this.#charsLeft -= chars;
    this.#deepest = Math.min(this.#deepest, this.#depthLeft - depth);
    return this.#nodesLeft >= 0 && this.#charsLeft >= 0 && this.#depthLeft >= depth;
  }

  #copyContainer(value: readonly unknown[] | Readonly<Record<string, unknown>>): JsonValue | typeof NEEDS_SLOW_COPY {
    if (this.#depthLeft === 0) return NEEDS_SLOW_COPY;
    const nodes = this.#nodesLeft;
    const chars = this.#charsLeft;
    const deepest = this.#deepest;
    this.#deepest = --this.#depthLeft;
    const copy = isArray(value) ? this.#copyItems(value) : this.#copyMembers(value);
    this.#depthLeft++;
    if (copy === NEEDS_SLOW_COPY) return NEEDS_SLOW_COPY;
    const size = { depth: this.#depthLeft - this.#deepest, nodes: nodes - this.#nodesLeft, chars: chars - this.#charsLeft };
    this.#deepest = Math.min(deepest, this.#deepest);
    SHARED_SIZES.set(copy, size);
    return Object.freeze(copy);
  }

  #copyItems(items: readonly unknown[]): readonly JsonValue[] | typeof NEEDS_SLOW_COPY {
    if ((this.#nodesLeft -= items.length) < 0) return NEEDS_SLOW_COPY;
    const copy: JsonValue[] = [];
    for (let index = 0; index < items.length; index++) {
      const item = this.#copy(items[index] ?? null);
      if (item === NEEDS_SLOW_COPY) return NEEDS_SLOW_COPY;
      copy.push(item);
    }
    return copy;
  }

  #copyMembers(object: Readonly<Record<string, unknown>>): Readonly<Record<string, JsonValue>> | typeof NEEDS_SLOW_COPY {
    const keys = Object.keys(object);
    if ((this.#nodesLeft -= keys.length) < 0) return NEEDS_SLOW_COPY;
    const copy: Record<string, JsonValue> = {};
    for (const key of keys) {
      if ((this.#charsLeft -= key.length) < 0) return NEEDS_SLOW_COPY;
      const member = object[key];
      if (member === undefined || key === "__proto__") continue;
      const item = this.#copy(member);
      if (item === NEEDS_SLOW_COPY) return NEEDS_SLOW_COPY;
      copy[key] = item;
    }
    return copy;
  }
}

function isArray(value: object): value is readonly unknown[] {
  return Array.isArray(value);
}

function isPlain(value: object): value is Readonly<Record<string, unknown>> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
