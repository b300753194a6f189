/** Checks the input of a call before its references are resolved: their presence is known, their values are not. */
import { isJsonObject, formatJsonPath, type JsonObject } from "../../core/base/json.ts";
import type { JsonSchema } from "../../core/tool.ts";
import { compileSchema, type SchemaProblem, type Validator } from "../../schema/compile-schema.ts";
import { repairInput } from "../../schema/repair/repair-input.ts";
import { escapePointerStep } from "../../core/base/json-pointer.ts";
import { wordSet } from "../../core/base/wording.ts";

/** The paths to the strings that are references. */
type ReferencePlaces = readonly (readonly (string | number)[])[];

export interface InputRules {
  /** Whether to report problems that the runtime would repair. */
  readonly strictTypes: boolean;
  /** Whether to refuse arguments that the schema does not name, even if it allows others. */
  readonly declaredOnly: boolean;
}

export interface InputProblem extends Pick<SchemaProblem, "path" | "message"> {
  readonly isUnknownArgument: boolean;
}

const MAX_PROBLEMS = 100;
/** The keywords that an object or array can violate whatever the unknown values inside it are. */
const COUNTED: ReadonlySet<string> = wordSet("type required dependentRequired minItems maxItems minProperties maxProperties limit");
const FORBIDDEN: ReadonlySet<string> = new Set(["additionalProperties", "unevaluatedProperties"]);

/** Returns the problems of an input that do not depend on the values of its references. */
export function checkInput(input: JsonObject, validator: Validator, places: ReferencePlaces, rules: InputRules): readonly InputProblem[] {
  const unknown = rules.declaredOnly ? findUndeclaredArguments(input, validator.schema) : [];
  const strict = validator.problems(input, MAX_PROBLEMS).filter((problem) => isCertain(problem, places));
  const forbidden = strict.filter(isForbidden);
  const broken = strict.filter((problem) => !isForbidden(problem));
  const counts = broken.length > 0 && (rules.strictTypes || !isRepairable(input, validator, places));
  const seen = new Set(unknown.map(({ path }) => path));
  return [
    ...unknown,
    ...forbidden.filter(({ path }) => !seen.has(path)).map((problem) => inputProblem(problem, true)),
    ...(counts ? broken.map((problem) => inputProblem(problem, false)) : []),
  ];
}

function inputProblem({ path, message }: Pick<SchemaProblem, "path" | "message">, isUnknownArgument: boolean): InputProblem {
  return { path, message, isUnknownArgument };
}

function isForbidden({ keyword }: SchemaProblem): boolean {
  return FORBIDDEN.has(keyword);
}

/** Whether the problem remains for any values of the references. */
function isCertain({ pointer, keyword }: SchemaProblem, places: ReferencePlaces): boolean {
  return places.every((steps) => {
    const place = steps.map((step) => `/${typeof step === "number" ? step : escapePointerStep(step)}`).join("");
    if (pointer === place || pointer.startsWith(`${place}/`)) return FORBIDDEN.has(keyword);
    return !place.startsWith(`${pointer}/`) || COUNTED.has(keyword) || FORBIDDEN.has(keyword);
  });
}

/** Whether the runtime could repair the input, ignoring the references. */
function isRepairable(input: JsonObject, validator: Validator, places: ReferencePlaces): boolean {
  try {
    const loosened = places.reduce((schema, steps) => allowAnyValue(schema, steps), validator.schema);
    return repairInput(input, places.length === 0 ? validator : compileSchema(loosened), { dropUnknownKeys: true }).ok;
  } catch {
    return false; // the schema refers to a part that was loosened
  }
}

/** Returns the schema with any value allowed at one place, if the schema itself describes that place. */
function allowAnyValue(schema: JsonSchema, [step, ...rest]: readonly (string | number)[]): JsonSchema {
  if (typeof schema === "boolean" || step === undefined) return true;
  const keyword = typeof step === "number" ? "items" : "properties";
  const inside: unknown = schema[keyword];
  if (typeof step === "number") return isSchema(inside) ? { ...schema, items: allowAnyValue(inside, rest) } : schema;
  if (!isJsonObject(inside) || !Object.hasOwn(inside, step)) return schema;
  const part: unknown = inside[step];
  return isSchema(part) ? { ...schema, properties: { ...inside, [step]: allowAnyValue(part, rest) } } : schema;
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "boolean" || isJsonObject(value);
}

/** Returns the arguments that a schema with properties does not name. */
function findUndeclaredArguments(input: JsonObject, schema: JsonSchema): readonly InputProblem[] {
  if (typeof schema === "boolean" || !isJsonObject(schema["properties"])) return [];
  const properties: JsonObject = schema["properties"];
  const patterns = isJsonObject(schema["patternProperties"]) ? Object.keys(schema["patternProperties"]) : [];
  const others = compileSchema({ patternProperties: Object.fromEntries(patterns.map((pattern) => [pattern, false])) });
  return Object.keys(input)
    .filter((key) => !Object.hasOwn(properties, key) && others.check({ [key]: null }))
    .map((key) => ({ path: formatJsonPath([key.slice(0, 100)]), message: "the tool has no such argument", isUnknownArgument: true }));
}
