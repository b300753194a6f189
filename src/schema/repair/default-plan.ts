/** Finds where a schema's defaults apply, once per schema, so that an input that needs none is recognized quickly. */
import { copyJson, isJsonArray, isJsonObject, formatJsonPath, type JsonValue } from "../../core/base/json.ts";
import type { Repair } from "../../core/result.ts";
import { countNodes, stepLimitFor } from "../schema-part.ts";
import { showValue } from "../schema-problem.ts";
import type { SchemaShape, SchemaShapes } from "../schema-shape.ts";

/** The defaults at and below one place of a schema. */
export interface DefaultPlan {
  /** Defaults of optional properties of this object; each is valid for its own schema and deeply frozen. */
  readonly defaults: readonly { readonly key: string; readonly value: JsonValue }[];
  readonly properties: readonly { readonly key: string; readonly plan: DefaultPlan }[];
  readonly items: DefaultPlan | undefined;
}

export interface PlannedDefaults {
  /** undefined if the schema has no default that can be applied. */
  readonly plan: DefaultPlan | undefined;
  /** One line for each default that is never applied because it violates its own schema. */
  readonly warnings: readonly string[];
}

interface Draft {
  readonly path: readonly (string | number)[];
  readonly defaults: { readonly key: string; readonly schema: JsonValue; value: JsonValue }[];
  properties: { readonly key: string; readonly plan: Draft }[];
  items: Draft | undefined;
  leadsToDefault: boolean;
}

const MAX_PLACES = 10_000;

/**
 * Finds the defaults of optional properties, through `properties`, `items`, `allOf` and `$ref`.
 *
 * A default of a required property is never applied: leaving the property out is an error. Defaults inside `anyOf`, `oneOf`, `not` and `if`
 * are not applied either, since which branch applies depends on the value. A default that lacks defaults of its own parts gets them too, if it
 * is still valid then.
 */
export function planDefaults(shapes: SchemaShapes): PlannedDefaults {
  const drafts = new Map<SchemaShape, Draft>();
  const queue: SchemaShape[] = [];
  const warnings: string[] = [];
  const draftOf = (schema: JsonValue | undefined, path: readonly (string | number)[]): Draft | undefined => {
    const shape = shapes.shapeOf(schema);
    if (shape === undefined || drafts.size >= MAX_PLACES) return shape && drafts.get(shape);
    let draft = drafts.get(shape);
    if (draft === undefined) {
      draft = { path, defaults: [], properties: [], items: undefined, leadsToDefault: false };
      drafts.set(shape, draft);
      queue.push(shape);
    }
    return draft;
  };
  const root = draftOf(shapes.root, []);
  for (let next = 0; next < queue.length; next++) {
    const shape = queue[next];
    const draft = shape && drafts.get(shape);
    if (shape === undefined || draft === undefined) continue;
    for (const [key, schema] of shape.properties) {
      const value = shape.required.has(key) ? undefined : shapes.shapeOf(schema)?.defaultValue;
      const path = [...draft.path, key];
      if (value !== undefined) addDefault(shapes, draft, { key, schema, value }, warnings);
      const plan = draftOf(schema, path);
      if (plan !== undefined) draft.properties.push({ key, plan });
    }
    draft.items = draftOf(shape.items, [...draft.path, "items"]);
  }
  prune([...drafts.values()]);
  if (root?.leadsToDefault === true) completeDefaults(root, shapes, new Set());
  return { plan: root?.leadsToDefault === true ? root : undefined, warnings };
}

interface FoundDefault {
  readonly key: string;
  readonly schema: JsonValue;
  readonly value: JsonValue;
}

function addDefault(shapes: SchemaShapes, draft: Draft, found: FoundDefault, warnings: string[]): void {
  if (found.key === "__proto__") return;
  if (shapes.parts.matches(found.schema, found.value, stepLimitFor(countNodes(found.value, MAX_PLACES))))
    draft.defaults.push({ key: found.key, schema: found.schema, value: copyJson(found.value).value });
  else
    warnings.push(
      `${formatJsonPath([...draft.path, found.key])}: the default ${showValue(found.value)} does not fit its own schema and is never applied`,
    );
}

/** Completes the defaults at and below one place with those of their own parts; a recursive schema is visited only once. */
function completeDefaults(draft: Draft, shapes: SchemaShapes, completed: Set<Draft>): void {
  if (completed.has(draft)) return;
  completed.add(draft);
  for (const { plan } of draft.properties) completeDefaults(plan, shapes, completed);
  if (draft.items !== undefined) completeDefaults(draft.items, shapes, completed);
  for (const standard of draft.defaults) {
    const plan = draft.properties.find(({ key }) => key === standard.key)?.plan;
    if (plan === undefined || !lacksDefault(plan, standard.value)) continue;
    const filled = fillDefaults(plan, standard.value, [], []);
    const size = countNodes(filled, MAX_PLACES);
    if (size <= MAX_PLACES && shapes.parts.matches(standard.schema, filled, stepLimitFor(size))) standard.value = filled;
  }
}

/** Removes paths that lead to no default. A recursive schema is a cycle of drafts, so this repeats until nothing changes. */
function prune(drafts: readonly Draft[]): void {
  const backward = [...drafts].reverse();
  for (let changed = true; changed;) {
    changed = false;
    for (const draft of backward) {
      if (draft.leadsToDefault) continue;
      draft.leadsToDefault =
        draft.defaults.length > 0 || draft.items?.leadsToDefault === true || draft.properties.some(({ plan }) => plan.leadsToDefault);
      changed ||= draft.leadsToDefault;
    }
  }
  for (const draft of drafts) {
    draft.properties = draft.properties.filter(({ plan }) => plan.leadsToDefault);
    if (draft.items?.leadsToDefault !== true) draft.items = undefined;
  }
}

/** True if at least one default would be applied. Allocates nothing. */
export function lacksDefault(plan: DefaultPlan, value: JsonValue): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (isJsonArray(value)) {
    if (plan.items === undefined) return false;
    for (const item of value) if (lacksDefault(plan.items, item)) return true;
    return false;
  }
  for (const { key } of plan.defaults) if (!Object.hasOwn(value, key)) return true;
  for (const { key, plan: child } of plan.properties) {
    const item = Object.hasOwn(value, key) ? value[key] : undefined;
    if (item !== undefined && lacksDefault(child, item)) return true;
  }
  return false;
}

/** Returns a frozen copy of the value with the missing defaults; each is listed in `repairs`. */
export function fillDefaults(plan: DefaultPlan, value: JsonValue, steps: (string | number)[], repairs: Repair[]): JsonValue {
  if (!lacksDefault(plan, value)) return value;
  if (isJsonArray(value)) {
    const items = plan.items;
    return items === undefined ? value : Object.freeze(value.map((item, index) => fillAt(items, item, index, steps, repairs)));
  }
  if (!isJsonObject(value)) return value;
  const filled: Record<string, JsonValue> = { ...value };
  for (const { key, value: standard } of plan.defaults) {
    if (Object.hasOwn(value, key)) continue;
    filled[key] = standard;
    repairs.push({ path: formatJsonPath([...steps, key]), kind: "defaulted", note: `missing → ${showValue(standard)}` });
  }
  for (const { key, plan: child } of plan.properties) {
    const item = Object.hasOwn(value, key) ? value[key] : undefined;
    if (item !== undefined && key !== "__proto__") filled[key] = fillAt(child, item, key, steps, repairs);
  }
  return Object.freeze(filled);
}

function fillAt(plan: DefaultPlan, value: JsonValue, step: string | number, steps: (string | number)[], repairs: Repair[]): JsonValue {
  steps.push(step);
  const filled = fillDefaults(plan, value, steps, repairs);
  steps.pop();
  return filled;
}
