/** The files of a configuration. A model that could change them could give itself rights. */
import { basename, resolve } from "node:path";
import { toRegistryEntries } from "../haft-config.ts";
import type { LoadedConfig } from "../load-config.ts";
import type { McpServer } from "../toolset/mcp.ts";

/** The endings of a SQLite database and the files that SQLite keeps next to it. */
const STORE_ENDINGS = ["", "-wal", "-shm", "-journal"];

/** Returns the absolute paths of the configuration file, its lock, its store, and the code and documents that it names, whether they exist or not. */
export function ownPaths(loaded: LoadedConfig): readonly string[] {
  const { config, folder, path } = loaded;
  const named: string[] = [basename(path), "haft.lock", ...config.extensions];
  const { store } = config;
  const tokens = config.serve?.logins?.folder;
  if (tokens !== undefined) named.push(tokens);
  if (store !== undefined && "path" in store) for (const ending of STORE_ENDINGS) named.push(`${store.path}${ending}`);
  const programs: string[] = [];
  for (const engine of config.engines.values()) {
    if (engine.type === "mcp" && engine.server !== undefined) programs.push(...programPaths(engine.server, folder));
    if (engine.type === "rest" && engine.service.document !== undefined) named.push(engine.service.document);
  }
  for (const { toolset } of toRegistryEntries(config)) {
    if (toolset.type === "mcp") programs.push(...programPaths(toolset, folder));
    if ("path" in toolset) named.push(toolset.path);
    if ("document" in toolset) named.push(toolset.document);
  }
  const files = named.filter((text) => !/^[a-z][a-z0-9+.-]+:/iu.test(text)).map((text) => resolve(folder, text));
  return [...files, ...programs];
}

/** Matches code files among the arguments of a command, also in the value of an option: `--import=./hook.mjs`. */
const CODE =
  /\.(?:[cm]?[jt]sx?|py[wz]?|rb|pl|php|lua|sh|bash|zsh|fish|ps1|bat|cmd|exe|jar|wasm|r|jl|exs?|csx?|fsx|go|rs|swift|scala|kts?|groovy)$/iu;

/** Returns the paths of a server's program and of the scripts among its arguments. Data files are not part of the configuration. */
function programPaths(server: McpServer, folder: string): readonly string[] {
  if (server.command === undefined) return [];
  const { command, args, cwd = "." } = server;
  const scripts = args.map((text) => text.slice(text.startsWith("-") ? text.indexOf("=") + 1 : 0)).filter((text) => CODE.test(text));
  const program = /[\\/]/u.test(command) ? [command] : [];
  return [...program, ...scripts].map((text) => resolve(folder, cwd, text));
}
