/** `type = "shell"` and `type = "python"`: the toolsets that run code written by a model. */
import { resolve } from "node:path";
import { COUNT } from "../../core/base/number-bounds.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { TIMEOUT_BOUNDS } from "../../toolsets/programs/program-options.ts";
import type { ProgramOptions, PythonOptions, ShellOptions } from "../../toolsets/shell.ts";
import type { TableReader } from "../table-reader.ts";
import { readSandbox } from "./sandbox.ts";
import type { BuildContext, CommonConfig, OwnPaths, ReadContext, ToolsetType } from "./toolset-type.ts";

/** Paths are relative to the configuration file. `timeoutMs` is the timeout of programs whose calls give none; 0 = the longest allowed. */
type ProgramConfig = CommonConfig & Omit<ProgramOptions, "name" | keyof OwnPaths | "timeoutMs">;

export type ShellConfig = ProgramConfig & Pick<ShellOptions, "shell"> & { readonly type: "shell" };
export type PythonConfig = ProgramConfig & Pick<PythonOptions, "python"> & { readonly type: "python" };

export const shellType: ToolsetType<ShellConfig> = {
  keyAtFault: () => "root",
  read(table, common, context) {
    const shell = table.text("shell");
    const program = readProgram(table, context);
    return program === undefined ? undefined : { type: "shell", ...common, ...program, ...omitUndefined({ shell }) };
  },
  async build({ name }, config, context) {
    const { shell } = config;
    const { shellToolset } = await import("../../toolsets/shell.ts");
    return { toolset: shellToolset({ name, ...optionsOf(config, context), ...omitUndefined({ shell }) }) };
  },
};

export const pythonType: ToolsetType<PythonConfig> = {
  keyAtFault: () => "root",
  read(table, common, context) {
    const python = table.text("python");
    const program = readProgram(table, context);
    return program === undefined ? undefined : { type: "python", ...common, ...program, ...omitUndefined({ python }) };
  },
  async build({ name }, config, context) {
    const { python } = config;
    const { pythonToolset } = await import("../../toolsets/shell.ts");
    const own = python?.includes("/") === true ? resolve(context.folder, python) : python;
    return { toolset: pythonToolset({ name, ...optionsOf(config, context), ...omitUndefined({ python: own }) }) };
  },
};

function readProgram(table: TableReader, { variables }: ReadContext): Omit<ProgramConfig, keyof CommonConfig> | undefined {
  const root = table.requiredText("root", "the folder in which programs run");
  const sandbox = readSandbox(table, variables);
  const env = table.textTable("env");
  const more = omitUndefined({
    ...sandbox,
    env: env === undefined ? undefined : variables.resolveAllSent(env, [...table.path, "env"]), // models can print them
    maxTimeoutMs: table.number("maxTimeoutMs", TIMEOUT_BOUNDS),
    maxMemoryBytes: table.number("maxMemoryBytes", COUNT),
    maxProcesses: table.number("maxProcesses", COUNT),
    overlap: table.flag("overlap"),
  });
  return root === undefined ? undefined : { root: variables.path(root, [...table.path, "root"]), ...more };
}

function optionsOf(config: ProgramConfig, { folder, ownPaths }: BuildContext): ProgramOptions {
  const { root, sandbox, network, read, write, env, allowSensitive, timeoutMs, maxTimeoutMs, maxMemoryBytes, maxProcesses, overlap } =
    config;
  const absolute = (path: string): string => (path.startsWith("~") ? path : resolve(folder, path));
  return {
    root: absolute(root),
    ...ownPaths,
    ...omitUndefined({ sandbox, network, read: read?.map(absolute), write: write?.map(absolute), env, allowSensitive }),
    ...omitUndefined({ timeoutMs: timeoutMs === 0 ? TIMEOUT_BOUNDS.max : timeoutMs, maxTimeoutMs, maxMemoryBytes, maxProcesses, overlap }),
  };
}
