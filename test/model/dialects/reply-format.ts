/** What fake providers demand of the schema that a reply shall fit. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../../src/core/base/json.ts";
import { checkSchema, demand, objectAt, textAt } from "./dialect.ts";

/** `response_format` of Chat Completions, and `text.format` of Responses, whose fields stand beside its type. */
export function checkOpenAiFormat(format: JsonValue, messages: JsonValue, wrapped: boolean): void {
  const { type, json_schema: inner, ...flat } = objectAt(format, "response_format");
  if (type === "json_object") {
    demand(/json/iu.test(JSON.stringify(messages)), "'messages' must contain the word 'json' in some form.");
    return;
  }
  demand(type === "json_schema", `response_format.type: ${JSON.stringify(type)} is not one of the types.`);
  const { name, schema, strict } = wrapped ? objectAt(inner, "response_format.json_schema") : flat;
  demand(/^[a-zA-Z0-9_-]{1,64}$/u.test(textAt(name, "json_schema.name")), "json_schema.name: does not match the pattern.");
  checkSchema(schema, "json_schema.schema");
  if (strict === true) checkHeld(objectAt(schema, "json_schema.schema"), true);
}

const NEVER_HELD = ["minLength", "maxLength", "oneOf", "allOf", "not", "patternProperties", "uniqueItems", "default"] as const;

/** Every object is closed; `allRequired`: and requires all it names. */
export function checkHeld(schema: JsonValue, allRequired: boolean): void {
  if (isJsonArray(schema)) for (const part of schema) checkHeld(part, allRequired);
  if (!isJsonObject(schema)) return;
  for (const keyword of NEVER_HELD) demand(schema[keyword] === undefined, `Invalid schema: '${keyword}' is not permitted.`);
  if (schema["type"] === "object") checkClosed(schema, allRequired);
  const { properties, ...others } = schema;
  for (const part of [...Object.values(others), ...(isJsonObject(properties) ? Object.values(properties) : [])])
    checkHeld(part, allRequired);
}

function checkClosed({ properties, required = [], additionalProperties }: JsonObject, allRequired: boolean): void {
  demand(additionalProperties === false, "Invalid schema: 'additionalProperties' is required to be supplied and to be false.");
  const names = Object.keys(isJsonObject(properties) ? properties : {});
  demand(
    !allRequired || (isJsonArray(required) && names.every((name) => required.includes(name))),
    "Invalid schema: 'required' is required to be supplied and to be an array including every key in properties.",
  );
}
