/** Lets a configuration that was found in the folder start programs only when this user trusts it as it is. */
import { resolve } from "node:path";
import { ToolError } from "../../core/error.ts";
import type { LoadedConfig } from "../../config/load-config.ts";
import type { StartedPrograms } from "../../config/started-programs.ts";
import { startedPrograms } from "../../config/started-programs.ts";
import type { CommandContext } from "../command.ts";
import { safeText } from "../terminal-text.ts";
import { isTrusted, trustFile } from "./trusted-files.ts";

const MAX_LINES = 20;

/**
 * A file that was named with `--config` is meant, and one that neither starts anything nor sends variables can do no harm. For any other
 * the person at the terminal is asked once.
 *
 * @returns the digests of the descriptors that may; undefined = all may
 * @throws ToolError `permission_denied` naming what would be started and sent
 */
export async function requireTrust(context: CommandContext, loaded: LoadedConfig): Promise<ReadonlySet<string> | undefined> {
  const { environment, options, ask, err, signal } = context;
  if (options.config !== undefined || environment["HAFT_TRUST"] === "all") return undefined;
  const programs = await startedPrograms(loaded);
  const { starts, sends, digest, descriptors } = programs;
  const path = resolve(loaded.path);
  if (starts.length + sends.length === 0 || (await isTrusted(environment, path, digest))) return descriptors;
  if (ask === undefined) throw notTrusted(loaded.path, programs);
  err.print(`\n  ${err.paint("yellow", `? ${safeText(loaded.path)} ${whatItDoes(programs)}, and you have not said that it may:`)}`);
  for (const line of shown(programs)) err.print(`    ${safeText(line)}`);
  const answer = (await ask("  Trust it as it is now? [y]es, [n]o: ", signal)) ?? "";
  if (!/^y(?:es)?$/iu.test(answer.trim())) throw notTrusted(loaded.path, programs);
  await trustFile(environment, path, digest);
  return descriptors;
}

function notTrusted(path: string, programs: StartedPrograms): ToolError {
  return new ToolError("permission_denied", `${path} ${whatItDoes(programs)}, and nobody has said that it may.`, {
    details: shown(programs),
    hint: `Read it; then run haft trust, or name it: --config ${path}.`,
  });
}

function whatItDoes({ starts }: StartedPrograms): string {
  return starts.length === 0 ? "sends variables of yours to servers" : "starts programs";
}

function shown({ starts, sends }: StartedPrograms): readonly string[] {
  const lines = [...starts, ...sends];
  const more = lines.length - MAX_LINES;
  return more > 0 ? [...lines.slice(0, MAX_LINES), `and ${more} more`] : lines;
}
