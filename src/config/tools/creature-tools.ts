/** Reads tools as a creature of KohakuTerrarium lists them: `tools: [{ name: read, type: builtin }, { type: trigger }]`. */
import { SECONDS } from "../../core/base/number-bounds.ts";
import type { KeyPath } from "../../documents/key-positions.ts";
import { FILE_TOOLS } from "../../toolsets/files/file-tools.ts";
import { readEnabled } from "../descriptor/read-descriptor.ts";
import { documentPath } from "../tables/documentation-config.ts";
import type { Note } from "./client-formats.ts";
import { isCreatureTool, type RegistryEntry } from "../tables/registry-config.ts";
import { isTable, readTables, type TableReader } from "../table-reader.ts";
import type { ToolsetReadContext } from "../tables/toolset-config.ts";

export interface CreatureTools {
  /** A toolset of the built-in tools that exist here, one of the triggers, and those that run programs; only those that entries name. */
  readonly registry: readonly RegistryEntry[];
  /** For each qualified name, the absolute path of the file that replaces the tool's documentation. */
  readonly documentation: ReadonlyMap<string, string>;
  /** Notes on entries that do not exist here and are left out. */
  readonly notes: readonly Note[];
}

const NAMESPACE = "files";

/** The trigger tools of a program that adds no trigger kinds. */
const TRIGGER_TOOLS = ["add_timer", "add_schedule", "watch_channel"] as const;

/** Tools that run programs; each becomes a separate toolset. */
const PROGRAM_TOOLS: ReadonlyMap<string, "shell" | "python"> = new Map([
  ["bash", "shell"],
  ["python", "python"],
]);

/** Their names for our tools. */
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([["tree", "list"]]);

export function readCreatureTools(root: TableReader, context: ToolsetReadContext, folder: string): CreatureTools {
  const tools = root.value("tools");
  // An entry that is not a table is reported when the registry is read.
  const tables = Array.isArray(tools) ? tools.map((tool) => (isTable(tool) ? tool : {})) : [];
  const entries = readTables(tables, [...root.path, "tools"], context.problems);
  return readEntries(
    entries.filter((entry) => isCreatureTool(entry, context)),
    folder,
  );
}

function readEntries(entries: readonly TableReader[], folder: string): CreatureTools {
  const notes: Note[] = [];
  const documentation = new Map<string, string>();
  const tools: string[] = [];
  const triggers: string[] = [];
  let first: KeyPath | undefined;
  let firstTrigger: KeyPath | undefined;
  const registry: RegistryEntry[] = [];
  for (const entry of entries) {
    if (!readEnabled(entry)) continue;
    const program = readProgram(entry);
    if (program !== undefined && !registry.some(({ namespace }) => namespace === program.namespace)) registry.push(program);
    const trigger = readTrigger(entry, notes);
    if (trigger !== undefined && !triggers.includes(trigger)) triggers.push(trigger);
    if (trigger !== undefined) firstTrigger ??= entry.path;
    const tool = program === undefined ? readEntry(entry, notes) : undefined;
    const path = documentPath(entry, "doc", folder);
    for (const key of Object.keys(entry.rest())) notes.push({ path: [...entry.path, key], text: "is not used here." });
    if (program !== undefined && path !== undefined) documentation.set(`${program.namespace}::${entry.text("name")}`, path);
    if (tool === undefined) continue;
    first ??= entry.path;
    if (!tools.includes(tool)) tools.push(tool);
    if (path !== undefined) documentation.set(`${NAMESPACE}::${tool}`, path);
  }
  if (first !== undefined) registry.push(entryOf(first, NAMESPACE, { type: "files", enabled: true, root: ".", tools }));
  if (firstTrigger !== undefined) registry.push(entryOf(firstTrigger, "triggers", { type: "triggers", enabled: true, tools: triggers }));
  return { registry, documentation, notes };
}

function entryOf(path: KeyPath, namespace: string, toolset: RegistryEntry["toolset"]): RegistryEntry {
  return { path, namespace, toolset, defaultEngine: false };
}

/** Reads an entry that becomes a separate toolset, in the folder of the file; `timeout` is in seconds. Undefined for any other entry. */
function readProgram(entry: TableReader): RegistryEntry | undefined {
  const type = (entry.text("type") ?? "builtin") === "builtin" ? PROGRAM_TOOLS.get(entry.text("name") ?? "") : undefined;
  if (type === undefined) return undefined;
  const timeout = entry.number("timeout", SECONDS);
  return entryOf(entry.path, type, { type, enabled: true, root: ".", ...(timeout === undefined ? {} : { timeoutMs: timeout * 1000 }) });
}

/** Returns the name of a tool that adds triggers; undefined for any other entry, and for a tool that does not exist here, which is noted. */
function readTrigger(entry: TableReader, notes: Note[]): string | undefined {
  if (entry.text("type") !== "trigger") return undefined;
  const name = entry.text("name");
  const tool = TRIGGER_TOOLS.find((known) => known === name);
  const which = name === undefined ? "a trigger without a name" : `the trigger ${JSON.stringify(name)}`;
  if (tool === undefined) notes.push({ path: entry.path, text: `${which} is not one of ${TRIGGER_TOOLS.join(", ")}; it is left out.` });
  return tool;
}

/** Returns the name of our tool; undefined for a tool that does not exist here, which is noted. */
function readEntry(entry: TableReader, notes: Note[]): string | undefined {
  const type = entry.text("type") ?? "builtin";
  const name = entry.text("name");
  const noteLeftOut = (what: string): void => void notes.push({ path: entry.path, text: `${what}; it is left out.` });
  if (type === "trigger") return undefined;
  if (type !== "builtin") {
    noteLeftOut(`a tool of type ${JSON.stringify(type)} is Python code, which is not run here: serve it over MCP, or write it as a module`);
  } else if (name === undefined) {
    entry.requiredText("name", "the built-in tool that is meant");
  } else {
    const tool = OTHER_NAMES.get(name) ?? name;
    if (FILE_TOOLS.some((known) => known === tool)) return tool;
    if (name === "info") notes.push({ path: entry.path, text: 'the tool "info" is added automatically where tools have documentation.' });
    else noteLeftOut(`there is no built-in tool ${JSON.stringify(name)} here, only ${[...FILE_TOOLS, ...PROGRAM_TOOLS.keys()].join(", ")}`);
  }
  return undefined;
}
