/** Lets a configuration that was found in the folder start programs only when this user trusts it as it is. */
import { resolve } from "node:path";
import { ToolError } from "../../core/error.ts";
import type { LoadedConfig } from "../../config/load-config.ts";
import { startedPrograms } from "../../config/started-programs.ts";
import type { CommandContext } from "../command.ts";
import { safeText } from "../terminal-text.ts";
import { isTrusted, trustFile } from "./trusted-files.ts";

const MAX_LINES = 20;

/**
 * A file that was named with `--config` is meant, and one that starts nothing can do no harm. For any other the person at the terminal
 * is asked once.
 *
 * @throws ToolError `permission_denied` naming what would be started
 */
export async function requireTrust(context: CommandContext, loaded: LoadedConfig): Promise<void> {
  const { environment, options, ask, err, signal } = context;
  if (options.config !== undefined || environment["HAFT_TRUST"] === "all") return;
  const programs = startedPrograms(loaded);
  const path = resolve(loaded.path);
  if (programs.length === 0 || (await isTrusted(environment, path, loaded.digest))) return;
  if (ask === undefined) throw notTrusted(loaded.path, programs);
  err.write(`\n  ${err.paint("yellow", `? ${safeText(loaded.path)} starts programs, and you have not said that it may:`)}\n`);
  for (const line of shown(programs)) err.write(`    ${safeText(line)}\n`);
  const answer = await ask("  Trust it as it is now? [y]es, [n]o: ", signal);
  if (!/^y(?:es)?$/iu.test(answer.trim())) throw notTrusted(loaded.path, programs);
  await trustFile(environment, path, loaded.digest);
}

function notTrusted(path: string, programs: readonly string[]): ToolError {
  return new ToolError("permission_denied", `${path} starts programs, and nobody has said that it may.`, {
    details: shown(programs),
    hint: `Read it; then run haft trust, or name it: --config ${path}.`,
  });
}

function shown(programs: readonly string[]): readonly string[] {
  const more = programs.length - MAX_LINES;
  return more > 0 ? [...programs.slice(0, MAX_LINES), `and ${more} more`] : programs;
}
