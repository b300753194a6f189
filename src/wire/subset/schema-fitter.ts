/** Walks a schema once and writes it in a provider's subset. */
import { ToolError } from "../../core/error.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { Description, hasAccepted, isTrivial } from "./description.ts";
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
import { isCircular } from "../../schema/references/references.ts";
import { Losses, ROOT, type Place, type SchemaLoss, type PathStep } from "./place.ts";
import {
  allowsNothing,
  excludeEachOther,
  isAllOf,
  isOnlyNull,
  kindOf,
  mapValues,
  namedTypes,
  namedValues,
  narrowed,
  objectOf,
  stricter,
  textsOf,
  tupleOf,
  typesOf,
  without,
} from "./schema-node.ts";
import type { SubsetRules } from "./subset-rules.ts";

/** Maximum number of path steps; each property takes two. */
const MAX_STEPS = 256;

export class SchemaFitter {
  readonly #rules: SubsetRules;
  readonly #options: FitterOptions;
  readonly #losses = new Losses();
  readonly #flattener: Flattener;
  readonly #definitionNames = new Map<JsonObject, string>();
  readonly #pending: JsonObject[] = [];
  /** The definitions that each definition refers to. */
  readonly #uses = new Map<string, Set<string>>();
  #within = "";

  constructor(root: JsonObject, rules: SubsetRules, options: FitterOptions) {
    this.#rules = rules;
    this.#options = options;
    this.#flattener = new Flattener(root, rules, { ...options, losses: this.#losses });
  }

  get losses(): readonly SchemaLoss[] {
    return this.#losses.all;
  }

  /** Whether a recursive schema was cut off. */
  get cut(): boolean {
    return this.#flattener.cut;
  }

  /** @throws ToolError `invalid_schema` */
  fitRoot(root: JsonObject): JsonObject {
    const place = ROOT;
    const plain = this.#flattener.plainRoot(root, place);
    const { rootKeeps } = this.#rules;
    const { description, ...fitted } = this.#fitPlain(
      rootKeeps === undefined ? plain : this.#flattener.pick(plain, rootKeeps, place),
      place,
    );
    const definitions = this.#fitDefinitions();
    return {
      ...fitted,
      type: "object",
      properties: fitted["properties"] ?? {},
      ...(description === undefined || (rootKeeps !== undefined && !rootKeeps.has("description")) ? {} : { description }),
      ...(Object.keys(definitions).length === 0 ? {} : { $defs: definitions }),
    };
  }

  /** Whether a definition refers to itself, directly or through others. */
  get circular(): boolean {
    return isCircular(this.#uses);
  }

  #fitDefinitions(): JsonObject {
    const definitions: [string, JsonObject][] = [];
    for (let next = this.#pending.shift(); next !== undefined; next = this.#pending.shift()) {
      const name = this.#definitionNames.get(next) ?? "";
      this.#within = name;
      definitions.push([name, this.#fit(next, { steps: ["$defs", name], inside: [] })]);
    }
    return Object.fromEntries(definitions);
  }

  #fit(schema: JsonValue | undefined, place: Place): JsonObject {
    this.#flattener.spend();
    if (place.steps.length > MAX_STEPS) throw new ToolError("invalid_schema", `The schema nests deeper than ${MAX_STEPS / 2} levels.`);
    if (schema === true) return this.#anything(place);
    if (!isJsonObject(schema) || allowsNothing(schema)) return this.#nothing(place);
    const { node, inside } = this.#flattener.flatten(schema, place, false);
    return this.#fitPlain(node, { steps: place.steps, inside });
  }

  #fitPlain(node: JsonObject, place: Place): JsonObject {
    const { $ref: reference } = node;
    if (typeof reference === "string" && this.#options.references !== "inline") return this.#fitReference(node, reference, place);
    const union = this.#unionOf(node, place);
    const plain = union === undefined || this.#rules.keeps.has("oneOf") ? node : { ...without(node, "oneOf"), anyOf: union };
    if (this.#rules.unionsAlone === true && union !== undefined) return this.#fitUnion(plain, union, place);
    return this.#fitTypes(plain, place);
  }

  /** Returns the members of `anyOf`, or of a `oneOf` that the subset does not allow; undefined if there are none to rewrite. */
  #unionOf(node: JsonObject, place: Place): readonly JsonValue[] | undefined {
    const { anyOf, oneOf } = node;
    if (!isJsonArray(oneOf) || this.#rules.keeps.has("oneOf")) return isJsonArray(anyOf) ? anyOf : undefined;
    const members = oneOf.map((member) => (isJsonObject(member) ? this.#flattener.flatten(member, place, true).node : {}));
    if (oneOf.length > 1 && !excludeEachOther(members))
      this.#losses.lose(place, "oneOf", "It became anyOf: a value that fits several of them is not refused.");
    return isJsonArray(anyOf) ? anyOf.map((member) => ({ allOf: [member, { anyOf: oneOf }] })) : oneOf;
  }

  /** Writes a union, with its constraints merged into each member. */
  #fitUnion(node: JsonObject, members: readonly JsonValue[], place: Place): JsonObject {
    const rest = Object.entries(node).filter(([keyword]) => keyword !== "anyOf");
    const constraints = Object.fromEntries(rest.filter(([keyword]) => CONSTRAINT_KEYWORDS.has(keyword)));
    const about = Object.fromEntries(rest.filter(([keyword]) => !CONSTRAINT_KEYWORDS.has(keyword)));
    const alone = Object.keys(constraints).length === 0;
    const whole = members.map((member) =>
      alone || member === true ? (member === true ? constraints : member) : this.#both(constraints, member, place),
    );
    return this.#alternatives(
      whole.map((member, index) => [member, { ...place, steps: [...place.steps, "anyOf", index] }] as const),
      about,
      place,
    );
  }

  #both(constraints: JsonObject, member: JsonValue, place: Place): JsonValue {
    if (!isJsonObject(member)) return member;
    return this.#flattener.merge(this.#flattener.flatten(member, place, true).node, constraints, place);
  }

  /** Writes `anyOf`, with null in the form that the provider takes. */
  #alternatives(members: readonly (readonly [JsonValue, Place])[], about: JsonObject, place: Place): JsonObject {
    const description = new Description(about["description"]);
    const out: Record<string, JsonValue> = {};
    for (const [keyword, value] of Object.entries(about)) this.#keyword(keyword, value, { out, description, place });
    const some = members.filter(([member]) => member !== false);
    if (some.length === 0) return this.#nothing(place);
    const nullable = this.#rules.types === "nullable";
    const fitted = some.filter(([member]) => !nullable || !isOnlyNull(member)).map(([member, at]) => this.#fit(member, at));
    const hasNull = nullable && fitted.length < some.length;
    const [only, ...others] = fitted;
    if (hasNull && fitted.length === 0) return { ...out, ...this.#anything(place), nullable: true };
    if (hasNull || only === undefined || others.length > 0) {
      const union = only !== undefined && others.length === 0 ? only : { anyOf: fitted };
      return { ...union, ...out, ...description.field(objectOf(union)["description"]), ...(hasNull ? { nullable: true } : {}) };
    }
    return { ...only, ...out, ...description.field(only["description"]) };
  }

  #fitTypes(node: JsonObject, place: Place): JsonObject {
    const types = typesOf(node);
    const { types: rule, typed, enums } = this.#rules;
    const values = namedValues(node);
    const foreign = values !== undefined && !Object.hasOwn(node, "anyOf") && values.some((value) => !enums.has(kindOf(value)));
    const needed = typed === true || rule !== "list" || (values !== undefined && namedTypes(node) === undefined);
    if (types === undefined) return this.#unnamed(node, place);
    if (types.length > 1 && (rule !== "list" || foreign)) return this.#splitTypes(node, types, place);
    const [type, ...more] = types;
    if (!needed || namedTypes(node) !== undefined) return this.#fitKeywords(node, place);
    return this.#fitKeywords({ ...node, type: more.length === 0 ? (type ?? null) : types }, place);
  }

  /** Writes a schema that does not imply any type. */
  #unnamed(node: JsonObject, place: Place): JsonObject {
    if (namedValues(node)?.length === 0) return this.#nothing(place);
    if (this.#rules.typed !== true || Object.hasOwn(node, "anyOf")) return this.#fitKeywords(node, place);
    const description = new Description(node["description"]);
    return { ...this.#anything(place), ...description.field(undefined) };
  }

  #splitTypes(node: JsonObject, types: readonly string[], place: Place): JsonObject {
    const about = Object.fromEntries(Object.entries(node).filter(([keyword]) => keyword !== "format" && !CONSTRAINT_KEYWORDS.has(keyword)));
    const bare = without(node, ...Object.keys(about));
    const members = types.map((type) => narrowed(bare, type)).filter((member) => namedValues(member)?.length !== 0);
    return this.#alternatives(
      members.map((member) => [member, place] as const),
      about,
      place,
    );
  }

  #fitKeywords(node: JsonObject, place: Place): JsonObject {
    const description = new Description(node["description"]);
    const out: Record<string, JsonValue> = {};
    const work = { out, description, place };
    const values = namedValues(node);
    if (values !== undefined) this.#values(values, node, work);
    const types = namedTypes(node);
    if (types !== undefined && !Object.hasOwn(out, "type")) out["type"] = types.length === 1 ? (types[0] ?? null) : types;
    for (const [keyword, value] of Object.entries(node)) {
      if (keyword !== "type" && keyword !== "enum" && keyword !== "const") this.#keyword(keyword, value, work, node);
    }
    if (types?.includes("object") === true || (types === undefined && Object.hasOwn(node, "properties"))) this.#closeObject(node, work);
    if (types?.includes("array") === true && this.#rules.typed === true && out["items"] === undefined)
      out["items"] = this.#anything({ ...place, steps: [...place.steps, "items"] });
    return { ...out, ...description.field(undefined) };
  }

  /** Writes `enum` and `const`. */
  #values(values: readonly JsonValue[], node: JsonObject, { out, description, place }: Work): void {
    const { enums, keeps } = this.#rules;
    const { const: fixed, enum: members } = node;
    const keyword = members === undefined ? "const" : "enum";
    if (values.length === 0) {
      description.add("one of", members ?? fixed ?? null);
      this.#losses.lose(place, keyword, "None of the values is of the type: they are named in the description.");
    } else if (members === undefined && fixed !== undefined && keeps.has("const") && this.#takes("const", fixed)) {
      out["const"] = fixed;
    } else if (values.every((value) => value === null)) {
      out["type"] = "null";
    } else if (isAllOf(values, namedTypes(node))) {
      return; // `type` already allows exactly these values
    } else if (values.every((value) => enums.has(kindOf(value)))) {
      out["enum"] = values;
    } else {
      description.add("one of", values);
      this.#losses.lose(place, keyword, "Such values cannot be listed: they are named in the description.");
    }
  }

  #keyword(keyword: string, value: JsonValue, work: Work, node: JsonObject = {}): void {
    const { out, description } = work;
    const { keeps, keepsUnknown } = this.#rules;
    if (keyword === "description" || (SILENT_KEYWORDS.has(keyword) && keyword !== "$schema" && keyword !== "$comment")) return;
    if (keyword === "items" && isJsonArray(node["prefixItems"]) && !keeps.has("prefixItems")) return this.#tuple(node, work);
    if (keeps.has(keyword) && this.#takes(keyword, value)) return this.#keep(keyword, value, work, node);
    if (keyword === "prefixItems" || (keyword === "items" && isJsonArray(value))) return this.#tuple(node, work);
    if (keyword === "additionalItems") return this.#tell(keyword, value, work);
    if (SILENT_KEYWORDS.has(keyword)) return;
    if (ANNOTATION_KEYWORDS.has(keyword)) description.add(keyword, value);
    else if (CONSTRAINT_KEYWORDS.has(keyword)) this.#replace(keyword, value, work, node);
    else if (keepsUnknown === true) out[keyword] = value;
  }

  #takes(keyword: string, value: JsonValue): boolean {
    return hasAccepted(this.#rules.accepts, keyword, value);
  }

  #keep(keyword: string, value: JsonValue, work: Work, node: JsonObject): void {
    const { out, place } = work;
    const at = (...more: readonly PathStep[]): Place => ({ ...place, steps: [...place.steps, keyword, ...more] });
    if (keyword === "properties") out[keyword] = this.#properties(value, node, place);
    else if (keyword === "required") out[keyword] = this.#required(textsOf(value), node, place);
    else if (keyword === "additionalProperties" && this.#rules.closed === true) return;
    else if (keyword === "additionalProperties" && (value === true || allowsNothing(value))) out[keyword] = value === true;
    else if (keyword === "items" && isJsonArray(value) && !this.#rules.keeps.has("additionalItems")) this.#tuple(node, work);
    else if (keyword === "items" && value === true) return;
    else if (isJsonArray(value) && SCHEMA_LIST_KEYWORDS.has(keyword)) out[keyword] = value.map((item, index) => this.#fit(item, at(index)));
    else if (SCHEMA_KEYWORDS.has(keyword)) out[keyword] = this.#fit(value, at());
    else if (SCHEMA_MAP_KEYWORDS.has(keyword) && isJsonObject(value))
      out[keyword] = mapValues(value, (item, name) => (isJsonArray(item) ? item : this.#fit(item, at(name))));
    else if (this.#rules.countsAsText === true && COUNTS.has(keyword)) out[keyword] = String(value);
    else out[keyword] = stricter(keyword, value, out[keyword]);
  }

  #properties(value: JsonValue, node: JsonObject, place: Place): JsonObject {
    const required = textsOf(node["required"]);
    const { propertyNames, allRequired } = this.#rules;
    const fitted: [string, JsonValue][] = [];
    for (const [name, schema] of Object.entries(objectOf(value))) {
      const at = { ...place, steps: [...place.steps, "properties", name] };
      if (propertyNames?.test(name) === false) {
        if (required.includes(name))
          throw new ToolError("invalid_schema", `The required parameter ${JSON.stringify(name)} has a name that the provider refuses.`);
        this.#losses.loseAt(at.steps, "The provider refuses this name: the parameter is left out.");
        continue;
      }
      if (allowsNothing(schema)) continue; // the property must be absent, so it is not declared
      const one = this.#fit(schema, at);
      fitted.push([name, allRequired === true && !required.includes(name) ? withNull(one) : one]);
    }
    return Object.fromEntries(fitted);
  }

  #required(names: readonly string[], node: JsonObject, place: Place): readonly string[] {
    const properties = objectOf(node["properties"]);
    const unnamed = names.filter((name) => !Object.hasOwn(properties, name) || allowsNothing(properties[name]));
    if (this.#rules.requiredAreNamed !== true || unnamed.length === 0) return [...new Set(names)];
    this.#losses.lose(place, "required", `Required, but not described: ${unnamed.slice(0, 10).join(", ")}.`);
    return [...new Set(names)].filter((name) => !unnamed.includes(name));
  }

  #closeObject(node: JsonObject, { out, description, place }: Work): void {
    const { closed, allRequired } = this.#rules;
    if (closed !== true) return;
    const { additionalProperties: others } = node;
    const named = objectOf(out["properties"]);
    out["properties"] = named;
    out["required"] = allRequired === true ? Object.keys(named) : (out["required"] ?? []);
    out["additionalProperties"] = false;
    const open = others === undefined ? Object.keys(named).length === 0 && place.steps.length > 0 : !allowsNothing(others);
    if (!open) return;
    if (isJsonObject(others)) description.add("additionalProperties", others);
    this.#losses.lose(place, "additionalProperties", "Keys that are not named are refused.");
  }

  /** Writes a tuple for providers that support only one schema for all items. */
  #tuple(node: JsonObject, { out, description, place }: Work): void {
    if (out["items"] !== undefined) return;
    const { keyword, first, any } = tupleOf(node);
    if (first.length > 0) {
      description.add("items in order", first);
      this.#losses.lose(place, keyword, "The order of the items is in the description only.");
    }
    if (any !== undefined && this.#rules.keeps.has("items")) out["items"] = this.#fit(any, { ...place, steps: [...place.steps, "items"] });
  }

  /** Replaces a constraint that is not allowed by an equivalent one, or moves it into the description. */
  #replace(keyword: string, value: JsonValue, work: Work, node: JsonObject): void {
    const { out } = work;
    const step = keyword === "exclusiveMinimum" ? 1 : keyword === "exclusiveMaximum" ? -1 : 0;
    const inclusive = keyword === "exclusiveMinimum" ? "minimum" : "maximum";
    const whole = typeof value === "number" && Number.isSafeInteger(value) && namedTypes(node)?.join() === "integer";
    if (step !== 0 && whole && this.#rules.keeps.has(inclusive)) {
      out[inclusive] = stricter(inclusive, value + step, out[inclusive]);
      return;
    }
    if (!isTrivial(keyword, value)) this.#tell(keyword, value, work);
  }

  #tell(keyword: string, value: JsonValue, { description, place }: Work): void {
    description.add(keyword, value);
    this.#losses.lose(
      place,
      keyword,
      `The description names it${description.hasRoomFor(value) ? "" : ", without its value"}; the provider does not enforce it.`,
    );
  }

  #fitReference(node: JsonObject, reference: string, place: Place): JsonObject {
    const target = this.#flattener.references.follow(reference);
    if (!isJsonObject(target)) {
      if (target !== true) this.#losses.lose(place, "$ref", "It refers to nothing.");
      return this.#fitPlain(without(node, "$ref"), place);
    }
    const link = { $ref: `#/$defs/${this.#define(target, reference)}` };
    const rest = without(node, "$ref");
    const description = new Description(rest["description"]);
    const out: Record<string, JsonValue> = {};
    for (const [keyword, value] of Object.entries(rest)) this.#keyword(keyword, value, { out, description, place }, rest);
    const beside = { ...out, ...description.field(undefined) };
    if (this.#rules.bareReferences !== true || Object.keys(beside).length === 0) return { ...link, ...beside };
    return { anyOf: [link], ...beside };
  }

  #define(target: JsonObject, reference: string): string {
    let name = this.#definitionNames.get(target);
    if (name === undefined) {
      const wanted = /[A-Za-z0-9_-]{1,48}$/u.exec(reference)?.[0] ?? "root";
      name = this.#uses.has(wanted) ? `${wanted}_${this.#definitionNames.size}` : wanted;
      this.#uses.set(name, new Set());
      this.#definitionNames.set(target, name);
      this.#pending.push(target);
    }
    this.#uses.get(this.#within)?.add(name);
    return name;
  }

  #anything(place: Place): JsonObject {
    if (this.#rules.typed !== true) return {};
    this.#losses.loseAt(place.steps, "Any value is allowed, but here only strings, numbers and booleans.");
    return { anyOf: [{ type: "string" }, { type: "number" }, { type: "boolean" }] };
  }

  #nothing(place: Place): JsonObject {
    if (this.#rules.keeps.has("not")) return { not: {} };
    this.#losses.loseAt(place.steps, "No value fits, and the provider cannot express that.");
    return this.#rules.typed === true ? { type: "string" } : {};
  }
}

/** A schema that is being written. */
interface Work {
  readonly out: Record<string, JsonValue>;
  readonly description: Description;
  readonly place: Place;
}

const COUNTS: ReadonlySet<string> = new Set(["minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"]);
