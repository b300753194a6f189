/** Reads `enrichments` of `tools`: computations over all tools when these are loaded. */
import type { JsonObject } from "../../core/base/json.ts";
import { COUNT, FRACTION } from "../../core/base/number-bounds.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { KeyPath } from "../../documents/key-positions.ts";
import { readLm, type LmConfig } from "./lm-config.ts";
import { nearHint } from "../near-key.ts";
import type { TableReader } from "../table-reader.ts";
import type { ReadContext } from "../toolset/toolset-type.ts";

/** An enrichment of a configuration. `other` is one of the program or of an extension. */
export type EnrichmentConfig = { readonly path: KeyPath } & (
  | {
      readonly type: "output_parameters";
      readonly lm: LmConfig;
      readonly concurrency?: number;
      /** A folder, relative to the configuration file and inside its folder, or absolute. */
      readonly cache?: string;
      readonly force?: boolean;
    }
  | { readonly type: "dataflow"; readonly minScore?: number; readonly maxEdges?: number }
  | { readonly type: "neighbors"; readonly k?: number }
  | { readonly type: "other"; readonly enrichmentType: string; readonly options: JsonObject }
);

/** The types that need no extension. */
export const ENRICHMENT_TYPES = ["output_parameters", "dataflow", "neighbors"] as const;
/** Needs a function that a configuration cannot name. Without a registered one it is left out, with a warning. */
export const EMBEDDINGS_TYPE = "embeddings";

/** @param known types of extensions; undefined while they are not known */
export function readEnrichment(
  table: TableReader,
  context: ReadContext,
  known: readonly string[] | undefined,
): EnrichmentConfig | undefined {
  const type = table.requiredText("type", `which enrichment it is: ${ENRICHMENT_TYPES.join(", ")}, or one of an extension`);
  const { path } = table;
  const own = type === undefined ? undefined : readOwn(type, table, context);
  if (own !== undefined) {
    table.reportUnknownKeys();
    return own === "unreadable" ? undefined : { path, ...own };
  }
  if (type !== undefined && type !== EMBEDDINGS_TYPE && known?.includes(type) === false)
    table.report("type", unknownEnrichment(type, known));
  return type === undefined ? undefined : { path, type: "other", enrichmentType: type, options: table.rest() };
}

export function unknownEnrichment(type: string, registered: readonly string[]): string {
  const known = [...ENRICHMENT_TYPES, EMBEDDINGS_TYPE, ...registered.filter((name) => name !== EMBEDDINGS_TYPE)];
  return `${JSON.stringify(type)} is not an enrichment. Known enrichments: ${known.join(", ")}.${nearHint(type, known)}`;
}

type OwnConfig<Config = EnrichmentConfig> = Config extends { readonly type: "other" } ? never : Omit<Config, "path">;

function readOwn(type: string, table: TableReader, { variables }: ReadContext): OwnConfig | "unreadable" | undefined {
  switch (type) {
    case "output_parameters": {
      const lm = readLm(table);
      const cache = table.text("cache");
      const more = omitUndefined({
        concurrency: table.number("concurrency", COUNT),
        force: table.flag("force"),
        cache: cache === undefined ? undefined : variables.path(cache, [...table.path, "cache"]),
      });
      return lm === undefined ? "unreadable" : { type, lm, ...more };
    }
    case "dataflow":
      return {
        type,
        ...omitUndefined({
          minScore: table.number(table.firstPresent(["minScore", "min_score"]), FRACTION),
          maxEdges: table.number(table.firstPresent(["maxEdges", "max_edges"]), COUNT),
        }),
      };
    case "neighbors":
      table.text("model"); // the model of the embeddings; there is only one kind of embeddings
      return { type, ...omitUndefined({ k: table.number("k", COUNT) }) };
    default:
      return undefined;
  }
}
