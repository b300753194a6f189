/** Reads and writes `haft.lock`: the approved definitions of third-party tools. */
import { getOwn } from "../../core/base/get-own.ts";
import { stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { ToolError, describeThrown } from "../../core/error.ts";
import { checkString } from "../../core/check-argument.ts";
import { isJsonArray, isJsonObject, formatJsonPath, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import { systemErrorCode } from "../../core/base/system-error-code.ts";
import { readTextFile } from "../../documents/read-text-file.ts";
import { comparePinned, compareText } from "../../trust/pinned-tool.ts";
import type { LockData, PinnedField, PinnedTool, PinnedToolset, ServerClaim } from "../../trust/pinned-tool.ts";
import { escapeInvisibleJson } from "../../core/base/escape-invisible.ts";
import { DEFINITION_FIELDS, fieldHash, fingerprintOf, type DefinitionField } from "../../schema/definition-fingerprint.ts";
import { replaceFile } from "../../documents/replace-file.ts";

const FORMAT = "haft-lock";
const VERSION = 1;
const MAX_BYTES = 128 * 1024 * 1024;
const LIMITS = { maxDepth: 160, maxNodes: 10_000_000, maxChars: MAX_BYTES };

/** Returns the path of `haft.lock` in the folder of a configuration file. */
export function lockPath(configPath: string): string {
  checkString(configPath, "lockPath()", "the path of a configuration file");
  return join(dirname(configPath), "haft.lock");
}

/**
 * Reads a lock; undefined if there is no such file.
 *
 * @throws ToolError `invalid_config` naming the place, for a file that is damaged, has another format or version, or has fingerprints that do not
 * match the definitions next to them
 */
export async function readLock(path: string): Promise<LockData | undefined> {
  checkString(path, "readLock()", "the path of a lock file");
  if (!(await fileExists(path))) return undefined;
  const text = await readTextFile({
    path,
    what: "lock file",
    code: "invalid_config",
    maxBytes: MAX_BYTES,
    hint: "It is a file that haft lock writes.",
  });
  return parseLock(text, path);
}

/** @param path for messages. @throws ToolError like `readLock` */
export function parseLock(text: string, path: string): LockData {
  let value: JsonValue;
  try {
    value = parseJson(text, LIMITS);
  } catch (error: unknown) {
    throw damagedLockError(path, describeThrown(error), error);
  }
  return new LockReader(path).read(value);
}

/** Writes the lock atomically. @throws ToolError `store_failed` */
export async function writeLock(path: string, lock: LockData): Promise<void> {
  await replaceFile(path, lockText(lock));
}

/** Returns the text of a lock: sorted, one block per tool, the same for the same tools on every machine, without invisible characters. */
export function lockText(lock: LockData): string {
  const toolsets = [...lock.toolsets].toSorted(([one], [other]) => compareText(one, other));
  const value = {
    format: FORMAT,
    version: VERSION,
    toolsets: Object.fromEntries(toolsets.map(([name, pinned]) => [name, toJson(pinned)])),
  };
  return `${escapeInvisibleJson(JSON.stringify(value, undefined, 2))}\n`;
}

function toJson({ source, server, tools }: PinnedToolset): JsonObject {
  return {
    ...(source === undefined ? {} : { source }),
    ...(server === undefined ? {} : { server: { name: server.name, version: server.version } }),
    tools: tools.toSorted(comparePinned).map(toolToJson),
  };
}

function toolToJson({ name, fingerprint, fields }: PinnedTool): JsonObject {
  const definition: Record<string, JsonValue> = {};
  const hashed: Record<string, JsonValue> = {};
  for (const field of DEFINITION_FIELDS) {
    const pinned = fields.get(field);
    if (pinned === undefined) continue;
    if ("value" in pinned) definition[field] = sortKeys(pinned.value);
    else hashed[field] = { sha256: pinned.sha256, bytes: pinned.bytes };
  }
  return { name, fingerprint, definition, ...(Object.keys(hashed).length === 0 ? {} : { hashed }) };
}

function sortKeys(value: JsonValue): JsonValue {
  if (isJsonArray(value)) return value.map(sortKeys);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([one], [other]) => compareText(one, other))
      .map(([key, item]) => [key, sortKeys(item)]),
  );
}

type Path = readonly (string | number)[];

class LockReader {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  read(value: JsonValue): LockData {
    const root = this.#object(value, []);
    if (getOwn(root, "format") !== FORMAT)
      throw this.#wrong(["format"], `must be ${JSON.stringify(FORMAT)}: this is not a lock file of Haft`);
    const version = getOwn(root, "version");
    if (version !== VERSION) throw this.#wrong(["version"], `is ${JSON.stringify(version)}; this version of Haft reads ${VERSION}`);
    this.#onlyKeys(root, ["format", "version", "toolsets"], []);
    const toolsets = this.#object(getOwn(root, "toolsets"), ["toolsets"]);
    return { toolsets: new Map(Object.entries(toolsets).map(([name, item]) => [name, this.#toolset(item, ["toolsets", name])])) };
  }

  #toolset(value: JsonValue, path: Path): PinnedToolset {
    const table = this.#object(value, path);
    this.#onlyKeys(table, ["source", "server", "tools"], path);
    const tools = getOwn(table, "tools");
    if (!isJsonArray(tools)) throw this.#wrong([...path, "tools"], "must be an array");
    const source = getOwn(table, "source");
    const server = getOwn(table, "server");
    return {
      source: source === undefined ? undefined : this.#text(source, [...path, "source"]),
      server: server === undefined ? undefined : this.#server(server, [...path, "server"]),
      tools: tools.map((tool, index) => this.#tool(tool, [...path, "tools", index])),
    };
  }

  #server(value: JsonValue, path: Path): ServerClaim {
    const table = this.#object(value, path);
    this.#onlyKeys(table, ["name", "version"], path);
    return {
      name: this.#text(getOwn(table, "name"), [...path, "name"]),
      version: this.#text(getOwn(table, "version"), [...path, "version"]),
    };
  }

  #tool(value: JsonValue, path: Path): PinnedTool {
    const table = this.#object(value, path);
    this.#onlyKeys(table, ["name", "fingerprint", "definition", "hashed"], path);
    const name = this.#text(getOwn(table, "name"), [...path, "name"]);
    const fingerprint = this.#text(getOwn(table, "fingerprint"), [...path, "fingerprint"]);
    const fields = this.#fields(table, path);
    const hashes = [...fields].map(([field, kept]) => [field, "value" in kept ? fieldHash(kept.value) : kept.sha256] as const);
    if (fingerprintOf(name, new Map(hashes)) !== fingerprint)
      throw this.#wrong([...path, "fingerprint"], `is not that of the definition of ${JSON.stringify(name)} below it`);
    return { name, fingerprint, fields };
  }

  #fields(table: JsonObject, path: Path): ReadonlyMap<DefinitionField, PinnedField> {
    const definition = this.#object(getOwn(table, "definition"), [...path, "definition"]);
    const hashed = this.#object(getOwn(table, "hashed") ?? {}, [...path, "hashed"]);
    this.#onlyKeys(definition, DEFINITION_FIELDS, [...path, "definition"]);
    this.#onlyKeys(hashed, DEFINITION_FIELDS, [...path, "hashed"]);
    const fields = new Map<DefinitionField, PinnedField>();
    for (const field of DEFINITION_FIELDS) {
      const value = getOwn(definition, field);
      const hash = getOwn(hashed, field);
      if (value !== undefined && hash !== undefined) throw this.#wrong([...path, "hashed", field], "is in the definition as well");
      if (value !== undefined) fields.set(field, { value });
      if (hash !== undefined) fields.set(field, this.#hash(hash, [...path, "hashed", field]));
    }
    return fields;
  }

  #hash(value: JsonValue, path: Path): PinnedField {
    const table = this.#object(value, path);
    this.#onlyKeys(table, ["sha256", "bytes"], path);
    const bytes = getOwn(table, "bytes");
    if (typeof bytes !== "number") throw this.#wrong([...path, "bytes"], "must be a number");
    return { sha256: this.#text(getOwn(table, "sha256"), [...path, "sha256"]), bytes };
  }

  #object(value: JsonValue | undefined, path: Path): JsonObject {
    if (!isJsonObject(value)) throw this.#wrong(path, "must be an object");
    return value;
  }

  #text(value: JsonValue | undefined, path: Path): string {
    if (typeof value !== "string") throw this.#wrong(path, "must be a string");
    return value;
  }

  #onlyKeys(table: JsonObject, known: readonly string[], path: Path): void {
    const strange = Object.keys(table).find((key) => !known.includes(key));
    if (strange !== undefined) throw this.#wrong([...path, strange], "is a key that this version of Haft does not know");
  }

  #wrong(path: Path, problem: string): ToolError {
    return damagedLockError(this.#path, `${formatJsonPath(path)} ${problem}.`);
  }
}

function damagedLockError(path: string, problem: string, cause?: unknown): ToolError {
  return new ToolError("invalid_config", `The lock file ${path} cannot be used: ${problem}`, {
    hint: "Restore it, for example from version control; or remove it and run haft lock to look at all tools again.",
    ...(cause === undefined ? {} : { cause }),
  });
}

async function fileExists(path: string): Promise<boolean> {
  return (await stat(resolve(path)).catch((error: unknown) => (systemErrorCode(error) === "ENOENT" ? undefined : true))) !== undefined;
}
