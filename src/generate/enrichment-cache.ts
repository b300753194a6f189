/** Caches the answers of enrichments on disk, per tool, so that only changed tools are computed again. */
import { hash } from "node:crypto";
import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ToolError } from "../core/error.ts";
import type { OptionNames } from "../core/known-keys.ts";
import { canonicalJson } from "../core/base/canonical-json.ts";
import { copyJson, isJsonObject, type JsonValue } from "../core/base/json.ts";
import { parseJson } from "../core/base/parse-json.ts";
import { makeFolder } from "../core/system/make-folder.ts";
import type { Log } from "../core/ports.ts";
import type { Tool } from "../core/tool.ts";
import { replaceFile } from "../documents/replace-file.ts";
import { readTextFile } from "../documents/read-text-file.ts";

/** Where an enrichment caches its answers, and whether it uses the cached ones. */
export interface EnrichmentCacheOptions {
  /**
   * A folder; the answers are in `enrichments/<type>/<sha256>.json` in it. An answer is used as long as the tool has the same name, description and
   * schemas. Left out = nothing is cached.
   */
  readonly cache?: string;
  /**
   * Anything else that the answers depend on, such as the name of the model: each label has its own file. Do not include settings that only vary the
   * answer, such as a temperature.
   */
  readonly label?: string;
  /** Whether everything is computed again; the new answers are cached. @default false */
  readonly force?: boolean;
}

export const CACHE_OPTIONS: OptionNames<EnrichmentCacheOptions> = { cache: true, label: true, force: true };

interface Entries {
  /** The name of the enrichment in the path. */
  readonly type: string;
  /** Incremented whenever the answers for an unchanged tool may differ. */
  readonly version: number;
}

const FORMAT = "haft-enrichment";
const MAX_BYTES = 512 * 1024 * 1024;
const SCHEMA_DEPTH = 256;

export class EnrichmentCache {
  readonly #path: string | undefined;
  readonly #force: boolean;
  readonly #log: Log;
  #hasWarned = false;

  constructor({ cache, label = "", force = false }: EnrichmentCacheOptions, { type, version }: Entries, log: Log) {
    const name = hash("sha256", canonicalJson({ type, version, label }));
    this.#path = cache === undefined ? undefined : join(cache, "enrichments", type, `${name}.json`);
    this.#force = force;
    this.#log = log;
  }

  /** Reads the cached answers, by `toolKey`. Empty if there are none, if `force` is set, or, with a warning, if they cannot be read. */
  async read(): Promise<ReadonlyMap<string, JsonValue>> {
    return this.#force ? new Map() : await this.#load();
  }

  /** Adds entries to the cache file, and keeps those that another process added meanwhile. If writing fails, it logs a warning. */
  async add(entries: ReadonlyMap<string, JsonValue>): Promise<void> {
    const path = this.#path;
    if (path === undefined || entries.size === 0) return;
    try {
      const merged = new Map([...(await this.#load()), ...entries]);
      await makeFolder(dirname(path));
      await replaceFile(path, JSON.stringify({ format: FORMAT, entries: Object.fromEntries(merged) }));
    } catch (error: unknown) {
      this.#log.warn(`The enrichment cache ${path} cannot be written: ${ToolError.fromUnknown(error).message}`);
    }
  }

  async #load(): Promise<ReadonlyMap<string, JsonValue>> {
    const path = this.#path;
    if (path === undefined || !(await exists(path))) return new Map();
    try {
      const hint = "Delete it: its contents are computed again.";
      const text = await readTextFile({ path, what: "enrichment cache", code: "store_failed", maxBytes: MAX_BYTES, hint });
      const content = parseJson(text, { maxChars: MAX_BYTES, maxNodes: MAX_BYTES });
      if (isJsonObject(content) && content["format"] === FORMAT && isJsonObject(content["entries"]))
        return new Map(Object.entries(content["entries"]));
      throw new ToolError("store_failed", "it is not an enrichment cache");
    } catch (error: unknown) {
      if (!this.#hasWarned) this.#log.warn(`The enrichment cache ${path} is ignored: ${ToolError.fromUnknown(error).message}`);
      this.#hasWarned = true;
      return new Map();
    }
  }
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}

/** Returns the key of an answer about a tool: the SHA-256 of its name, description and schemas. Undefined if a schema is not JSON. */
export function toolKey({ name, description, inputSchema, outputSchema }: Tool): string | undefined {
  try {
    const known = { name, description, inputSchema, outputSchema: outputSchema ?? null };
    return hash("sha256", canonicalJson(copyJson(known, { maxDepth: SCHEMA_DEPTH }).value));
  } catch {
    return undefined;
  }
}
