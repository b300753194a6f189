/** Finds the form field for a JSON Schema. Schemas without a suitable field are edited as JSON. */

export type Schema = Readonly<Record<string, unknown>>;

export type FieldShape =
  | { readonly kind: "object"; readonly properties: readonly Property[]; readonly isOpen: boolean }
  | { readonly kind: "array"; readonly items: Schema }
  | { readonly kind: "choice"; readonly values: readonly unknown[] }
  | { readonly kind: "union"; readonly members: readonly Member[] }
  | { readonly kind: "text"; readonly format: string | undefined; readonly isLong: boolean }
  | { readonly kind: "number"; readonly isInteger: boolean }
  | { readonly kind: "boolean" }
  | { readonly kind: "json" };

export interface Property {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
}

export interface Member {
  readonly name: string;
  readonly schema: Schema;
}

const MAX_REFERENCES = 20;
const LONG_TEXT = 200;
const MAX_UNIONS = 5;

/** Follows local references. A reference that is unresolved stays as it is; a circle becomes an empty schema. */
export function resolveLocalReferences(schema: unknown, root: unknown): Schema {
  let at = asSchema(schema);
  for (let steps = 0; steps < MAX_REFERENCES; steps++) {
    const reference = at["$ref"];
    if (typeof reference !== "string") return at;
    const target = findReference(reference, root);
    if (target === undefined) return at;
    const { $ref: _, ...siblings } = at;
    at = { ...target, ...siblings };
  }
  return {};
}

/** Returns the shape of a schema. @param schema with its references resolved */
export function toFieldShape(schema: Schema, root: unknown): FieldShape {
  const { const: constant, enum: values, oneOf, anyOf } = schema;
  if (Object.hasOwn(schema, "const")) return { kind: "choice", values: [constant] };
  if (Array.isArray(values)) return { kind: "choice", values: values.slice(0, 500) };
  const members = Array.isArray(oneOf) ? oneOf : Array.isArray(anyOf) ? anyOf : undefined;
  if (members !== undefined) return unionShape(members, schema, root);
  if (["allOf", "not", "if", "$ref", "patternProperties"].some((keyword) => Object.hasOwn(schema, keyword))) return { kind: "json" };
  return typeShape(schema, findType(schema));
}

/** Returns the type, if there is exactly one besides null. */
function findType({ type, properties }: Schema): string | undefined {
  if (typeof type === "string") return type;
  const types: readonly unknown[] = Array.isArray(type) ? type.filter((one) => one !== "null") : [];
  if (types.length === 1) return String(types[0]);
  return type === undefined && properties !== undefined ? "object" : undefined;
}

export function isNullable({ type }: Schema): boolean {
  return Array.isArray(type) && type.includes("null");
}

/** Returns an initial value: the default, the first choice, or the smallest value of the type. */
export function createInitialValue(schema: Schema, root: unknown, depth = 0): unknown {
  const at = resolveLocalReferences(schema, root);
  if (Object.hasOwn(at, "default")) return at["default"];
  if (at["type"] === "null") return null;
  const shape = toFieldShape(at, root);
  if (shape.kind === "choice") return shape.values[0];
  if (shape.kind === "array") return [];
  if (shape.kind === "boolean") return false;
  if (shape.kind === "union") return depth > 4 ? null : createInitialValue(shape.members[0]?.schema ?? {}, root, depth + 1);
  if (shape.kind === "text") return "";
  if (shape.kind !== "object") return undefined;
  if (depth > 4) return {};
  const entries = shape.properties
    .filter(({ isRequired, schema }) => isRequired || Object.hasOwn(resolveLocalReferences(schema, root), "default"))
    .map(({ name, schema }) => [name, createInitialValue(schema, root, depth + 1)] as const)
    .filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries);
}

function typeShape(schema: Schema, type: string | undefined): FieldShape {
  const { format, maxLength } = schema;
  switch (type) {
    case "object":
      return { kind: "object", properties: listProperties(schema), isOpen: schema["additionalProperties"] !== false };
    case "array":
      return isSchema(schema["items"]) && !Array.isArray(schema["prefixItems"])
        ? { kind: "array", items: schema["items"] }
        : { kind: "json" };
    case "string":
      return {
        kind: "text",
        format: typeof format === "string" ? format : undefined,
        isLong: typeof maxLength === "number" && maxLength > LONG_TEXT,
      };
    case "integer":
    case "number":
      return { kind: "number", isInteger: type === "integer" };
    case "boolean":
      return { kind: "boolean" };
    default:
      return { kind: "json" };
  }
}

function listProperties({ properties, required }: Schema): readonly Property[] {
  const names: ReadonlySet<unknown> = new Set(Array.isArray(required) ? required : []);
  if (!isSchema(properties)) return [];
  return Object.entries(properties)
    .slice(0, 200)
    .map(([name, schema]) => ({ name, schema: asSchema(schema), isRequired: names.has(name) }));
}

/**
 * Returns the first member of a union that a value matches by its type, its required keys and its constants; else the last one.
 *
 * @param last the member that was chosen last, which is preferred
 */
export function findMember(members: readonly Member[], value: unknown, root: unknown, last = 0): number {
  const matches = ({ schema }: Member): boolean => matchesSchema(value, schema, root, 0);
  const lastMember = members[last];
  if (value === undefined || (lastMember !== undefined && matches(lastMember))) return last;
  const index = members.findIndex(matches);
  return index < 0 ? last : index;
}

function matchesSchema(value: unknown, schema: Schema, root: unknown, depth: number): boolean {
  const at = resolveLocalReferences(schema, root);
  const { type, required } = at;
  if (isSchema(value) && Array.isArray(required) && !required.every((name) => Object.hasOwn(value, String(name)))) return false;
  const shape = toFieldShape(at, root);
  switch (shape.kind) {
    case "object":
      return isSchema(value) && shape.properties.every((property) => matchesChoice(value, property, root));
    case "array":
      return Array.isArray(value);
    case "choice":
      return shape.values.includes(value);
    case "union":
      return depth < MAX_UNIONS && shape.members.some((member) => matchesSchema(value, member.schema, root, depth + 1));
    case "text":
      return typeof value === "string";
    case "json":
      return type !== "null" || value === null;
    default:
      return typeof value === shape.kind;
  }
}

/** Whether a property of an object matches. Only constants and enums count: a typed value may still be wrong. */
function matchesChoice(object: Schema, { name, schema }: Property, root: unknown): boolean {
  const shape = toFieldShape(resolveLocalReferences(schema, root), root);
  return shape.kind !== "choice" || !Object.hasOwn(object, name) || shape.values.includes(object[name]);
}

/** Returns the shape of a union. A union of null and one other schema is that schema; further members are chosen by a name that tells them apart. */
function unionShape(members: readonly unknown[], schema: Schema, root: unknown): FieldShape {
  const all = members.slice(0, 50).map((member) => withSharedProperties(resolveLocalReferences(member, root), schema));
  const some = all.filter(({ type }) => type !== "null");
  if (some.length === 1 && some[0] !== undefined) return toFieldShape(some[0], root);
  const names = all.map((member, index) => memberName(member, schema, index));
  const isTwice = (name: string): boolean => names.indexOf(name) !== names.lastIndexOf(name);
  const toName = (name: string, index: number): string => (isTwice(name) ? `${name} ${index + 1}` : name);
  return { kind: "union", members: all.map((member, index) => ({ name: toName(names[index] ?? "", index), schema: member })) };
}

/** Returns a member with the properties that the schema of the union has for all members. */
function withSharedProperties(member: Schema, { properties, required }: Schema): Schema {
  const { type = "object" } = member;
  if (!isSchema(properties) || type !== "object") return member;
  const own = isSchema(member["properties"]) ? member["properties"] : {};
  const names = [required, member["required"]].flatMap((list): unknown[] => (Array.isArray(list) ? list : []));
  return { ...member, properties: { ...properties, ...own }, required: [...new Set(names)] };
}

function memberName(member: Schema, { discriminator }: Schema, index: number): string {
  if (typeof member["title"] === "string") return member["title"];
  const wanted = isSchema(discriminator) ? discriminator["propertyName"] : undefined;
  const properties = isSchema(member["properties"]) ? member["properties"] : {};
  const tag = Object.entries(properties).find(
    ([name, one]) => (wanted === undefined || name === wanted) && isSchema(one) && Object.hasOwn(one, "const"),
  );
  if (tag !== undefined && isSchema(tag[1])) return String(tag[1]["const"]);
  return findType(member) ?? `Form ${index + 1}`;
}

function findReference(reference: string, root: unknown): Schema | undefined {
  if (reference === "#") return asSchema(root);
  if (!reference.startsWith("#/")) return undefined;
  let at: unknown = root;
  for (const part of reference.slice(2).split("/")) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (!isSchema(at) || !Object.hasOwn(at, name)) return undefined;
    at = at[name];
  }
  return isSchema(at) ? at : undefined;
}

export function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function asSchema(value: unknown): Schema {
  return isSchema(value) ? value : {};
}
