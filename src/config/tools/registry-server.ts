/**
 * Converts a `server.json` of the MCP registry to the keys of other clients.
 *
 * @see https://github.com/modelcontextprotocol/registry/blob/main/docs/reference/server-json/generic-server-json.md
 */
import type { KeyPath } from "../../documents/key-positions.ts";
import type { Note } from "./client-formats.ts";
import { isTable, type TableReader } from "../table-reader.ts";

interface Runner {
  readonly command: string;
  /** Returns the arguments before those of the package. */
  readonly args: (identifier: string, version: string, variables: readonly string[]) => readonly string[];
}

const RUNNERS: ReadonlyMap<string, Runner> = new Map([
  ["npm", { command: "npx", args: (id, version) => ["-y", version === "" ? id : `${id}@${version}`] }],
  ["pypi", { command: "uvx", args: (id, version) => [version === "" ? id : `${id}==${version}`] }],
  ["nuget", { command: "dnx", args: (id, version) => [version === "" ? id : `${id}@${version}`, "--yes"] }],
  [
    "oci",
    {
      command: "docker",
      args: (id, version, variables) => [
        "run",
        "-i",
        "--rm",
        ...variables.flatMap((name) => ["-e", name]),
        version === "" || /[:@][^/]*$/u.test(id) ? id : `${id}:${version}`,
      ],
    },
  ],
]);

export interface RegistryServer {
  readonly name: string;
  readonly path: KeyPath;
  /** The server in the form of `mcpServers`. */
  readonly server: object;
}

/** Whether this is a document of the registry, or the part that its API wraps. */
export function isRegistryServer(root: TableReader): boolean {
  return typeof root.peek("name") === "string" && (Array.isArray(root.peek("packages")) || Array.isArray(root.peek("remotes")));
}

/** Returns one server: the first package that can be started, else the first remote. */
export function registryServer(root: TableReader, notes: Note[]): RegistryServer | undefined {
  const name = (root.text("name") ?? "").split("/").at(-1) ?? "";
  const packages = root.has("packages") ? (root.tables("packages") ?? []) : [];
  const remotes = root.has("remotes") ? (root.tables("remotes") ?? []) : [];
  const started = packages.find(isStarted);
  const chosen = started ?? remotes[0];
  for (const other of [...packages, ...remotes].filter((each) => each !== chosen))
    notes.push({ path: other.path, text: "is left out: one way to reach the server is enough." });
  if (chosen === undefined) return undefined;
  return { name, path: chosen.path, server: chosen === started ? packageServer(chosen, notes) : remoteServer(chosen, notes) };
}

function isStarted(table: TableReader): boolean {
  const transport = table.peek("transport");
  const isStdio = !isTable(transport) || Reflect.get(transport, "type") === "stdio";
  return isStdio && RUNNERS.has(String(table.peek("registryType")));
}

function packageServer(table: TableReader, notes: Note[]): object {
  const runner = RUNNERS.get(table.text("registryType") ?? "");
  const env = valuesOf(table, "environmentVariables", notes);
  const own = runner?.args(table.text("identifier") ?? "", table.text("version") ?? "", Object.keys(env)) ?? [];
  const [first = "", ...more] = own;
  const runtime = argumentsOf(table, "runtimeArguments", notes);
  const args = runtime.length === 0 ? own : runner?.command === "docker" ? [first, ...runtime, ...more] : [...runtime, ...own];
  return { type: "stdio", command: runner?.command, args: [...args, ...argumentsOf(table, "packageArguments", notes)], env };
}

function remoteServer(table: TableReader, notes: Note[]): object {
  const url = withVariables(table.text("url") ?? "");
  return { type: table.text("type"), url, headers: valuesOf(table, "headers", notes) };
}

/** Returns the server's variables or headers. Those without a value are read from the environment. */
function valuesOf(table: TableReader, key: string, notes: Note[]): Readonly<Record<string, string>> {
  const values: [name: string, value: string][] = [];
  for (const each of table.has(key) ? (table.tables(key) ?? []) : []) {
    const name = each.text("name") ?? "";
    const written = each.text("value") ?? (typeof each.peek("default") === "string" ? each.text("default") : undefined);
    if (written === undefined && each.flag("isRequired") !== true) {
      notes.push({ path: each.path, text: `is left out: ${name} may be missing.` });
      continue;
    }
    values.push([name, written === undefined ? `\${${variableOf(name)}}` : withVariables(written)]);
  }
  return Object.fromEntries(values);
}

function argumentsOf(table: TableReader, key: string, notes: Note[]): readonly string[] {
  return (table.has(key) ? (table.tables(key) ?? []) : []).flatMap((each) => {
    const value = each.text("value") ?? (typeof each.peek("default") === "string" ? each.text("default") : undefined);
    const name = each.peek("type") === "named" ? each.text("name") : undefined;
    if (value === undefined && name === undefined) {
      notes.push({ path: each.path, text: "is left out: it has no value. Write it into args." });
      return [];
    }
    return [...(name === undefined ? [] : [name]), ...(value === undefined ? [] : [withVariables(value)])];
  });
}

/** Converts `{api_key}`, which the client asks for, to the variable `${API_KEY}`. */
function withVariables(text: string): string {
  return text.replaceAll(/\{([\w-]+)\}/gu, (_, name: string) => `\${${variableOf(name)}}`);
}

function variableOf(name: string): string {
  return name.replaceAll(/\W/gu, "_").toUpperCase();
}
