/** How often a search finds what people asked for, on queries that others published: `../shared/cases` or `$HAFT_CASES`. Figures are printed. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isJsonObject, type JsonObject } from "../../src/core/base/json.ts";
import { parseJson } from "../../src/core/base/parse-json.ts";
import type { JsonSchema, Tool } from "../../src/core/tool.ts";
import { Registry } from "../../src/registry/registry.ts";

const FOLDER = join(process.env["HAFT_CASES"] ?? join(import.meta.dirname, "../../../../shared/cases"), "toolbench");
/** A search that reads words as they are written finds 146 of the 208. */
const FLOOR = 175;

function lines(file: string): readonly JsonObject[] {
  const read = (line: string): JsonObject => {
    const value = parseJson(line);
    return isJsonObject(value) ? value : {};
  };
  return readFileSync(join(FOLDER, file), "utf8").trim().split("\n").map(read);
}

/** Queries spell servers as people do, the tools as identifiers. */
function keyOf(server: unknown, api: unknown): string {
  return [server, api]
    .map((part) =>
      String(part)
        .toLowerCase()
        .replaceAll(/[^a-z0-9]/gu, ""),
    )
    .join(" ");
}

describe.skipIf(!existsSync(FOLDER))("recorded queries over 2,490 tools", () => {
  test("a relevant tool is among the first five for most of them", () => {
    const registry = new Registry();
    const named = new Map<string, string>();
    for (const { server, api, normalizedName, description, inputSchema } of lines("apis.jsonl")) {
      const tool: Tool = { name: String(normalizedName), description: String(description ?? ""), inputSchema: inputSchema as JsonSchema }; // as published
      const qualifiedName = `${String(server)}::${tool.name}`;
      if (!registry.has(qualifiedName)) registry.register(tool, String(server));
      named.set(keyOf(server, api), qualifiedName);
    }
    const queries = lines("queries.jsonl");
    const found = queries.filter(({ query, relevant }) => {
      const wanted = new Set(
        Array.isArray(relevant) ? relevant.map((pair) => (Array.isArray(pair) ? named.get(keyOf(pair[0], pair[1])) : "")) : [],
      );
      return registry.search({ text: String(query), limit: 5 }).some(({ qualifiedName }) => wanted.has(qualifiedName));
    });
    console.log(
      `tool search: a relevant tool is in the first five for ${found.length} of ${queries.length} queries over ${registry.size} tools`,
    );
    expect(found.length).toBeGreaterThanOrEqual(Math.floor((queries.length * FLOOR) / 208));
  });
});
