/** Reads the file of another MCP client for `haft import`: only its servers, whose variables are not replaced. */
import { extname, dirname, relative, resolve } from "node:path";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { ToolError } from "../core/error.ts";
import { recognizeForeignDocument } from "../documents/foreign-document.ts";
import { homeFolder } from "../documents/home-folder.ts";
import { Problems } from "../documents/problems.ts";
import { readDocument } from "../documents/read-document.ts";
import type { RegistryEntry } from "./tables/registry-config.ts";
import type { ToolsetReadContext } from "./tables/toolset-config.ts";
import { isTable, kindOf, TableReader } from "./table-reader.ts";
import { floatingVersions } from "./trust/floating-version.ts";
import { CHOSEN_SERVERS, CLIENT_FORMATS, clientOf, TOOL_SWITCHES, type ClientFormat, type Note } from "./tools/client-formats.ts";
import {
  hasServers,
  readNamedServers,
  readServersAt,
  findWorkspace,
  type ClientServers,
  type ServerOptions,
  type ServersContext,
} from "./tools/mcp-servers.ts";
import { isRegistryServer, registryServer } from "./tools/registry-server.ts";
import { Variables, type Environment } from "./variables.ts";

const MAX_BYTES = 4 * 1024 * 1024;
/** File name endings that are refused, with a hint. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  [".mcpb", "It is an archive: unzip it, and import its manifest.json."],
  [".dxt", "It is an archive: unzip it, and import its manifest.json."],
  [".xml", "JetBrains shows the servers as JSON under Settings, Tools, AI Assistant, Model Context Protocol: save that as mcp.json."],
]);

export interface LoadedServers {
  readonly entries: readonly RegistryEntry[];
  /** One line each, with its place. */
  readonly warnings: readonly string[];
}

export interface ClientFileOptions {
  readonly environment: Environment;
  /** The folder of the project to import, for clients that keep several projects in one file. */
  readonly project: string;
}

/** @throws ToolError `invalid_config` for a file that cannot be read, has no servers, or has an invalid one */
export async function loadClientServers(path: string, options: ClientFileOptions): Promise<LoadedServers> {
  const refused = REFUSED.get(extname(path).toLowerCase());
  if (refused !== undefined)
    throw new ToolError("invalid_config", `Cannot read the servers of ${path}: its name ends in ${extname(path)}.`, {
      operatorHint: refused,
    });
  const { value, positions } = await readDocument({
    path,
    what: "file of MCP servers",
    endings: [".toml", ".yaml", ".yml", ".json", ".jsonc", ".code-workspace"],
    maxBytes: MAX_BYTES,
    hint: "Name the file itself, such as .mcp.json.",
    jsonComments: true,
  });
  const problems = new Problems(path, positions);
  if (!isTable(value)) problems.add([], `a file of MCP servers must be an object, not ${kindOf(value)}.`);
  const root = new TableReader(isTable(value) ? value : {}, [], problems);
  const { entries, notes } = readAll(root, { path: resolve(path), problems, ...options });
  problems.throwIfAny();
  const lines = notes.map((note) => problems.formatLine(note.path, note.text));
  if (entries.length === 0) throw lines.length === 0 ? noServers(path, value) : noUsableServerError(path, lines);
  const floating = floatingVersions(entries, dirname(resolve(path)));
  return { entries, warnings: [...lines, ...floating.map((note) => problems.formatLine(note.path, note.text))] };
}

interface ReadOptions extends ClientFileOptions {
  readonly path: string;
  readonly problems: Problems;
}

function readAll(root: TableReader, { path, problems, environment, project }: ReadOptions): ClientServers {
  const variables = new Variables({ environment, allowed: new Set(), problems });
  const context: ToolsetReadContext = { variables, problems, otherWords: false, extensionTypes: [], enrichmentTypes: [] };
  const { timeoutUnit, bareVariables } = clientOf(path);
  const folder = dirname(path);
  const startsIn = isUserFile(folder) ? undefined : findWorkspace(folder);
  const common = { folder, workspace: startsIn ?? project, startsIn, bareVariables, timeoutUnit, imports: true };
  const read = (format: ClientFormat, more: Partial<ServerOptions> = {}): ClientServers =>
    readServersAt(root, format, { context, options: { ...common, ...omitUndefined({ timeoutUnit: format.timeoutUnit }), ...more } });
  const found = [
    ...readProjects(root, project, (at) => read({ at }, { workspace: project, startsIn: project })),
    ...CLIENT_FORMATS.filter((format) => hasServers(root, format)).map((format) => read(format)),
    ...readRegistry(root, { context, options: { ...common, startsIn: undefined } }),
  ];
  const notes = [...found.flatMap((each) => each.notes), ...chosenServers(root), ...switchedTools(root)];
  return {
    entries: removeDuplicates(
      found.flatMap(({ entries }) => entries),
      notes,
    ),
    notes,
  };
}

/** Whether the file holds settings of the user, not of a project: their servers run in the folder of any project that is open. */
function isUserFile(folder: string): boolean {
  const path = relative(homeFolder(), folder);
  return path === "" || /^(?:\.[^./\\]|AppData[/\\]|Library[/\\])/u.test(path);
}

function chosenServers(root: TableReader): readonly Note[] {
  return CHOSEN_SERVERS.filter(([first = "", second]) => {
    const value = root.peek(first);
    return second === undefined ? root.has(first) : isTable(value) && Object.hasOwn(value, second);
  }).map((path) => ({ path, text: "is ignored: set enabled = false in each toolset that you do not want." }));
}

function switchedTools(root: TableReader): readonly Note[] {
  const switches = root.peek(TOOL_SWITCHES);
  if (!isTable(switches) || !Object.values(switches).includes(false)) return [];
  return [{ path: [TOOL_SWITCHES], text: "is ignored: list the tools of a server that are off in exclude of its toolset." }];
}

/** Reads the servers that Claude Code keeps per user and project under `projects`, by the project's folder. */
function readProjects(root: TableReader, project: string, read: (at: readonly string[]) => ClientServers): readonly ClientServers[] {
  const projects = root.peek("projects");
  if (!isTable(projects)) return [];
  return Object.keys(projects).flatMap((folder) => {
    const at = ["projects", folder, "mcpServers"];
    if (!hasServers(root, { at })) return [];
    if (resolve(folder) === project) return [read(at)];
    return [{ entries: [], notes: [{ path: at, text: "is left out: those servers belong to that folder. Run haft import there." }] }];
  });
}

/** Reads a `server.json` of the MCP registry, or a response of its API, which has it under `server`. */
function readRegistry(root: TableReader, context: ServersContext): readonly ClientServers[] {
  const table = isRegistryServer(root) ? root : isTable(root.peek("server")) ? root.table("server") : undefined;
  if (table === undefined || !isRegistryServer(table)) return [];
  const notes: Note[] = [];
  const found = registryServer(table, notes);
  if (found === undefined) return [{ entries: [], notes }];
  const server = new TableReader(found.server, found.path, context.context.problems);
  const read = readNamedServers([{ name: found.name, server, place: table }], context);
  return [{ ...read, notes: [...notes, ...read.notes] }];
}

/** Keeps the first of several servers with the same name. */
function removeDuplicates(entries: readonly RegistryEntry[], notes: Note[]): readonly RegistryEntry[] {
  const names = new Set<string | undefined>();
  return entries.filter(({ namespace, path }) => {
    if (!names.has(namespace)) return names.add(namespace);
    notes.push({ path, text: "is left out: another server of this file has the same name." });
    return false;
  });
}

function noUsableServerError(path: string, details: readonly string[]): ToolError {
  return new ToolError("invalid_config", `${path} has no server that can be used.`, { details });
}

function noServers(path: string, value: unknown): ToolError {
  const foreign = recognizeForeignDocument(value);
  if (foreign === undefined)
    return new ToolError("invalid_config", `${path} has no servers.`, {
      operatorHint: `Servers are under ${CLIENT_FORMATS.map(({ at }) => at.join(".")).join(", ")}, or in a server.json of the MCP registry.`,
    });
  return new ToolError("invalid_config", `${path} has no servers: it is ${foreign.what}.`, { operatorHint: foreign.instead });
}
