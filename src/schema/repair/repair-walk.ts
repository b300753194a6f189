/** Walks over a value and its schema once, and repairs a model's mistakes without changing the meaning. */
import { pushAll } from "../../core/collections/push-all.ts";
import { type JsonObject, type JsonValue, DEFAULT_MAX_DEPTH, isJsonArray, isJsonObject, formatJsonPath } from "../../core/base/json.ts";
import type { Repair } from "../../core/result.ts";
import { coerceText, jsonTypeOf, findSimilarMember } from "./coerce.ts";
import { copyJsonText, explainInvalidJson, fixJsonText } from "./fix-json-text.ts";
import { MAX_DAMAGED_CHARS } from "../json-text/damaged-text.ts";
import { PatternBudget } from "../pattern/pattern.ts";
import { countNodes, stepLimitFor } from "../schema-part.ts";
import { showValue } from "../schema-problem.ts";
import type { SchemaShape, SchemaShapes } from "../schema-shape.ts";

export interface WalkOptions {
  readonly dropUnknownKeys: boolean;
  readonly coerce: boolean;
  readonly allowGuesses: boolean;
}

/** Largest value that is repaired, in values of its tree; a larger one must be valid as it is. */
const MAX_NODES = 20_000;
/** Maximum number of steps of one walk; a visited value is one, and so are twenty steps of the validator. About 200 ms in the worst case. */
const MAX_STEPS = 100_000;
/** Maximum number of steps for finding a union member that drops fewer keys than the first one that the value can be repaired to. */
const MAX_SEARCH_STEPS = 50_000;
const VALIDATOR_STEPS = 20;
const PROTO_NOTE = "left out: a key __proto__ could reach a prototype";
const UNKNOWN_KEY = "the schema has no such key";
const HAS_BRACKET = /[{[(]/u;
/** Maximum length of text that is read as JSON in one walk, in UTF-16 units. */
const MAX_TEXT = 1024 * 1024;

/**
 * Repairs one input. The result is a proposal: only the validator decides whether it is valid.
 *
 * Limited by its budget, not by the input: once it is used up, the rest is left unchanged.
 */
export class RepairWalk {
  readonly repairs: Repair[] = [];
  /** Why a text that looks like JSON was not accepted, by `$` path. */
  readonly rejectedTexts = new Map<string, string>();
  readonly #shapes: SchemaShapes;
  readonly #options: WalkOptions;
  readonly #steps: (string | number)[] = [];
  readonly #patterns = new PatternBudget();
  #stepsLeft = MAX_STEPS;
  #searchLeft = MAX_SEARCH_STEPS;
  #textLeft = MAX_TEXT;
  #fixableLeft = MAX_DAMAGED_CHARS;

  constructor(shapes: SchemaShapes, options: WalkOptions) {
    this.#shapes = shapes;
    this.#options = options;
  }

  /** Reads an input that is JSON text, but only once: text inside the text stays text. */
  parseInputText(input: JsonValue): JsonValue {
    const read = typeof input === "string" && this.#options.coerce ? this.#parseText(input, ["object"]) : undefined;
    return read ?? input;
  }

  /** Returns a frozen repaired copy, or the same value if there is nothing to repair. */
  repairValue(input: JsonValue): JsonValue {
    return countNodes(input, MAX_NODES) > MAX_NODES ? input : this.#repair(this.#shapes.root, input);
  }

  #repair(schema: JsonValue | undefined, value: JsonValue): JsonValue {
    const shape = this.#shapes.shapeOf(schema);
    if (shape === undefined || --this.#stepsLeft < 0 || this.#steps.length >= DEFAULT_MAX_DEPTH) return value;
    let repaired = typeof value === "string" && this.#options.coerce ? this.#repairText(shape, value) : value;
    if (isJsonArray(repaired)) repaired = this.#repairArray(shape, repaired);
    else if (isJsonObject(repaired)) repaired = this.#repairObject(shape, repaired);
    for (const members of shape.unions) repaired = this.#repairUnion(members, repaired);
    return repaired;
  }

  #repairText(shape: SchemaShape, text: string): JsonValue {
    const { types, members } = shape;
    if (members !== undefined) {
      this.#stepsLeft -= members.length;
      if (members.includes(text) || this.#stepsLeft < 0) return text;
      const near = findSimilarMember(text, members);
      if (near !== undefined) return this.#recordCoercion(text, near);
    }
    const wanted = types ?? members?.map(jsonTypeOf);
    if (wanted === undefined || wanted.includes("string")) return text;
    const primitive = coerceText(text, wanted);
    if (primitive !== undefined) return this.#recordCoercion(text, primitive);
    return wanted.includes("object") || wanted.includes("array") ? (this.#parseText(text, wanted) ?? text) : text;
  }

  #recordCoercion(from: JsonValue, to: JsonValue): JsonValue {
    this.#addRepair("coerced", `${showValue(from)} → ${showValue(to)}`);
    return to;
  }

  #parseText(text: string, wanted: readonly string[]): JsonValue | undefined {
    if ((this.#textLeft -= text.length) < 0)
      return HAS_BRACKET.test(text)
        ? this.#rejectText(`The text is too long to be read as JSON: an input may have ${MAX_TEXT} characters of it.`)
        : undefined;
    const maxDepth = DEFAULT_MAX_DEPTH - this.#steps.length;
    const strict = copyJsonText(text, maxDepth);
    if (strict === undefined) return this.#fixText(text, wanted, maxDepth);
    if (!this.#hasWantedType(strict.value, wanted)) return undefined;
    this.#addRepair("parsed-json", `JSON text → ${jsonTypeOf(strict.value)}`);
    for (const path of strict.dropped)
      this.repairs.push({ path: formatJsonPath(this.#steps) + path.slice(1), kind: "dropped", note: PROTO_NOTE });
    return strict.value;
  }

  #fixText(text: string, wanted: readonly string[], maxDepth: number): JsonValue | undefined {
    if (!HAS_BRACKET.test(text)) return undefined;
    const fixed = (this.#fixableLeft -= text.length) < 0 ? explainInvalidJson(text, maxDepth) : fixJsonText(text, maxDepth);
    if (!("value" in fixed)) return this.#rejectText(fixed.hint === undefined ? fixed.message : `${fixed.message} ${fixed.hint}`);
    if (!this.#hasWantedType(fixed.value, wanted)) return undefined;
    if (fixed.ambiguity !== undefined && !this.#options.allowGuesses)
      return this.#rejectText(`${fixed.ambiguity.message} Send the complete arguments again as valid JSON.`);
    this.#addRepair("fixed-json", `broken JSON text → ${jsonTypeOf(fixed.value)}: ${fixed.note}`);
    return fixed.value;
  }

  #hasWantedType(value: JsonValue, wanted: readonly string[]): boolean {
    const kind = jsonTypeOf(value);
    if (wanted.includes(kind)) return true;
    this.rejectedTexts.set(formatJsonPath(this.#steps), `expected type ${wanted.join(" or ")}, got JSON text of type ${kind}`);
    return false;
  }

  #rejectText(reason: string): undefined {
    this.rejectedTexts.set(formatJsonPath(this.#steps), reason);
    return undefined;
  }

  #repairArray(shape: SchemaShape, array: readonly JsonValue[]): JsonValue {
    if (shape.items === undefined && shape.prefixItems.length === 0) return array;
    let copy: JsonValue[] | undefined;
    for (const [index, item] of array.entries()) {
      const repaired = this.#repairChild(shape.prefixItems[index] ?? shape.items, item, index);
      if (repaired === item) continue;
      copy ??= [...array];
      copy[index] = repaired;
    }
    return copy === undefined ? array : Object.freeze(copy);
  }

  #repairObject(shape: SchemaShape, object: JsonObject): JsonValue {
    const renames = this.#options.coerce ? this.#findRenames(shape, object) : undefined;
    const members: [key: string, value: JsonValue][] = [];
    let changed = false;
    for (const [key, value] of Object.entries(object)) {
      this.#stepsLeft -= shape.patterns.length;
      const name = renames?.get(key) ?? key;
      if (this.#options.dropUnknownKeys && this.#shapes.forbidsKey(shape, name, this.#patterns)) {
        this.#addRepairAt(key, "dropped", UNKNOWN_KEY);
        changed = true;
        continue;
      }
      if (value === null && this.#isNullForAbsent(shape, name)) {
        this.#addRepairAt(key, "dropped", "null → left out");
        changed = true;
        continue;
      }
      if (name !== key) this.#addRepairAt(name, "renamed", `${showValue(key)} → ${showValue(name)}`);
      const repaired = this.#repairChild(this.#shapes.schemaForKey(shape, name, this.#patterns), value, name);
      changed ||= name !== key || repaired !== value;
      members.push([name, repaired]);
    }
    return changed ? Object.freeze(Object.fromEntries(members)) : object; // defines own properties, even __proto__
  }

  /** Whether null means that the key is left out: strict modes of providers make a model write every key. */
  #isNullForAbsent(shape: SchemaShape, name: string): boolean {
    if (!this.#options.coerce || shape.required.has(name)) return false;
    const schema = shape.properties.get(name);
    return schema !== undefined && !this.#matches(schema, null);
  }

  #repairChild(schema: JsonValue | undefined, value: JsonValue, step: string | number): JsonValue {
    this.#steps.push(step);
    const repaired = this.#repair(schema, value);
    this.#steps.pop();
    return repaired;
  }

  /**
   * Maps unknown keys to missing properties that differ only in case and separators, one to one. Only if that fixes a problem: the property is
   * required, or the unknown key is forbidden.
   */
  #findRenames(shape: SchemaShape, object: JsonObject): ReadonlyMap<string, string> | undefined {
    let found: Map<string, string | undefined> | undefined;
    for (const key of Object.keys(object)) {
      if (shape.properties.has(key)) continue;
      const name = this.#shapes.findSimilarKey(shape, key);
      if (
        name === undefined ||
        Object.hasOwn(object, name) ||
        !(shape.required.has(name) || this.#shapes.forbidsKey(shape, key, this.#patterns))
      )
        continue;
      found ??= new Map();
      found.set(name, found.has(name) ? undefined : key);
    }
    if (found === undefined) return undefined;
    const renames = new Map<string, string>();
    for (const [name, key] of found) if (key !== undefined) renames.set(key, name);
    return renames;
  }

  /** Repairs the value to the first member that needs no key dropped, else to the one with the fewest; members that accept text come last. */
  #repairUnion(members: readonly JsonValue[], value: JsonValue): JsonValue {
    for (const member of members) {
      if (this.#matches(member, value) || this.#stepsLeft < 0) return value;
    }
    const mark = this.repairs.length;
    let best: { readonly value: JsonValue; readonly repairs: readonly Repair[]; readonly dropped: number } | undefined;
    for (const takesText of [false, true]) {
      for (const member of members) {
        if ((this.#shapes.shapeOf(member)?.types?.includes("string") ?? false) !== takesText) continue;
        if (best !== undefined && this.#searchLeft <= 0) break;
        const stepsLeft = this.#stepsLeft;
        const repaired = this.#repair(member, value);
        const fits = repaired !== value && this.#matches(member, repaired);
        const repairs = this.repairs.splice(mark);
        if (best !== undefined) {
          this.#searchLeft -= stepsLeft - this.#stepsLeft;
          this.#stepsLeft = stepsLeft; // the steps of the search are not charged to the rest of the input
        }
        const dropped = repairs.filter(({ note }) => note === UNKNOWN_KEY).length;
        if (!fits || (best !== undefined && best.dropped <= dropped)) continue;
        best = { value: repaired, repairs, dropped };
        if (dropped === 0) break;
      }
      if (best?.dropped === 0) break;
    }
    if (best === undefined) return value;
    pushAll(this.repairs, best.repairs);
    return best.value;
  }

  #matches(member: JsonValue, value: JsonValue): boolean {
    const maxSteps = stepLimitFor(countNodes(value, MAX_NODES));
    this.#stepsLeft -= maxSteps / VALIDATOR_STEPS;
    return this.#stepsLeft >= 0 && this.#shapes.parts.matches(member, value, maxSteps);
  }

  #addRepair(kind: Repair["kind"], note: string): void {
    this.repairs.push({ path: formatJsonPath(this.#steps), kind, note });
  }

  #addRepairAt(key: string, kind: Repair["kind"], note: string): void {
    this.repairs.push({ path: formatJsonPath([...this.#steps, key]), kind, note });
  }
}
