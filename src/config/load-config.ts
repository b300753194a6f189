/** Finds, reads and checks a configuration file. */
import { statSync } from "node:fs";
import { dirname, extname, join, resolve } from "node:path";
import { ToolError } from "../core/error.ts";
import { floatingVersion } from "./floating-version.ts";
import type { HaftConfig } from "./haft-config.ts";
import { readHaftConfig } from "./haft-config.ts";
import type { ParsedFile } from "./key-positions.ts";
import { Problems } from "./problems.ts";
import { readTextFile } from "./read-text-file.ts";
import type { Environment } from "./variables.ts";

export interface LoadedConfig {
  /** As it was asked for. */
  readonly path: string;
  /** The absolute folder of the file: what its paths are relative to, and where its commands run. */
  readonly folder: string;
  readonly config: HaftConfig;
  /** What works but should not stay so, one line each, with its place. */
  readonly warnings: readonly string[];
  /** For problems that show only when the configuration is used; see `buildToolsets`. */
  readonly problems: () => Problems;
}

export interface LoadOptions {
  /** Where `env:NAME` and `${NAME}` are looked up. @default process.env */
  readonly environment?: Environment;
}

/** The largest configuration that is read. */
const MAX_CONFIG_BYTES = 1024 * 1024;
const NAMES = ["haft.toml", "haft.yaml", "haft.yml", "haft.json"];

/**
 * Reads `haft.toml`, `.yaml`, `.yml` or `.json`, told apart by the ending, and checks every key.
 *
 * In the values of `env`, `args`, `root` and the `path` of the store, and nowhere else, `env:NAME` and `${NAME}` stand for environment
 * variables. Nothing is started or imported.
 *
 * @throws ToolError `invalid_config`: the message is the first problem as `file:line:column: key: what is wrong`,
 * `details` are all of them in the order of the file, at most 20. No message holds the value of a variable.
 */
export async function loadConfig(path: string, options: LoadOptions = {}): Promise<LoadedConfig> {
  const text = await readTextFile({
    path,
    what: "configuration",
    code: "invalid_config",
    maxBytes: MAX_CONFIG_BYTES,
    hint: "Name the file itself, such as haft.toml.",
  });
  const parse = await parserFor(path);
  const { value, positions } = parse(text, path);
  const problems = new Problems(path, positions);
  const config = readHaftConfig(value, problems, options.environment ?? process.env);
  problems.throwIfAny();
  return {
    path,
    folder: dirname(resolve(path)),
    config,
    warnings: warningsOf(config, problems),
    problems: () => new Problems(path, positions),
  };
}

/**
 * The configuration file of a folder, by its name; undefined when there is none. Parent folders are not searched.
 *
 * @throws ToolError `invalid_config` when there are several
 */
export function findConfig(folder: string): string | undefined {
  const found = NAMES.filter((name) => statSync(join(folder, name), { throwIfNoEntry: false }) !== undefined);
  if (found.length > 1) throw new ToolError("invalid_config", `${folder} has ${found.join(" and ")}: keep one, or name the one you mean.`);
  return found[0] === undefined ? undefined : join(folder, found[0]);
}

/** Loads only the parser that is needed. */
async function parserFor(path: string): Promise<(text: string, file: string) => ParsedFile> {
  switch (extname(path)) {
    case ".toml":
      return (await import("./parse-toml.ts")).parseToml;
    case ".yaml":
    case ".yml":
      return (await import("./parse-yaml.ts")).parseYaml;
    case ".json":
      return (await import("./parse-json-file.ts")).parseJsonFile;
    default:
      throw new ToolError("invalid_config", `Cannot read the configuration ${path}: its name must end in .toml, .yaml, .yml or .json.`);
  }
}

function warningsOf(config: HaftConfig, problems: Problems): readonly string[] {
  const warnings: string[] = [];
  for (const [name, toolset] of config.toolsets) {
    const warning = toolset.type === "mcp" && toolset.enabled ? floatingVersion(toolset.command, toolset.args) : undefined;
    if (warning !== undefined) warnings.push(problems.line(["toolsets", name, "args"], warning));
  }
  return warnings;
}
