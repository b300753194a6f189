/** Reads the table that says where sessions are kept. */
import { MILLISECONDS } from "../core/base/number-bounds.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import type { TableReader } from "./table-reader.ts";
import { resolveVariables, type Environment } from "./variables.ts";

/** A SQLite file. */
export interface StoreConfig {
  /** Relative to the configuration file. */
  readonly path: string;
  readonly busyTimeoutMs?: number;
  readonly synchronous?: Synchronous;
}

type Synchronous = (typeof SYNCHRONOUS)[number];

const SYNCHRONOUS = ["full", "normal"] as const;
const IN_MEMORY = ":memory:";

/** Undefined when the table says no usable path; what is wrong has then been reported. */
export function readStore(table: TableReader, environment: Environment): StoreConfig | undefined {
  const path = readPath(table, environment);
  const settings = omitUndefined({
    busyTimeoutMs: table.number("busyTimeoutMs", { ...MILLISECONDS, integer: true }),
    synchronous: table.choice("synchronous", SYNCHRONOUS),
  });
  return path === undefined ? undefined : { path, ...settings };
}

function readPath(table: TableReader, environment: Environment): string | undefined {
  const written = table.requiredText("path", "the file that keeps the sessions");
  if (written === undefined) return undefined;
  const resolved = resolveVariables(written, environment);
  const problem = "problem" in resolved ? resolved.problem : faultOf(resolved.text);
  if (problem !== undefined) table.report("path", problem);
  return "problem" in resolved || problem !== undefined ? undefined : resolved.text;
}

function faultOf(path: string): string | undefined {
  if (path === "") return "must not be empty: the file that keeps the sessions.";
  return path === IN_MEMORY ? "a store in memory would be gone with the process; name a file." : undefined;
}
