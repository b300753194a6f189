/** Reads the servers in the files of other MCP clients: `mcpServers` of Claude, Cursor and Copilot, `servers` of VS Code. */
import { OWN_NAMESPACE } from "../../core/call.ts";
import { basename, dirname, resolve } from "node:path";
import { homeFolder } from "../../documents/home-folder.ts";
import type { KeyPath } from "../../documents/key-positions.ts";
import type { Problems } from "../../documents/problems.ts";
import { checkToolsetName, type ToolsetReadContext } from "../tables/toolset-config.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { RegistryEntry } from "../tables/registry-config.ts";
import { isTable, type TableReader } from "../table-reader.ts";
import type { McpServer } from "../toolset/mcp.ts";
import type { Variables } from "../variables.ts";

/** A note on a value that is read and not used, with its place. */
export interface Note {
  readonly path: KeyPath;
  readonly text: string;
}

export interface ClientServers {
  readonly entries: readonly RegistryEntry[];
  readonly notes: readonly Note[];
}

const TABLES = ["mcpServers", "servers"] as const;
/** Folders of editors; what they run, runs in the folder above. */
const EDITOR_FOLDERS: ReadonlySet<string> = new Set([".vscode", ".cursor", ".claude", ".gemini", ".windsurf"]);
/** `local` is Copilot's word for `stdio`. */
const TYPES = ["stdio", "local", "http", "sse", "streamable-http", "streamableHttp"] as const;
/** The keys of an entry under `servers` that are allowed next to other keys of ours. */
const ADDRESSES = ["url", "serverUrl", "httpUrl"] as const;

/** The key of the servers, where a file has them; `servers` counts only where it is a table of servers. */
export function clientTableOf(root: TableReader): (typeof TABLES)[number] | undefined {
  if (root.has("mcpServers")) return "mcpServers";
  const servers = root.peek("servers");
  const isServers =
    isTable(servers) &&
    Object.values(servers).every((server) => isTable(server) && ["command", ...ADDRESSES].some((key) => Object.hasOwn(server, key)));
  return isServers ? "servers" : undefined;
}

/** @param folder that of the file */
export function readClientServers(root: TableReader, context: ToolsetReadContext, folder: string): ClientServers {
  const key = clientTableOf(root);
  const table = key === undefined ? undefined : root.table(key);
  const entries: RegistryEntry[] = [];
  const notes: Note[] = [];
  if (key === "servers") root.value("inputs");
  for (const name of context.problems.inOrder(table?.path ?? [], table?.names() ?? [])) {
    const server = table?.table(name);
    if (table === undefined || server === undefined) continue;
    if (name === OWN_NAMESPACE) {
      notes.push({
        path: server.path,
        text: `is left out: ${JSON.stringify(OWN_NAMESPACE)} is the name of the toolset that Haft has itself.`,
      });
      continue;
    }
    checkToolsetName(name, table, name);
    const read = new ClientServer(server, context, folder).read();
    notes.push(...read.notes);
    if (read.server !== undefined)
      entries.push({
        path: server.path,
        namespace: name,
        toolset: { type: "mcp", enabled: read.enabled, ...read.server },
        defaultEngine: false,
      });
  }
  return { entries, notes };
}

class ClientServer {
  readonly #table: TableReader;
  readonly #variables: Variables;
  readonly #problems: Problems;
  readonly #workspace: string;
  readonly #enabled: boolean;

  constructor(table: TableReader, { variables, problems }: ToolsetReadContext, folder: string) {
    this.#table = table;
    this.#problems = problems;
    this.#enabled = table.flag("disabled") !== true && table.flag("enabled") !== false;
    this.#variables = this.#enabled ? variables : variables.untouched();
    this.#workspace = EDITOR_FOLDERS.has(basename(folder)) ? dirname(folder) : folder;
  }

  read(): { readonly enabled: boolean; readonly server: McpServer | undefined; readonly notes: readonly Note[] } {
    const table = this.#table;
    const named = table.choice("type", TYPES);
    const type = named === "local" ? "stdio" : named;
    const address = ADDRESSES.find((key) => table.has(key));
    const isReached = address !== undefined && type !== "stdio";
    const server = isReached ? this.#address(address, type) : this.#command(type);
    const unused = Object.keys(table.rest());
    const notes = unused.map((key) => ({ path: [...table.path, key], text: "is not used here." }));
    return { enabled: this.#enabled, server, notes };
  }

  #command(type: (typeof TYPES)[number] | undefined): McpServer | undefined {
    const table = this.#table;
    if (type !== undefined && type !== "stdio") {
      table.report(undefined, `"url" is missing: where the server of type ${JSON.stringify(type)} is.`);
      return undefined;
    }
    const command = table.requiredText("command", 'the program that runs the server; or "url", where the server is');
    const args = (table.texts("args") ?? []).map((text, index) => this.#value(text, [...table.path, "args", index]));
    const env = Object.fromEntries(
      Object.entries(table.textTable("env") ?? {}).map(([name, text]) => [name, this.#value(text, [...table.path, "env", name])]),
    );
    const written = table.text("cwd");
    const cwd = resolve(this.#workspace, written === undefined ? "." : this.#value(written, [...table.path, "cwd"]));
    if (table.has("envFile") && this.#enabled) table.report("envFile", 'is not read here; put its variables into env, such as "${NAME}".');
    if (command === undefined) return undefined;
    return { command: this.#value(command, [...table.path, "command"]), args, env, cwd, trustAnnotations: false };
  }

  #address(key: string, type: (typeof TYPES)[number] | undefined): McpServer | undefined {
    const table = this.#table;
    if (table.has("command")) table.report(key, "a server has a command or a url, not both.");
    const written = table.requiredText(key, "the address of the server");
    const url = written === undefined ? "" : this.#sent(written, [...table.path, key]);
    const headers = Object.fromEntries(
      Object.entries(table.textTable("headers") ?? {}).map(([name, text]) => [name, this.#sent(text, [...table.path, "headers", name])]),
    );
    const transport = type === undefined ? (key === "httpUrl" ? "http" : undefined) : type === "sse" ? "sse" : "http";
    return url === "" ? undefined : { url, headers, trustAnnotations: false, ...omitUndefined({ transport } as const) };
  }

  /** For a program of this machine. A text that begins with `env:` means itself in these files. */
  #value(text: string, place: KeyPath): string {
    const translated = this.#translated(text, place);
    return translated.startsWith("env:") ? translated : this.#variables.value(translated, place);
  }

  #sent(text: string, place: KeyPath): string {
    const translated = this.#translated(text, place);
    return translated.startsWith("env:") ? translated : this.#variables.sentValue(translated, place);
  }

  /** `${env:NAME}`, `${NAME:-default}` and the folders of editors, as our variables. */
  #translated(text: string, place: KeyPath): string {
    return text.replaceAll(/\$\{([^}]*)\}/gu, (written: string, name: string) => {
      if (name.startsWith("env:")) return `\${${name.slice("env:".length)}}`;
      if (name === "workspaceFolder" || name === "workspaceRoot") return this.#workspace;
      if (name === "userHome") return homeFolder();
      if (name === "pathSeparator" || name === "/") return "/";
      const [, variable, otherwise] = /^(\w+):-(.*)$/su.exec(name) ?? [];
      if (variable !== undefined) return (this.#variables.environment[variable] ?? "") === "" ? (otherwise ?? "") : `\${${variable}}`;
      if (!name.startsWith("input:") || !this.#enabled) return written;
      const problem = `${JSON.stringify(written)} is asked of a person by the editor, which is not done here; name an environment variable: \${env:NAME}.`;
      this.#problems.add(place, problem);
      return "";
    });
  }
}
