/** Reads how a process takes part in running the jobs of a store that several processes share. */
import { COUNT, MILLISECONDS, SIZE } from "../../core/base/number-bounds.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { TableReader } from "../table-reader.ts";

export interface WorkerConfig {
  readonly concurrency?: number;
  readonly pollMs?: number;
  readonly graceMs?: number;
  /** Whether servers run jobs as well; if false, only workers do. */
  readonly inServers?: boolean;
}

export function readWorker(table: TableReader): WorkerConfig {
  return omitUndefined({
    concurrency: table.number("concurrency", COUNT),
    pollMs: table.number("pollMs", { ...MILLISECONDS, min: 100, integer: true }),
    graceMs: table.number("graceMs", SIZE),
    inServers: table.flag("inServers"),
  });
}
