/** Prevents a command from replacing a file that it reads. */
import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { findConfig, loadConfig } from "../../config/load-config.ts";
import { ToolError } from "../../core/error.ts";
import { isPostgresUrl } from "../../store/postgres/postgres-settings.ts";
import type { CommandContext } from "../command.ts";
import { safeText } from "../terminal/terminal-text.ts";

/** A file that a command reads, and a description of it. */
export interface InputFile {
  readonly what: string;
  readonly path: string | undefined;
}

export interface OutputFiles {
  readonly paths: readonly string[];
  /** The beginning of the error message, such as `--out names`. */
  readonly named: string;
  /** Inputs besides the configuration, the store and the files of --from and --replay. */
  readonly inputs?: readonly InputFile[];
}

/** Checks that no output is an input of the same command, under another name or through a link. @throws ToolError `invalid_argument` */
export async function checkOutputPaths(context: CommandContext, { paths, named, inputs = [] }: OutputFiles): Promise<void> {
  const { from, replay } = context.options;
  const recordings = [...from, replay].map((path) => ({ what: "the recording", path }));
  for (const output of paths) {
    if (output === "-") continue;
    const known = [...inputs, ...recordings, ...(existsSync(output) ? await commonInputs(context) : [])];
    for (const { what, path } of known) {
      if (path === undefined || path === "-" || !(await isSameFile(output, path))) continue;
      throw new ToolError("invalid_argument", `${named} ${what} ${safeText(path)}, which would be lost.`, { hint: "Choose another name." });
    }
  }
}

async function commonInputs(context: CommandContext): Promise<readonly InputFile[]> {
  const { options } = context;
  const config = options.config ?? findConfig(process.cwd());
  return [
    { what: "the configuration", path: config },
    { what: "the store", path: options.store === undefined ? await configuredStoreFile(context, config) : storeFile(options.store) },
  ];
}

function storeFile(store: string): string | undefined {
  return isPostgresUrl(store) ? undefined : store;
}

/** Returns the store's file of a configuration; undefined if the configuration cannot be read, which the command itself reports. */
async function configuredStoreFile({ environment }: CommandContext, path: string | undefined): Promise<string | undefined> {
  const loaded = path === undefined ? undefined : await loadConfig(path, { environment }).catch(() => undefined);
  const store = loaded?.config.store;
  return loaded === undefined || store === undefined || !("path" in store) ? undefined : resolve(loaded.folder, store.path);
}

/** Whether two paths lead to the same file, for example through a link. */
export async function isSameFile(one: string, other: string): Promise<boolean> {
  if (resolve(one) === resolve(other)) return true;
  const [a, b] = await Promise.all([one, other].map((path) => stat(path, { bigint: true }).catch(() => undefined)));
  return a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev;
}
