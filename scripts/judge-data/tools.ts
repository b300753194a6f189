/** Reads the tools to judge: YAML maps of tools, lists of APIs with sample answers, and lists with described outputs. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/core/base/json.ts";
import type { Tool } from "../../src/core/tool.ts";

export interface JudgedTool {
  readonly set: string;
  readonly tool: Tool;
}

/** Sets that are not there are left out. */
export function readTools(folder: string): readonly JudgedTool[] {
  return [
    ...yamlTools(join(folder, "fms-dgt")),
    ...apiTools(join(folder, "toolbench", "apis.jsonl")),
    ...bankTools(join(folder, "api-bank", "tools.json")),
  ];
}

const toolName = (name: string): string => name.replaceAll(/[^\w-]+/gu, "_").slice(0, 60);

function yamlTools(folder: string): readonly JudgedTool[] {
  const files = existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith("-query_tools.yaml")) : [];
  return files.flatMap((file) => {
    const document: Record<string, JsonObject> = parse(readFileSync(join(folder, file), "utf8"));
    return Object.entries(document).map(([key, { description = "", parameters = {} }]) => ({
      set: file.split("-")[0] ?? "",
      tool: { name: toolName(key), description: String(description), inputSchema: parameters as JsonObject },
    }));
  });
}

function apiTools(path: string): readonly JudgedTool[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n");
  return lines
    .filter((line) => line !== "")
    .map((line) => {
      const { normalizedName, description, inputSchema, templateResponse } = JSON.parse(line);
      const outputSchema = isJsonObject(templateResponse) ? schemaOfSample(templateResponse) : undefined;
      return {
        set: "toolbench",
        tool: {
          name: toolName(normalizedName),
          description: String(description ?? ""),
          inputSchema,
          ...(outputSchema && { outputSchema }),
        },
      };
    });
}

const SAMPLED: Readonly<Record<string, string>> = { str: "string", int: "integer", float: "number", bool: "boolean" };

function schemaOfSample(sample: JsonValue): JsonObject {
  if (Array.isArray(sample)) return { type: "array", ...(sample[0] !== undefined && { items: schemaOfSample(sample[0]) }) };
  if (isJsonObject(sample)) {
    const properties = Object.fromEntries(
      Object.entries(sample)
        .filter(([name]) => name !== "_list_length")
        .map(([name, one]) => [name, schemaOfSample(one)]),
    );
    return { type: "object", properties };
  }
  return { type: SAMPLED[String(sample)] ?? "string" };
}

function bankTools(path: string): readonly JudgedTool[] {
  if (!existsSync(path)) return [];
  const tools: readonly { readonly [key: string]: JsonObject & string }[] = JSON.parse(readFileSync(path, "utf8"));
  return tools.map(({ name, description, inputSchema, outputParameters }) => {
    const properties = Object.fromEntries(
      Object.entries(outputParameters ?? {}).flatMap(([key, one]) => {
        if (!isJsonObject(one)) return [];
        const type = SAMPLED[String(one["type"])];
        return [[key, { description: String(one["description"] ?? ""), ...(type !== undefined && { type }) }]];
      }),
    );
    return {
      set: "api-bank",
      tool: {
        name: toolName(String(name)),
        description: String(description),
        inputSchema: inputSchema ?? {},
        outputSchema: { type: "object", properties },
      },
    };
  });
}
