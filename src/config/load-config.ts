/** Finds, reads and checks a configuration file. */
import { hash } from "node:crypto";
import { statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { ToolError } from "../core/error.ts";
import { checkString } from "../core/check-argument.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import { floatingVersions } from "./trust/floating-version.ts";
import { readHaftConfig, toRegistryEntries, type HaftConfig, type ReadOptions } from "./haft-config.ts";
import { clientOf, type Note } from "./tools/client-formats.ts";
import { KeyPositions } from "../documents/key-positions.ts";
import { Problems } from "../documents/problems.ts";
import { readDocument, type LoadedDocument } from "../documents/read-document.ts";
import { createRedactor, type Redact } from "../core/secrets/redact.ts";
import { EMBEDDINGS_TYPE } from "./tables/enrichment-config.ts";
import { ExtensionTable, type Extensions } from "./extensions.ts";
import type { Environment, SentVariable } from "./variables.ts";

/** A configuration that was read and checked. */
export interface LoadedConfig {
  /** The path as it was given. */
  readonly path: string;
  /** SHA-256 of the file's text, in hex. */
  readonly digest: string;
  /** The absolute folder of the file. Its paths are relative to it, and its commands run there. */
  readonly folder: string;
  readonly config: HaftConfig;
  /** Warnings about settings that work but should be changed, one line each, with the place. */
  readonly warnings: readonly string[];
  /** Returns a collector for problems that appear only when the configuration is used; see `buildRuntimeParts`. */
  readonly problems: () => Problems;
  /** The environment that was given to `loadConfig`. */
  readonly environment: Environment;
  readonly extensions: Extensions;
  /** Removes the values of its variables from a text. */
  readonly redact: Redact;
  /** The variables whose values are sent to servers. */
  readonly sent: readonly SentVariable[];
}

/** Options of `loadConfig`. */
export interface LoadOptions {
  /** The variables for `env:NAME` and `${NAME}`. @default process.env */
  readonly environment?: Environment;
  /** Engines and sources that the configuration may use as types, in addition to those of its own `extensions`. */
  readonly extensions?: Extensions;
  /** Names of variables that are allowed in paths, in addition to those under `variables`. */
  readonly allowVariables?: readonly string[];
  /** Whether to ignore top-level keys that belong to another program, such as those of an fms-dgt task file. @default false */
  readonly foreignKeys?: boolean;
}

export const LOAD_OPTIONS: OptionNames<LoadOptions> = {
  environment: "object",
  extensions: "object",
  allowVariables: "strings",
  foreignKeys: "boolean",
};

/** Maximum size of a configuration, in bytes. */
const MAX_CONFIG_BYTES = 1024 * 1024;
/** The names under which `findConfig` looks for a configuration. */
export const CONFIG_NAMES: readonly string[] = ["haft.toml", "haft.yaml", "haft.yml", "haft.json"];

/**
 * Reads `haft.toml`, `.yaml`, `.yml` or `.json`, distinguished by the file name ending, and checks every key.
 *
 * `env:NAME` as the whole value, and `${NAME}` inside it, are replaced by environment variables in values that may be secrets (`env`, `args`,
 * `headers`, `url`, `auth` and the like), in `root` and in the path of the store. In the paths of other files only `${NAME}` is replaced, and only
 * names that `variables.allow` or the options list. All other text is kept. Nothing is started or imported.
 *
 * The files of other MCP clients, with `mcpServers` or `servers`, can be read too.
 *
 * @throws ToolError `invalid_config`: the message is the first problem as `file:line:column: key: what is wrong`, `details` has all of them in the
 * order of the file, at most 20. No message contains the value of a variable.
 * @throws ToolError `duplicate` for an extension with the name of a built-in one
 */
export async function loadConfig(path: string, options: LoadOptions = {}): Promise<LoadedConfig> {
  checkString(path, "loadConfig()", "the path of a file");
  checkKnownKeys(options, LOAD_OPTIONS, "loadConfig()");
  return loadWith(path, options, false);
}

/**
 * Like `loadConfig`, for commands that only use the store: variables of toolsets, servers and models may be unset, and are then not replaced.
 *
 * @throws ToolError like `loadConfig`
 */
export async function loadStoreConfig(path: string, options: LoadOptions): Promise<LoadedConfig> {
  return loadWith(path, options, true);
}

async function loadWith(path: string, options: LoadOptions, onlyStore: boolean): Promise<LoadedConfig> {
  const table = new ExtensionTable();
  table.add(options.extensions ?? {}, "the program");
  const isForeignName = !CONFIG_NAMES.includes(basename(path));
  const document = await readDocument({
    path,
    what: "configuration",
    endings: [".toml", ".yaml", ".yml", ".json"],
    maxBytes: MAX_CONFIG_BYTES,
    hint: "Name the file itself, such as haft.toml.",
    limits: { roundsBounds: true }, // of the schemas of its tools
    jsonComments: isForeignName,
  });
  const mayBeOfClient = isForeignName && path.toLowerCase().endsWith(".json"); // a mistyped key of ours must not be ignored
  return checkConfig(path, document, { ...options, table, mayBeOfClient, onlyStore });
}

/** Returns the configuration of a folder without a configuration file: no toolsets, and all defaults. */
export function emptyConfig(folder: string, environment: Environment): LoadedConfig {
  const document = { value: {}, positions: new KeyPositions(), digest: hash("sha256", "") };
  const options = { environment, table: new ExtensionTable(), mayBeOfClient: false, onlyStore: false };
  return checkConfig(join(folder, "haft.toml"), document, options);
}

interface CheckOptions extends LoadOptions, Pick<ReadOptions, "mayBeOfClient" | "onlyStore"> {
  /** The registered factories, including those of `extensions`. */
  readonly table: ExtensionTable;
}

function checkConfig(
  path: string,
  { value, positions, digest }: LoadedDocument,
  { environment = process.env, extensions = {}, allowVariables = [], foreignKeys = false, table, mayBeOfClient, onlyStore }: CheckOptions,
): LoadedConfig {
  const folder = dirname(resolve(path));
  const problems = new Problems(path, positions);
  const { config, secrets, sent, notes } = readHaftConfig(value, problems, {
    environment,
    allowVariables,
    foreignKeys,
    mayBeOfClient,
    folder,
    client: clientOf(resolve(path)),
    onlyStore,
    extensionTypes: table.sourceNames,
    enrichmentTypes: table.enrichmentNames,
  });
  problems.throwIfAny();
  const noted = [...notes, ...noteLeftOutEnrichments(config, table), ...floatingVersions(toRegistryEntries(config), folder)];
  return {
    path,
    digest,
    folder,
    config,
    warnings: noted.map((note) => problems.formatLine(note.path, note.text)),
    problems: () => new Problems(path, positions),
    environment,
    extensions,
    redact: createRedactor(secrets),
    sent,
  };
}

/**
 * Returns the path of the configuration file in a folder; undefined if there is none. Parent folders are not searched.
 *
 * @throws ToolError `invalid_config` if there are several
 */
export function findConfig(folder: string): string | undefined {
  checkString(folder, "findConfig()", "the path of a folder");
  const found = CONFIG_NAMES.filter((name) => statSync(join(folder, name), { throwIfNoEntry: false }) !== undefined);
  if (found.length > 1) throw new ToolError("invalid_config", `${folder} has ${found.join(" and ")}: keep one, or name the one you mean.`);
  return found[0] === undefined ? undefined : join(folder, found[0]);
}

/** Returns notes on enrichments that need a function of the program. Extension modules are not imported here, so with them nothing is known. */
function noteLeftOutEnrichments({ enrichments, extensions }: HaftConfig, table: ExtensionTable): readonly Note[] {
  if (extensions.length > 0 || table.enrichment(EMBEDDINGS_TYPE) !== undefined) return [];
  return enrichments.flatMap((enrichment) =>
    enrichment.type === "other" && enrichment.enrichmentType === EMBEDDINGS_TYPE
      ? [{ path: [...enrichment.path, "type"], text: NO_EMBEDDINGS }]
      : [],
  );
}

const NO_EMBEDDINGS =
  "is left out, and so is what needs it: vectors are made by a function of the program, registered as the enrichment embeddings of an extension.";
