/** Reads a file of tools in any of its shapes, each tool separately. */
import { addTo } from "../../core/base/add-to.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";
import { ToolError, formatForOperator } from "../../core/error.ts";
import { checkName } from "../../core/call.ts";
import type { Tool } from "../../core/tool.ts";
import { schemaFingerprint } from "../../schema/fingerprint.ts";
import type { KeyPath, ParsedFile } from "../../documents/key-positions.ts";
import type { YamlLimits } from "../../documents/parse-yaml.ts";
import { recognizeForeignDocument } from "../../documents/foreign-document.ts";
import { Problems } from "../../documents/problems.ts";
import { readDocument, type DocumentEnding } from "../../documents/read-document.ts";
import { isTable, kindOf } from "../table-reader.ts";
import { looksLikeTool, toolFromFile } from "./tool-from-file.ts";

export const TOOL_FILE_ENDINGS: readonly DocumentEnding[] = [".yaml", ".yml", ".json"];

/** The namespace of tools that do not name one. */
export interface NamespaceOptions {
  /** Wins over the namespace of the file, but not over that of a tool. */
  readonly namespace?: string | undefined;
  /** The namespace if neither names one. */
  readonly otherwise: string;
}

export interface ReadTools {
  /** By namespace, both in the order of the file. Tools with the same name have different input schemas. */
  readonly tools: ReadonlyMap<string, readonly Tool[]>;
  /** Tools that were left out, each with its place and reason. */
  readonly problems: readonly string[];
  /** Unknown keys of the tools that were read. */
  readonly unknown: readonly string[];
  /** Type names that were replaced in the tools that were read. */
  readonly notes: readonly string[];
}

const MAX_BYTES = 16 * 1024 * 1024;
/** Places are recorded for the keys of a tool, but not within its schemas. */
const LIMITS: YamlLimits = {
  maxTokens: 1_000_000,
  maxDepth: 64,
  maxAliases: 1_000,
  maxNodes: 1_000_000,
  positionDepth: 4,
  roundsBounds: true,
};

/**
 * Reads the tools of a YAML or JSON file: an array of them, an object of them by name, an object of arrays by namespace, or `{namespace, tools:
 * […]}`.
 *
 * @throws ToolError `invalid_config` if the file or all of its tools cannot be read
 */
export async function readToolFile(path: string, options: NamespaceOptions): Promise<ReadTools> {
  const parsed = await readDocument({
    path,
    what: "tool file",
    endings: TOOL_FILE_ENDINGS,
    maxBytes: MAX_BYTES,
    hint: "Name the file itself, such as tools.yaml.",
    limits: LIMITS,
  });
  return toolsOf(parsed, path, options);
}

/** @throws ToolError `invalid_config` if no tool in it can be read */
function toolsOf({ value, positions }: ParsedFile, file: string, options: NamespaceOptions): ReadTools {
  const foreign = isTable(value) && isWrapped(Object.entries(value)) ? undefined : recognizeForeignDocument(value);
  if (foreign !== undefined)
    throw new ToolError("invalid_config", `${file} is not a tool file: it is ${foreign.what}.`, { operatorHint: foreign.instead });
  const collector = new ToolCollector(new Problems(file, positions), options);
  collector.readAll(value);
  return collector.finish();
}

/** Returns the tools of an array in another file. */
export function toolsOfList(list: readonly unknown[], path: KeyPath, from: { readonly problems: Problems } & NamespaceOptions): ReadTools {
  const collector = new ToolCollector(from.problems, from);
  collector.readList(list, path, undefined);
  return collector.finish();
}

class ToolCollector {
  readonly #problems: Problems;
  readonly #options: NamespaceOptions;
  readonly #tools = new Map<string, Tool[]>();
  /** Tools by namespace and name. */
  readonly #families = new Map<string, Map<string, Family>>();
  readonly #unknown: string[] = [];
  readonly #notes: string[] = [];

  constructor(problems: Problems, options: NamespaceOptions) {
    this.#problems = problems;
    this.#options = options;
  }

  readAll(value: unknown): void {
    if (Array.isArray(value)) return this.readList(value, [], undefined);
    if (!isTable(value)) return this.#problems.add([], `a tool file holds an array or an object of tools, not ${kindOf(value)}.`);
    const entries = Object.keys(value).map((key): readonly [string, unknown] => [key, Reflect.get(value, key)]);
    if (isWrapped(entries)) return this.#readWrapped(entries);
    const namespace = readNamespace(value);
    for (const [key, item] of entries) {
      if (Array.isArray(item)) this.readList(item, [key], key);
      else if (isTable(item) && looksLikeTool(item)) this.#readTool(item, [key], { namespace, name: key });
      else if (key !== "namespace" || namespace === undefined) this.#problems.add([key], describeInvalidItem(item));
    }
  }

  readList(list: readonly unknown[], path: KeyPath, namespace: string | undefined): void {
    list.forEach((item, index) => this.#readTool(item, [...path, index], { namespace }));
  }

  finish(): ReadTools {
    if (this.#tools.size === 0) this.#problems.throwIfAny();
    return { tools: this.#tools, problems: this.#problems.formatLines(), unknown: this.#unknown, notes: this.#notes };
  }

  #readWrapped(entries: readonly (readonly [string, unknown])[]): void {
    const wrapper = Object.fromEntries(entries);
    const namespace = readNamespace(wrapper);
    for (const [key, item] of entries) {
      if (key === "tools" && Array.isArray(item)) this.readList(item, [key], namespace);
      else if (key === "namespace" && namespace === undefined) this.#problems.add([key], `must be a string, not ${kindOf(item)}.`);
      else if (!WRAPPER_WORDS.has(key)) this.#unknown.push(this.#problems.formatLine([key], "unknown key next to the array of tools."));
    }
  }

  #readTool(value: unknown, path: KeyPath, from: { readonly namespace: string | undefined; readonly name?: string }): void {
    try {
      const { tool, namespace: own, notes, unknown } = toolFromFile(value, from.name);
      const namespace = own ?? this.#options.namespace ?? from.namespace ?? this.#options.otherwise;
      checkName(namespace, "toolset");
      this.#add(tool, namespace);
      for (const line of unknown) this.#unknown.push(this.#problems.formatLine(path, line));
      for (const note of notes) this.#notes.push(this.#problems.formatLine(path, note));
    } catch (thrown: unknown) {
      this.#problems.add(path, formatForOperator(thrown));
    }
  }

  #add(tool: Tool, namespace: string): void {
    const names = getOrAdd(this.#families, namespace, () => new Map<string, Family>());
    if (
      isRepeated(
        tool,
        getOrAdd(names, tool.name, () => ({ first: tool, schemas: new Set() })),
      )
    ) {
      throw new ToolError(
        "duplicate",
        `the tool ${JSON.stringify(tool.name)} is already defined with the same input schema; an overload needs a different one.`,
      );
    }
    addTo(this.#tools, namespace, tool);
  }
}

/** The keys that are allowed next to an array of tools, including those of a saved response of an MCP server. */
const WRAPPER_WORDS: ReadonlySet<string> = new Set(["tools", "namespace", "description", "version", "nextCursor", "_meta", "$schema"]);

/** Whether the file is `{namespace, tools: […]}`, and not a table of namespaces of which one is called "tools". */
function isWrapped(entries: readonly (readonly [string, unknown])[]): boolean {
  const hasTools = entries.some(([key, item]) => key === "tools" && Array.isArray(item));
  return hasTools && entries.every(([key, item]) => key === "tools" || WRAPPER_WORDS.has(key) || typeof item !== "object" || item === null);
}

function readNamespace(table: object): string | undefined {
  const namespace: unknown = Object.hasOwn(table, "namespace") ? Reflect.get(table, "namespace") : undefined;
  return typeof namespace === "string" ? namespace : undefined;
}

function describeInvalidItem(item: unknown): string {
  if (!isTable(item)) return `must be an array of tools or one tool, not ${kindOf(item)}.`;
  return "is neither an array of tools nor a tool: it has no description and no parameters.";
}

/** The tools with one name. */
interface Family {
  readonly first: Tool;
  /** The fingerprints of their input schemas; empty until there is a second tool. */
  readonly schemas: Set<string | undefined>;
}

/** Whether a tool with the same name has the same input schema. If not, adds its schema to the family. */
function isRepeated(tool: Tool, { first, schemas }: Family): boolean {
  if (tool === first) return false;
  if (schemas.size === 0) schemas.add(fingerprintOf(first));
  const fingerprint = fingerprintOf(tool);
  const isThere = fingerprint !== undefined && schemas.has(fingerprint);
  schemas.add(fingerprint);
  return isThere;
}

/** Undefined for a schema that cannot be hashed: it equals no other, and the registry disables its tool. */
function fingerprintOf({ inputSchema }: Tool): string | undefined {
  try {
    return schemaFingerprint(inputSchema);
  } catch {
    return undefined;
  }
}
