/** Reads the sources of simulated answers: recordings, stubs, and the seed of generated answers. */
import { ToolError } from "../../core/error.ts";
import type { ReplayOptions } from "../../engine/replay.ts";
import { readStubs, type Stub } from "../../engine/stub.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { kindOf, type TableReader } from "../table-reader.ts";
import type { ReadContext } from "../toolset/toolset-type.ts";

export interface RecordingConfig extends ReplayOptions {
  /** A file: relative to the configuration file and inside its folder, or absolute. */
  readonly recording: string;
}

const MATCHES = ["strict", "nearest"] as const;

/** Undefined if no file is named, which is reported. */
export function readRecording(table: TableReader, { variables }: Pick<ReadContext, "variables">): RecordingConfig | undefined {
  const file = table.requiredText("recording", "the file with the recorded calls");
  const options = omitUndefined({ match: table.choice("match", MATCHES), repeatLast: table.flag("repeatLast") });
  return file === undefined ? undefined : { recording: variables.path(file, [...table.path, "recording"]), ...options };
}

/** Reads a string or an integer. */
export function readSeed(table: TableReader): number | string | undefined {
  const value = table.value("seed");
  if (typeof value === "string") return value;
  if (value === undefined || typeof value === "number")
    return table.number("seed", { min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER, integer: true });
  table.report("seed", `must be an integer or a string, not ${kindOf(value)}.`);
  return undefined;
}

/** Returns the path of a file, or the array in the configuration. */
export function readStubList(table: TableReader, { variables }: Pick<ReadContext, "variables">): string | readonly Stub[] | undefined {
  const value = table.value("stubs");
  if (value === undefined) return undefined;
  if (typeof value === "string") {
    const file = table.requiredText("stubs", "the file of answers");
    return file === undefined ? undefined : variables.path(file, [...table.path, "stubs"]);
  }
  if (!Array.isArray(value)) {
    table.report("stubs", `must be an array of answers, or the file that holds it, not ${kindOf(value)}.`);
    return undefined;
  }
  try {
    return readStubs(value);
  } catch (error: unknown) {
    const { message, details } = ToolError.fromUnknown(error);
    for (const line of details.length === 0 ? [message] : details) table.report("stubs", line);
    return undefined;
  }
}
