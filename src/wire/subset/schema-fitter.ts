/** Walks a schema once and writes it in a provider's subset. */
import { ToolError } from "../../core/error.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { Description, isAcceptedValue, isTrivialConstraint } from "./description.ts";
import {
  ANNOTATION_KEYWORDS,
  CONSTRAINT_KEYWORDS,
  SCHEMA_KEYWORDS,
  SCHEMA_LIST_KEYWORDS,
  SCHEMA_MAP_KEYWORDS,
  SILENT_KEYWORDS,
} from "../../schema/keyword-names.ts";
import { Flattener, type FitterOptions } from "./flatten.ts";
import { withNull } from "./nullable.ts";
import { jsonTypeOf } from "../../schema/repair/coerce.ts";
import { hasCycle } from "../../schema/references/references.ts";
import { LossCollector, ROOT, type SchemaPosition, type SchemaLoss, type PathStep } from "./schema-losses.ts";
import {
  allowsNothing,
  areMutuallyExclusive,
  coversWholeType,
  isOnlyNull,
  mapValues,
  declaredTypes,
  declaredValues,
  narrowToType,
  objectOf,
  stricterBound,
  stringsOf,
  readTuple,
  inferTypes,
  omitKeywords,
} from "./schema-node.ts";
import type { SubsetRules } from "./subset-rules.ts";

/** Maximum number of path steps; each property takes two. */
const MAX_STEPS = 256;

export class SchemaFitter {
  readonly #rules: SubsetRules;
  readonly #options: FitterOptions;
  readonly #losses = new LossCollector();
  readonly #flattener: Flattener;
  readonly #definitionNames = new Map<JsonObject, string>();
  readonly #pending: JsonObject[] = [];
  /** The definitions that each definition refers to. */
  readonly #uses = new Map<string, Set<string>>();
  #currentDefinition = "";

  constructor(root: JsonObject, rules: SubsetRules, options: FitterOptions) {
    this.#rules = rules;
    this.#options = options;
    this.#flattener = new Flattener(root, rules, { ...options, losses: this.#losses });
  }

  get losses(): readonly SchemaLoss[] {
    return this.#losses.all;
  }

  /** Whether a recursive schema was cut off. */
  get isCutOff(): boolean {
    return this.#flattener.isCutOff;
  }

  /** @throws ToolError `invalid_schema` */
  fitRoot(root: JsonObject): JsonObject {
    const position = ROOT;
    const plain = this.#flattener.flattenRoot(root, position);
    const { allowedRootKeywords } = this.#rules;
    const { description, ...fitted } = this.#fitPlain(
      allowedRootKeywords === undefined ? plain : this.#flattener.pickRootKeywords(plain, allowedRootKeywords, position),
      position,
    );
    const definitions = this.#fitDefinitions();
    return {
      ...fitted,
      type: "object",
      properties: fitted["properties"] ?? {},
      ...(description === undefined || (allowedRootKeywords !== undefined && !allowedRootKeywords.has("description"))
        ? {}
        : { description }),
      ...(Object.keys(definitions).length === 0 ? {} : { $defs: definitions }),
    };
  }

  /** Whether a definition refers to itself, directly or through others. */
  get hasCircularDefinitions(): boolean {
    return hasCycle(this.#uses);
  }

  #fitDefinitions(): JsonObject {
    const definitions: [string, JsonObject][] = [];
    for (let next = this.#pending.shift(); next !== undefined; next = this.#pending.shift()) {
      const name = this.#definitionNames.get(next) ?? "";
      this.#currentDefinition = name;
      definitions.push([name, this.#fit(next, { steps: ["$defs", name], inlinedTargets: [] })]);
    }
    return Object.fromEntries(definitions);
  }

  #fit(schema: JsonValue | undefined, position: SchemaPosition): JsonObject {
    this.#flattener.countSchema();
    if (position.steps.length > MAX_STEPS) throw new ToolError("invalid_schema", `The schema nests deeper than ${MAX_STEPS / 2} levels.`);
    if (schema === true) return this.#anyValueSchema(position);
    if (!isJsonObject(schema) || allowsNothing(schema)) return this.#noValueSchema(position);
    const { node, inlinedTargets } = this.#flattener.flatten(schema, position, false);
    return this.#fitPlain(node, { steps: position.steps, inlinedTargets });
  }

  #fitPlain(node: JsonObject, position: SchemaPosition): JsonObject {
    const { $ref: reference } = node;
    if (typeof reference === "string" && this.#options.references !== "inline") return this.#fitReference(node, reference, position);
    const union = this.#unionOf(node, position);
    const plain = union === undefined || this.#rules.allowedKeywords.has("oneOf") ? node : { ...omitKeywords(node, "oneOf"), anyOf: union };
    if (this.#rules.requiresBareUnions === true && union !== undefined) return this.#fitUnion(plain, union, position);
    return this.#fitTypes(plain, position);
  }

  /** Returns the members of `anyOf`, or of a `oneOf` that the subset does not allow; undefined if there are none to rewrite. */
  #unionOf(node: JsonObject, position: SchemaPosition): readonly JsonValue[] | undefined {
    const { anyOf, oneOf } = node;
    if (!isJsonArray(oneOf) || this.#rules.allowedKeywords.has("oneOf")) return isJsonArray(anyOf) ? anyOf : undefined;
    const members = oneOf.map((member) => (isJsonObject(member) ? this.#flattener.flatten(member, position, true).node : {}));
    if (oneOf.length > 1 && !areMutuallyExclusive(members))
      this.#losses.addKeywordLoss(position, "oneOf", "It became anyOf: a value that fits several of them is not refused.");
    return isJsonArray(anyOf) ? anyOf.map((member) => ({ allOf: [member, { anyOf: oneOf }] })) : oneOf;
  }

  /** Writes a union, with its constraints merged into each member. */
  #fitUnion(node: JsonObject, members: readonly JsonValue[], position: SchemaPosition): JsonObject {
    const rest = Object.entries(node).filter(([keyword]) => keyword !== "anyOf");
    const constraints = Object.fromEntries(rest.filter(([keyword]) => CONSTRAINT_KEYWORDS.has(keyword)));
    const about = Object.fromEntries(rest.filter(([keyword]) => !CONSTRAINT_KEYWORDS.has(keyword)));
    const hasOnlyUnion = Object.keys(constraints).length === 0;
    const whole = members.map((member) =>
      hasOnlyUnion || member === true ? (member === true ? constraints : member) : this.#mergeIntoMember(constraints, member, position),
    );
    return this.#writeAlternatives(
      whole.map((member, index) => [member, { ...position, steps: [...position.steps, "anyOf", index] }] as const),
      about,
      position,
    );
  }

  #mergeIntoMember(constraints: JsonObject, member: JsonValue, position: SchemaPosition): JsonValue {
    if (!isJsonObject(member)) return member;
    return this.#flattener.merge(this.#flattener.flatten(member, position, true).node, constraints, position);
  }

  /** Writes `anyOf`, with null in the form that the provider takes. */
  #writeAlternatives(members: readonly (readonly [JsonValue, SchemaPosition])[], about: JsonObject, position: SchemaPosition): JsonObject {
    const description = new Description(about["description"]);
    const out: Record<string, JsonValue> = {};
    for (const [keyword, value] of Object.entries(about)) this.#writeKeyword(keyword, value, { out, description, position });
    const some = members.filter(([member]) => member !== false);
    if (some.length === 0) return this.#noValueSchema(position);
    const nullable = this.#rules.types === "nullable";
    const fitted = some.filter(([member]) => !nullable || !isOnlyNull(member)).map(([member, at]) => this.#fit(member, at));
    const hasNull = nullable && fitted.length < some.length;
    const [only, ...others] = fitted;
    if (hasNull && fitted.length === 0) return { ...out, ...this.#anyValueSchema(position), nullable: true };
    if (hasNull || only === undefined || others.length > 0) {
      const union = only !== undefined && others.length === 0 ? only : { anyOf: fitted };
      return { ...union, ...out, ...description.toField(objectOf(union)["description"]), ...(hasNull ? { nullable: true } : {}) };
    }
    return { ...only, ...out, ...description.toField(only["description"]) };
  }

  #fitTypes(node: JsonObject, position: SchemaPosition): JsonObject {
    const types = inferTypes(node);
    const { types: rule, requiresType, enumTypes } = this.#rules;
    const values = declaredValues(node);
    const foreign = values !== undefined && !Object.hasOwn(node, "anyOf") && values.some((value) => !enumTypes.has(jsonTypeOf(value)));
    const needed = requiresType === true || rule !== "list" || (values !== undefined && declaredTypes(node) === undefined);
    if (types === undefined) return this.#fitUntyped(node, position);
    if (types.length > 1 && (rule !== "list" || foreign)) return this.#splitTypes(node, types, position);
    const [type, ...more] = types;
    if (!needed || declaredTypes(node) !== undefined) return this.#fitKeywords(node, position);
    return this.#fitKeywords({ ...node, type: more.length === 0 ? (type ?? null) : types }, position);
  }

  /** Writes a schema that does not imply any type. */
  #fitUntyped(node: JsonObject, position: SchemaPosition): JsonObject {
    if (declaredValues(node)?.length === 0) return this.#noValueSchema(position);
    if (this.#rules.requiresType !== true || Object.hasOwn(node, "anyOf")) return this.#fitKeywords(node, position);
    const description = new Description(node["description"]);
    return { ...this.#anyValueSchema(position), ...description.toField(undefined) };
  }

  #splitTypes(node: JsonObject, types: readonly string[], position: SchemaPosition): JsonObject {
    const about = Object.fromEntries(Object.entries(node).filter(([keyword]) => keyword !== "format" && !CONSTRAINT_KEYWORDS.has(keyword)));
    const bare = omitKeywords(node, ...Object.keys(about));
    const members = types.map((type) => narrowToType(bare, type)).filter((member) => declaredValues(member)?.length !== 0);
    return this.#writeAlternatives(
      members.map((member) => [member, position] as const),
      about,
      position,
    );
  }

  #fitKeywords(node: JsonObject, position: SchemaPosition): JsonObject {
    const description = new Description(node["description"]);
    const out: Record<string, JsonValue> = {};
    const work: Work = { out, description, position };
    const values = declaredValues(node);
    if (values !== undefined) this.#writeValues(values, node, work);
    const types = declaredTypes(node);
    if (types !== undefined && !Object.hasOwn(out, "type")) out["type"] = types.length === 1 ? (types[0] ?? null) : types;
    for (const [keyword, value] of Object.entries(node)) {
      if (keyword !== "type" && keyword !== "enum" && keyword !== "const") this.#writeKeyword(keyword, value, work, node);
    }
    if (types?.includes("object") === true || (types === undefined && Object.hasOwn(node, "properties"))) this.#closeObject(node, work);
    if (types?.includes("array") === true && this.#rules.requiresType === true && out["items"] === undefined)
      out["items"] = this.#anyValueSchema({ ...position, steps: [...position.steps, "items"] });
    return { ...out, ...description.toField(undefined) };
  }

  /** Writes `enum` and `const`. */
  #writeValues(values: readonly JsonValue[], node: JsonObject, { out, description, position }: Work): void {
    const { enumTypes, allowedKeywords } = this.#rules;
    const { const: fixed, enum: members } = node;
    const keyword = members === undefined ? "const" : "enum";
    if (values.length === 0) {
      description.addKeyword("one of", members ?? fixed ?? null);
      this.#losses.addKeywordLoss(position, keyword, "None of the values is of the type: they are named in the description.");
    } else if (members === undefined && fixed !== undefined && allowedKeywords.has("const") && this.#acceptsValue("const", fixed)) {
      out["const"] = fixed;
    } else if (values.every((value) => value === null)) {
      out["type"] = "null";
    } else if (coversWholeType(values, declaredTypes(node))) {
      return; // `type` already allows exactly these values
    } else if (values.every((value) => enumTypes.has(jsonTypeOf(value)))) {
      out["enum"] = values;
    } else {
      description.addKeyword("one of", values);
      this.#losses.addKeywordLoss(position, keyword, "Such values cannot be listed: they are named in the description.");
    }
  }

  #writeKeyword(keyword: string, value: JsonValue, work: Work, node: JsonObject = {}): void {
    const { out, description } = work;
    const { allowedKeywords, allowsUnknownKeywords } = this.#rules;
    if (keyword === "description" || (SILENT_KEYWORDS.has(keyword) && keyword !== "$schema" && keyword !== "$comment")) return;
    if (keyword === "items" && isJsonArray(node["prefixItems"]) && !allowedKeywords.has("prefixItems")) return this.#writeTuple(node, work);
    if (allowedKeywords.has(keyword) && this.#acceptsValue(keyword, value)) return this.#writeAllowedKeyword(keyword, value, work, node);
    if (keyword === "prefixItems" || (keyword === "items" && isJsonArray(value))) return this.#writeTuple(node, work);
    if (keyword === "additionalItems") return this.#describeConstraint(keyword, value, work);
    if (SILENT_KEYWORDS.has(keyword)) return;
    if (ANNOTATION_KEYWORDS.has(keyword)) description.addKeyword(keyword, value);
    else if (CONSTRAINT_KEYWORDS.has(keyword)) this.#replaceConstraint(keyword, value, work, node);
    else if (allowsUnknownKeywords === true) out[keyword] = value;
  }

  #acceptsValue(keyword: string, value: JsonValue): boolean {
    return isAcceptedValue(this.#rules.acceptedValues, keyword, value);
  }

  #writeAllowedKeyword(keyword: string, value: JsonValue, work: Work, node: JsonObject): void {
    const { out, position } = work;
    const at = (...more: readonly PathStep[]): SchemaPosition => ({ ...position, steps: [...position.steps, keyword, ...more] });
    if (keyword === "properties") out[keyword] = this.#writeProperties(value, node, position);
    else if (keyword === "required") out[keyword] = this.#writeRequired(stringsOf(value), node, position);
    else if (keyword === "additionalProperties" && this.#rules.closed === true) return;
    else if (keyword === "additionalProperties" && (value === true || allowsNothing(value))) out[keyword] = value === true;
    else if (keyword === "items" && isJsonArray(value) && !this.#rules.allowedKeywords.has("additionalItems")) this.#writeTuple(node, work);
    else if (keyword === "items" && value === true) return;
    else if (isJsonArray(value) && SCHEMA_LIST_KEYWORDS.has(keyword)) out[keyword] = value.map((item, index) => this.#fit(item, at(index)));
    else if (SCHEMA_KEYWORDS.has(keyword)) out[keyword] = this.#fit(value, at());
    else if (SCHEMA_MAP_KEYWORDS.has(keyword) && isJsonObject(value))
      out[keyword] = mapValues(value, (item, name) => (isJsonArray(item) ? item : this.#fit(item, at(name))));
    else if (this.#rules.countsAsText === true && COUNTS.has(keyword)) out[keyword] = String(value);
    else out[keyword] = stricterBound(keyword, value, out[keyword]);
  }

  #writeProperties(value: JsonValue, node: JsonObject, position: SchemaPosition): JsonObject {
    const required = stringsOf(node["required"]);
    const { propertyNames, allRequired } = this.#rules;
    const fitted: [string, JsonValue][] = [];
    for (const [name, schema] of Object.entries(objectOf(value))) {
      const at = { ...position, steps: [...position.steps, "properties", name] };
      if (propertyNames?.test(name) === false) {
        if (required.includes(name))
          throw new ToolError("invalid_schema", `The required parameter ${JSON.stringify(name)} has a name that the provider refuses.`);
        this.#losses.addLossAt(at.steps, "The provider refuses this name: the parameter is left out.");
        continue;
      }
      if (allowsNothing(schema)) continue; // the property must be absent, so it is not declared
      const one = this.#fit(schema, at);
      fitted.push([name, allRequired === true && !required.includes(name) ? withNull(one) : one]);
    }
    return Object.fromEntries(fitted);
  }

  #writeRequired(names: readonly string[], node: JsonObject, position: SchemaPosition): readonly string[] {
    const properties = objectOf(node["properties"]);
    const unnamed = names.filter((name) => !Object.hasOwn(properties, name) || allowsNothing(properties[name]));
    if (this.#rules.requiredAreNamed !== true || unnamed.length === 0) return [...new Set(names)];
    this.#losses.addKeywordLoss(position, "required", `Required, but not described: ${unnamed.slice(0, 10).join(", ")}.`);
    return [...new Set(names)].filter((name) => !unnamed.includes(name));
  }

  #closeObject(node: JsonObject, { out, description, position }: Work): void {
    const { closed, allRequired } = this.#rules;
    if (closed !== true) return;
    const { additionalProperties: others } = node;
    const named = objectOf(out["properties"]);
    out["properties"] = named;
    out["required"] = allRequired === true ? Object.keys(named) : (out["required"] ?? []);
    out["additionalProperties"] = false;
    const open = others === undefined ? Object.keys(named).length === 0 && position.steps.length > 0 : !allowsNothing(others);
    if (!open) return;
    if (isJsonObject(others)) description.addKeyword("additionalProperties", others);
    this.#losses.addKeywordLoss(position, "additionalProperties", "Keys that are not named are refused.");
  }

  /** Writes a tuple for providers that support only one schema for all items. */
  #writeTuple(node: JsonObject, { out, description, position }: Work): void {
    if (out["items"] !== undefined) return;
    const { keyword, first, any } = readTuple(node);
    if (first.length > 0) {
      description.addKeyword("items in order", first);
      this.#losses.addKeywordLoss(position, keyword, "The order of the items is in the description only.");
    }
    if (any !== undefined && this.#rules.allowedKeywords.has("items"))
      out["items"] = this.#fit(any, { ...position, steps: [...position.steps, "items"] });
  }

  /** Replaces a constraint that is not allowed by an equivalent one, or moves it into the description. */
  #replaceConstraint(keyword: string, value: JsonValue, work: Work, node: JsonObject): void {
    const { out } = work;
    const step = keyword === "exclusiveMinimum" ? 1 : keyword === "exclusiveMaximum" ? -1 : 0;
    const inclusive = keyword === "exclusiveMinimum" ? "minimum" : "maximum";
    const whole = typeof value === "number" && Number.isSafeInteger(value) && declaredTypes(node)?.join() === "integer";
    if (step !== 0 && whole && this.#rules.allowedKeywords.has(inclusive)) {
      out[inclusive] = stricterBound(inclusive, value + step, out[inclusive]);
      return;
    }
    if (!isTrivialConstraint(keyword, value)) this.#describeConstraint(keyword, value, work);
  }

  #describeConstraint(keyword: string, value: JsonValue, { description, position }: Work): void {
    description.addKeyword(keyword, value);
    this.#losses.addKeywordLoss(
      position,
      keyword,
      `The description names it${description.hasRoomFor(value) ? "" : ", without its value"}; the provider does not enforce it.`,
    );
  }

  #fitReference(node: JsonObject, reference: string, position: SchemaPosition): JsonObject {
    const target = this.#flattener.references.resolve(reference);
    if (!isJsonObject(target)) {
      if (target !== true) this.#losses.addKeywordLoss(position, "$ref", "It refers to nothing.");
      return this.#fitPlain(omitKeywords(node, "$ref"), position);
    }
    const link = { $ref: `#/$defs/${this.#defineReference(target, reference)}` };
    const rest = omitKeywords(node, "$ref");
    const description = new Description(rest["description"]);
    const out: Record<string, JsonValue> = {};
    for (const [keyword, value] of Object.entries(rest)) this.#writeKeyword(keyword, value, { out, description, position }, rest);
    const siblings = { ...out, ...description.toField(undefined) };
    if (this.#rules.bareReferences !== true || Object.keys(siblings).length === 0) return { ...link, ...siblings };
    return { anyOf: [link], ...siblings };
  }

  #defineReference(target: JsonObject, reference: string): string {
    let name = this.#definitionNames.get(target);
    if (name === undefined) {
      const wanted = /[A-Za-z0-9_-]{1,48}$/u.exec(reference)?.[0] ?? "root";
      name = this.#uses.has(wanted) ? `${wanted}_${this.#definitionNames.size}` : wanted;
      this.#uses.set(name, new Set());
      this.#definitionNames.set(target, name);
      this.#pending.push(target);
    }
    this.#uses.get(this.#currentDefinition)?.add(name);
    return name;
  }

  #anyValueSchema(position: SchemaPosition): JsonObject {
    if (this.#rules.requiresType !== true) return {};
    this.#losses.addLossAt(position.steps, "Any value is allowed, but here only strings, numbers and booleans.");
    return { anyOf: [{ type: "string" }, { type: "number" }, { type: "boolean" }] };
  }

  #noValueSchema(position: SchemaPosition): JsonObject {
    if (this.#rules.allowedKeywords.has("not")) return { not: {} };
    this.#losses.addLossAt(position.steps, "No value fits, and the provider cannot express that.");
    return this.#rules.requiresType === true ? { type: "string" } : {};
  }
}

/** A schema that is being written. */
interface Work {
  readonly out: Record<string, JsonValue>;
  readonly description: Description;
  readonly position: SchemaPosition;
}

const COUNTS: ReadonlySet<string> = new Set(["minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"]);
