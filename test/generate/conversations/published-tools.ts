/** Tools that others published, as far as they are at hand: `../shared/cases` or `$HAFT_CASES`. Read in place. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/core/base/json.ts";
import { parseJson } from "../../../src/core/base/parse-json.ts";
import type { JsonSchema, Tool } from "../../../src/core/tool.ts";
import type { Toolset } from "../../../src/core/toolset.ts";
import { toolFromJson } from "../../../src/registry/tool-definition.ts";
import { importSchema } from "../../../src/schema/import-schema.ts";

export const CASES = process.env["HAFT_CASES"] ?? join(import.meta.dirname, "../../../../shared/cases");
export const HAS_CASES = ["toolbench", "api-bank", "fms-dgt"].every((name) => existsSync(join(CASES, name)));
const LIMITS = { maxChars: Number.MAX_SAFE_INTEGER, maxDepth: 200 };

const TYPES = new Map([
  ["str", "string"],
  ["int", "integer"],
  ["float", "number"],
  ["bool", "boolean"],
  ["NoneType", "null"],
]);

/** The schema of an answer that is written down with the names of types in the places of values. */
export function schemaOfTemplate(template: JsonValue): JsonObject {
  if (Array.isArray(template)) return { type: "array", ...(template[0] !== undefined && { items: schemaOfTemplate(template[0]) }) };
  if (isJsonObject(template)) {
    const properties = Object.fromEntries(
      Object.entries(template)
        .filter(([name]) => name !== "_list_length")
        .map(([name, value]) => [name, schemaOfTemplate(value)]),
    );
    return { type: "object", properties, required: Object.keys(properties) };
  }
  if (typeof template === "string" && /^(?:empty list|list of)/u.test(template)) return { type: "array" };
  const type = TYPES.get(String(template));
  return type === undefined ? {} : { type };
}

/** The schema of parameters in the words of Python, by name. */
export function schemaOfParameters(parameters: JsonValue | undefined): JsonSchema | undefined {
  if (!isJsonObject(parameters)) return undefined;
  const words = new Map([
    ["json", "object"],
    ["Union[List[dict], dict]", "any"],
  ]);
  const properties = Object.entries(parameters).map(([name, value]): [string, JsonValue] => {
    const { type, ...rest } = isJsonObject(value) ? value : {};
    return [name, { ...rest, ...(typeof type === "string" && { type: words.get(type) ?? type }) }];
  });
  return importSchema({ type: "object", properties: Object.fromEntries(properties), required: properties.map(([name]) => name) }).schema;
}

export function toolOf(json: JsonObject, name: JsonValue | undefined, outputSchema: JsonSchema | undefined): Tool {
  const { description = "", inputSchema } = json;
  return {
    name: String(name),
    description: String(description),
    inputSchema: importSchema(inputSchema).schema,
    ...(outputSchema !== undefined && { outputSchema }),
  };
}

function toolset(name: string, tools: readonly Tool[]): Toolset {
  return { name, overloads: true, tools: [...new Map(tools.map((each) => [each.name, each])).values()] };
}

function objects(value: JsonValue): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function jsonOf(path: string): JsonValue {
  return parseJson(readFileSync(join(CASES, path), "utf8"), LIMITS);
}

/** The open tools of ToolBench, API-Bank and fms-dgt. */
export function publishedToolsets(): readonly Toolset[] {
  const apis = readFileSync(join(CASES, "toolbench/apis.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => parseJson(line, LIMITS))
    .filter(isJsonObject);
  const toolbench = apis.map((json) =>
    toolOf(json, json["normalizedName"], isJsonObject(json["templateResponse"]) ? schemaOfTemplate(json["templateResponse"]) : undefined),
  );
  const apiBank = objects(jsonOf("api-bank/tools.json")).map((json) =>
    toolOf(json, json["name"], schemaOfParameters(json["outputParameters"])),
  );
  const seeds = readdirSync(join(CASES, "fms-dgt"))
    .filter((file) => file.endsWith("-query_tools.yaml"))
    .map((file) => {
      const all: unknown = parse(readFileSync(join(CASES, "fms-dgt", file), "utf8"));
      return toolset(
        file.replace("-query_tools.yaml", ""),
        Object.values(Object(all)).map((json) => toolFromJson(json).tool),
      );
    });
  return [toolset("toolbench", toolbench), toolset("api-bank", apiBank), ...seeds];
}
