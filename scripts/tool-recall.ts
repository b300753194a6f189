/**
 * How often a search for tools finds the right one, over the tools and queries that others published.
 *
 * `HAFT_CASES=<folder> node --conditions=haft-source scripts/tool-recall.ts [limit]`. Each set by itself, then with the tools of all sets in one
 * registry. A query of several tools counts once where one of them is found; `tools` counts each of them.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../src/core/base/json.ts";
import { parseJson } from "../src/core/base/parse-json.ts";
import type { JsonSchema } from "../src/core/tool.ts";
import { Registry } from "../src/registry/registry.ts";

/** A query, and the qualified names of the tools that it is about. */
export interface RecallQuery {
  readonly text: string;
  readonly wanted: ReadonlySet<string>;
}

export interface RecallSet {
  readonly name: string;
  /** Puts its tools into a registry, and returns how many it has. */
  readonly register: (registry: Registry) => number;
  readonly queries: readonly RecallQuery[];
}

export interface Recall {
  readonly queries: number;
  /** Queries of which one tool at least was found. */
  readonly found: number;
  readonly tools: number;
  readonly foundTools: number;
}

/** How many of the queries find what they are about among the first `limit` tools. */
export function recallOf(registry: Registry, queries: readonly RecallQuery[], limit: number): Recall {
  const sum = { queries: queries.length, found: 0, tools: 0, foundTools: 0 };
  for (const { text, wanted } of queries) {
    const names = new Set(registry.search({ text, limit }).map(({ qualifiedName }) => qualifiedName));
    const found = [...wanted].filter((name) => names.has(name)).length;
    sum.tools += wanted.size;
    sum.foundTools += found;
    if (found > 0) sum.found++;
  }
  return sum;
}

interface ListedTool {
  readonly namespace: string;
  readonly name: string;
  readonly description: JsonValue | undefined;
  readonly schema: JsonValue | undefined;
}

function registering(tools: readonly ListedTool[]): RecallSet["register"] {
  return (registry) => {
    for (const { namespace, name, description, schema } of tools) {
      if (registry.has(`${namespace}::${name}`)) continue;
      const inputSchema = (isJsonObject(schema) ? schema : {}) as JsonSchema; // as published
      registry.register({ name, description: typeof description === "string" ? description : "", inputSchema }, namespace);
    }
    return new Set(tools.map(({ namespace, name }) => `${namespace}::${name}`)).size;
  };
}

function linesOf(path: string): readonly JsonObject[] {
  return readFileSync(path, "utf8")
    .trim()
    .split("\n")
    .map((line) => objectOf(parseJson(line)));
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return isJsonArray(value) ? value : [];
}

/** Queries spell servers as people do, the tools as identifiers. */
function keyOf(...parts: readonly unknown[]): string {
  return parts
    .map((part) =>
      String(part)
        .toLowerCase()
        .replaceAll(/[^a-z0-9]/gu, ""),
    )
    .join(" ");
}

export function toolbench(folder: string): RecallSet {
  const apis = linesOf(join(folder, "toolbench/apis.jsonl"));
  const named = new Map(
    apis.map(({ server, api, normalizedName }) => [keyOf(server, api), `${String(server)}::${String(normalizedName)}`]),
  );
  const tools = apis.map(({ server, normalizedName, description, inputSchema }) => ({
    namespace: String(server),
    name: String(normalizedName),
    description,
    schema: inputSchema,
  }));
  const queries = linesOf(join(folder, "toolbench/queries.jsonl")).map(({ query, relevant }) => ({
    text: String(query),
    wanted: new Set(listOf(relevant).flatMap((pair) => named.get(keyOf(...listOf(pair))) ?? [])),
  }));
  return { name: "toolbench", register: registering(tools), queries: queries.filter(({ wanted }) => wanted.size > 0) };
}

export function bfcl(folder: string): RecallSet {
  const docs = linesOf(join(folder, "bfcl/tools.jsonl"));
  const nameOf = ({ name }: JsonObject): string => String(name).replaceAll(/[^\w.-]/gu, "_");
  const byId = new Map(docs.map((doc) => [doc["id"], nameOf(doc)]));
  const tools = docs.map((doc) => ({ namespace: "bfcl", name: nameOf(doc), description: doc["description"], schema: doc["inputSchema"] }));
  const queries = linesOf(join(folder, "bfcl/cases.jsonl")).map(({ messages, expectedCalls }) => ({
    text: listOf(messages)
      .flatMap((turn) => listOf(turn))
      .map(objectOf)
      .filter(({ role }) => role === "user")
      .map(({ content }) => String(content))
      .join(" "),
    wanted: new Set(
      listOf(expectedCalls)
        .flatMap((call) => byId.get(objectOf(call)["tool"]) ?? [])
        .map((name) => `bfcl::${name}`),
    ),
  }));
  return { name: "bfcl", register: registering(tools), queries: queries.filter(({ wanted }) => wanted.size > 0) };
}

/** Tools of MCP servers; the set gives no queries. */
export function livemcp(folder: string): RecallSet {
  const tools = linesOf(join(folder, "livemcp/tools.jsonl")).map(({ server, name, description, inputSchema }) => ({
    namespace: `mcp-${String(server)}`,
    name: String(name),
    description,
    schema: inputSchema,
  }));
  return { name: "livemcp", register: registering(tools), queries: [] };
}

/** Tools for training data; the set gives no queries. */
export function fmsDgt(folder: string): RecallSet {
  const tools = ["When2Call", "glaive-function-calling-v2", "xlam-function-calling-60k"].flatMap((name) => {
    const file = objectOf(parse(readFileSync(join(folder, `fms-dgt/${name}-query_tools.yaml`), "utf8")) as JsonValue);
    return Object.entries(file).map(([key, tool]) => ({
      namespace: name,
      name: key.replaceAll("::", "_"),
      description: objectOf(tool)["description"],
      schema: objectOf(tool)["parameters"],
    }));
  });
  return { name: "fms-dgt", register: registering(tools), queries: [] };
}

function line(name: string, size: number, { queries, found, tools, foundTools }: Recall): string {
  const share = (part: number, whole: number): string => `${part} of ${whole} (${((100 * part) / Math.max(1, whole)).toFixed(1)} %)`;
  return `${name.padEnd(28)} ${String(size).padStart(6)} tools   queries ${share(found, queries)}   tools ${share(foundTools, tools)}`;
}

function main(): void {
  const folder = process.env["HAFT_CASES"];
  const limit = Number(process.argv[2] ?? 5);
  if (folder === undefined || !Number.isInteger(limit) || limit < 1) {
    process.stderr.write("Usage: HAFT_CASES=<folder> node --conditions=haft-source scripts/tool-recall.ts [limit]\n");
    process.exitCode = 2;
    return;
  }
  const sets = [toolbench, bfcl, livemcp, fmsDgt].map((read) => read(folder));
  const all = new Registry();
  for (const { name, register, queries } of sets) {
    const registry = new Registry();
    const size = register(registry);
    register(all);
    if (queries.length > 0) console.log(line(name, size, recallOf(registry, queries, limit)));
    else console.log(`${name.padEnd(28)} ${String(size).padStart(6)} tools   no queries`);
  }
  for (const { name, queries } of sets)
    if (queries.length > 0) console.log(line(`${name}, all tools`, all.size, recallOf(all, queries, limit)));
}

if (import.meta.main) main();
