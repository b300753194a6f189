/** The sandbox keys of toolsets that run programs. */
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { ProgramOptions } from "../../toolsets/programs/program-options.ts";
import type { TableReader } from "../table-reader.ts";
import type { ReadContext } from "./toolset-type.ts";

/** Paths are relative to the configuration file. */
export type SandboxConfig = Pick<ProgramOptions, "sandbox" | "network" | "read" | "write" | "allowSensitive">;

export const SANDBOXES = ["bubblewrap", "none"] as const;

export function readSandbox(table: TableReader, variables: Pick<ReadContext["variables"], "path">): SandboxConfig {
  const paths = (key: "read" | "write"): readonly string[] | undefined =>
    table.texts(key)?.map((text, index) => variables.path(text, [...table.path, key, index]));
  return omitUndefined({
    sandbox: table.choice("sandbox", SANDBOXES),
    network: table.flag("network"),
    read: paths("read"),
    write: paths("write"),
    allowSensitive: table.texts("allowSensitive"),
  });
}
