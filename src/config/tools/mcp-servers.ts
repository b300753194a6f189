/** Reads the servers in the files of other MCP clients, at the places of `client-formats.ts`. */
import { pushAll } from "../../core/collections/push-all.ts";
import { NAMESPACE_SEPARATOR, OWN_NAMESPACE } from "../../core/call.ts";
import { basename, dirname } from "node:path";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { describeThrown } from "../../core/error.ts";
import { checkOptions } from "../../engine/mcp/check-options.ts";
import type { McpConfig } from "../toolset/mcp.ts";
import { checkToolsetName, type ToolsetReadContext } from "../tables/toolset-config.ts";
import type { RegistryEntry } from "../tables/registry-config.ts";
import { isTable, type TableReader } from "../table-reader.ts";
import type { KeyPath } from "../../documents/key-positions.ts";
import type { Problems } from "../../documents/problems.ts";
import { KEYS, type ClientFormat, type ClientTraits, type Note } from "./client-formats.ts";
import { ClientServer, type ClientServerOptions } from "./client-server.ts";

export interface ClientServers {
  readonly entries: readonly RegistryEntry[];
  readonly notes: readonly Note[];
}

const TABLES = ["mcpServers", "servers"] as const;
/** Folders of clients in a project; their servers run in the folder above. */
const CLIENT_FOLDERS: ReadonlySet<string> = new Set(
  ".vscode .cursor .claude .gemini .windsurf .qwen .codex .grok .copilot .github .zed .kiro .kilocode .kilo .roo .opencode .crush .amp .pi .fx".split(
    " ",
  ),
);
const SERVER_KEYS: ReadonlySet<string> = new Set([...KEYS.command, ...KEYS.url, ...KEYS.type]);

/** Returns the key of servers that our own files may have as well. `servers` only counts if it is a table of servers. */
export function findServersKey(root: TableReader): (typeof TABLES)[number] | undefined {
  if (root.has("mcpServers")) return "mcpServers";
  const servers = root.peek("servers");
  const isServers =
    isTable(servers) &&
    Object.values(servers).every(
      (server) => isTable(server) && ["command", "url", "serverUrl", "httpUrl"].some((key) => Object.hasOwn(server, key)),
    );
  return isServers ? "servers" : undefined;
}

/** Returns the folder of the project whose client keeps its settings in `folder`. */
export function findWorkspace(folder: string): string {
  return CLIENT_FOLDERS.has(basename(folder)) ? dirname(folder) : folder;
}

/** Returns the servers that a configuration has under the keys of other clients. */
export function readClientServers(
  root: TableReader,
  context: ToolsetReadContext,
  { folder, ...client }: ClientTraits & { readonly folder: string },
): ClientServers {
  const key = findServersKey(root);
  if (key === undefined) return { entries: [], notes: [] };
  if (key === "servers") root.value("inputs");
  const workspace = findWorkspace(folder);
  return readServersAt(root, { at: [key] }, { context, options: { ...client, folder, workspace, startsIn: workspace, imports: false } });
}

export type ServerOptions = Omit<ClientServerOptions, "variables" | "problems">;

/** Whether the place holds servers, not settings of another kind. */
export function hasServers(root: TableReader, { at, single }: ClientFormat): boolean {
  const [first = "", ...more] = at;
  const value = more.reduce<unknown>((table, key) => (isTable(table) ? Reflect.get(table, key) : undefined), root.peek(first));
  if (single === true) return isServer(value);
  const servers: readonly unknown[] = isTable(value) ? Object.values(value) : Array.isArray(value) ? value : [];
  return servers.some(isServer);
}

function isServer(value: unknown): boolean {
  return isTable(value) && Object.keys(value).some((key) => SERVER_KEYS.has(key));
}

export interface ServersContext {
  readonly context: ToolsetReadContext;
  readonly options: ServerOptions;
}

/** Reads the servers at the place of a format, and reports those that cannot be used. */
export function readServersAt(root: TableReader, format: ClientFormat, context: ServersContext): ClientServers {
  const { problems } = context.context;
  if (!context.options.imports) return readNamedServers(listNamedServers(root, format, problems), context);
  const unreadable = problems.createEmpty();
  const { entries, notes } = readNamedServers(listNamedServers(root.reportingTo(unreadable), format, unreadable), context);
  return { entries, notes: [...unreadable.found.flatMap(({ path, problem }) => noteLeftOut(path, [{ path, text: problem }])), ...notes] };
}

/** Reads servers. One that cannot be used is only noted during an import; in a configuration it is a problem. */
export function readNamedServers(servers: readonly NamedServer[], { context, options }: ServersContext): ClientServers {
  const entries: RegistryEntry[] = [];
  const notes: Note[] = [];
  const taken = new Set(servers.map((server) => server.name));
  for (const { name: written, server, place } of servers) {
    const name = options.imports ? toToolsetName(written, taken) : written;
    if (name !== written)
      notes.push({
        path: server.path,
        text: `is named ${JSON.stringify(name)} here: a name of a toolset has no "::" and no colon at its end.`,
      });
    if (name === OWN_NAMESPACE) {
      const text = `is left out: ${JSON.stringify(OWN_NAMESPACE)} is the name of a toolset that is built into Haft.`;
      notes.push({ path: server.path, text });
      continue;
    }
    const problems = options.imports ? context.problems.createEmpty() : context.problems;
    if (options.imports) checkToolsetName(name, server.reportingTo(problems), undefined);
    else checkToolsetName(name, place, name);
    const variables = options.imports ? context.variables.createPreserving(problems) : context.variables;
    const reader = new ClientServer(server, { ...options, variables, problems });
    const toolset = reader.read();
    const unusable = options.imports && toolset?.enabled === true && problems.count === 0 ? findServerFault(toolset) : undefined;
    if (unusable !== undefined) problems.add(server.path, unusable);
    if (options.imports && problems.count > 0) {
      notes.push(
        ...noteLeftOut(
          server.path,
          problems.found.map(({ path, problem }) => ({ path, text: problem })),
        ),
      );
      continue;
    }
    pushAll(notes, reader.notes);
    if (toolset !== undefined) entries.push({ path: server.path, namespace: name, toolset, defaultEngine: false });
  }
  return { entries, notes };
}

/** Returns a valid and unique toolset name. @param taken the names of all servers, including generated ones */
function toToolsetName(written: string, taken: Set<string>): string {
  const fitting = written
    .split(NAMESPACE_SEPARATOR)
    .join("-")
    .replace(/(?<!:):+$/u, "");
  if (fitting === written) return written;
  const wanted = fitting === "" ? "server" : fitting;
  let name = wanted;
  for (let number = 2; taken.has(name); number++) name = `${wanted}-${number}`;
  taken.add(name);
  return name;
}

/** Returns why no engine could be made for a server without values for its variables, which would invalidate the whole file; else undefined. */
function findServerFault(server: McpConfig): string | undefined {
  try {
    if (server.url === undefined) {
      const { command, args, env, cwd } = server;
      checkOptions({ command, args, env, ...omitUndefined({ cwd }) });
    } else {
      const headers = Object.entries(server.headers).map(([name, value]) => [name, fillVariables(value)]);
      const url = server.url.startsWith("${") ? "https://localhost" : fillVariables(server.url);
      checkOptions({ url, headers: Object.fromEntries(headers) });
    }
    return undefined;
  } catch (thrown: unknown) {
    return describeThrown(thrown);
  }
}

/** Replaces each variable by a digit, since it may be a port. */
function fillVariables(text: string): string {
  return text.replaceAll(/\$\{\w+\}/gu, "1");
}

function noteLeftOut(path: KeyPath, reasons: readonly Note[]): readonly Note[] {
  return [...reasons, { path, text: "is left out." }];
}

export interface NamedServer {
  readonly name: string;
  readonly server: TableReader;
  /** The table in which the name is a key. */
  readonly place: TableReader;
}

function listNamedServers(root: TableReader, { at, single, nameless }: ClientFormat, problems: Problems): readonly NamedServer[] {
  const key = at.at(-1) ?? "";
  const above = at.slice(0, -1).reduce<TableReader | undefined>((table, part) => table?.table(part), root);
  if (Array.isArray(above?.peek(key)))
    return (above?.tables(key) ?? []).map((server, index) => ({
      name: server.text("name") ?? (nameless === true ? `server${index + 1}` : ""),
      server,
      place: server,
    }));
  const servers = above?.table(key);
  if (servers === undefined) return [];
  if (single === true) return [{ name: root.text("name") ?? "", server: servers, place: root }];
  return problems.sortKeys(servers.path, servers.names()).flatMap((name) => {
    const server = servers.table(name);
    return server === undefined ? [] : [{ name, server, place: servers }];
  });
}
