/** The files of a configuration. A model that could change them could give itself rights. */
import { pushAll } from "../../core/collections/push-all.ts";
import { basename, resolve } from "node:path";
import { expandHome } from "../../documents/home-folder.ts";
import { toRegistryEntries } from "../haft-config.ts";
import type { LoadedConfig } from "../load-config.ts";
import type { ToolsetConfig } from "../tables/toolset-config.ts";
import type { OwnPaths } from "../toolset/toolset-type.ts";

/** The endings of a SQLite database and the files that SQLite keeps next to it. */
const STORE_ENDINGS = ["", "-wal", "-shm", "-journal"];

/** Returns the paths of the files that a configuration consists of. @param hide further files that tools may neither read nor change */
export function ownPaths(loaded: LoadedConfig, hide: readonly string[] = []): OwnPaths {
  const { config, folder, path } = loaded;
  const named: (string | undefined)[] = [basename(path), "haft.lock", ...config.extensions, ...config.documentation.values()];
  const programs: string[] = [];
  for (const engine of config.engines.values()) {
    if (engine.type === "mcp" && engine.server !== undefined) {
      pushAll(programs, serverPrograms(engine.server, folder));
      if ("ca" in engine.server) named.push(engine.server.ca);
    }
    if (engine.type === "rest") named.push(engine.service.document, engine.service.ca);
  }
  for (const { toolset } of toRegistryEntries(config)) {
    pushAll(programs, programsOf(toolset, folder));
    if ("path" in toolset) named.push(toolset.path);
    if ("document" in toolset) named.push(toolset.document);
    if ("ca" in toolset) named.push(toolset.ca);
  }
  const files = named
    .filter((text) => text !== undefined && !/^[a-z][a-z0-9+.-]+:/iu.test(text))
    .map((text) => resolve(folder, text ?? ""));
  return { protect: [...files, ...programs], hide: [...hiddenPaths(loaded), ...hide] };
}

function hiddenPaths({ config, folder }: LoadedConfig): readonly string[] {
  const { store, serve } = config;
  const tokens = serve?.logins?.folder;
  const stored = store !== undefined && "path" in store ? storeFiles(resolve(folder, store.path)) : [];
  return tokens === undefined ? stored : [...stored, resolve(folder, tokens)];
}

/** Returns the paths of a SQLite database and of the files that SQLite keeps next to it. @param path the absolute path of the database */
export function storeFiles(path: string): readonly string[] {
  return STORE_ENDINGS.map((ending) => `${path}${ending}`);
}

/** Returns the paths of the programs that a toolset runs, and of the scripts among their arguments. */
function programsOf(toolset: ToolsetConfig, folder: string): readonly string[] {
  switch (toolset.type) {
    case "mcp":
      return serverPrograms(toolset, folder);
    case "command": {
      const root = resolve(folder, expandHome(toolset.root ?? "."));
      return toolset.tools.flatMap(({ template }) => programPaths(template.command, root));
    }
    case "shell":
      return programPaths([toolset.shell ?? ""], folder);
    case "python":
      return programPaths([toolset.python ?? ""], folder);
    default:
      return [];
  }
}

interface Server {
  readonly command?: string | undefined;
  readonly args?: readonly string[];
  readonly cwd?: string;
}

function serverPrograms({ command, args = [], cwd = "." }: Server, folder: string): readonly string[] {
  return command === undefined ? [] : programPaths([command, ...args], resolve(folder, cwd));
}

/** Matches code files among the arguments of a command, also in the value of an option: `--import=./hook.mjs`. */
const CODE =
  /\.(?:[cm]?[jt]sx?|py[wz]?|rb|pl|php|lua|sh|bash|zsh|fish|ps1|bat|cmd|exe|jar|wasm|r|jl|exs?|csx?|fsx|go|rs|swift|scala|kts?|groovy)$/iu;

/** Returns the paths of a program and of the scripts among its arguments. Data files are not part of the configuration. */
function programPaths([command = "", ...args]: readonly string[], folder: string): readonly string[] {
  const scripts = args.map((text) => text.slice(text.startsWith("-") ? text.indexOf("=") + 1 : 0)).filter((text) => CODE.test(text));
  const program = /[\\/]/u.test(command) ? [command] : [];
  return [...program, ...scripts].map((text) => resolve(folder, text));
}
