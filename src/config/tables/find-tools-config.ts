/** Reads the table `findTools`: models are shown a few tools, and find the others. */
import type { FindToolsOptions } from "../../toolsets/find-tools.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { readPatterns } from "./policy-config.ts";
import type { TableReader } from "../table-reader.ts";

export interface FindToolsConfig extends Pick<FindToolsOptions, "limit" | "callTool"> {
  /** Patterns over the qualified names of the tools that are shown from the beginning. */
  readonly pinned: readonly string[];
}

const LIMIT = { min: 1, max: 20, integer: true } as const;

export function readFindTools(table: TableReader): FindToolsConfig {
  return {
    pinned: readPatterns(table, "pinned") ?? [],
    ...omitUndefined({ limit: table.number("limit", LIMIT), callTool: table.flag("callTool") }),
  };
}
