/** Requires this user's trust in the current version of a configuration that was found in the folder, if it starts programs or widens rights. */
import { resolve } from "node:path";
import { ToolError } from "../../../core/error.ts";
import type { LoadedConfig } from "../../../config/load-config.ts";
import { trustNeeds, type TrustNeeds } from "../../../config/trust/trust-needs.ts";
import type { CommandContext } from "../../command.ts";
import { safeText } from "../../terminal/terminal-text.ts";
import { trustFile, getTrustState } from "./trusted-files.ts";

const MAX_LINES = 20;

/**
 * Asks the person at the terminal once to trust a configuration, if that is needed. It is not needed for a file that was named with `--config`,
 * and for one that starts nothing, sends nothing and widens no rights, unless that was trusted and has changed since.
 *
 * @returns the digests of the descriptors that are trusted; undefined = all are
 * @throws ToolError `permission_denied`, which lists what would be started, sent and allowed
 */
export async function requireTrust(context: CommandContext, loaded: LoadedConfig): Promise<ReadonlySet<string> | undefined> {
  const { environment, options, ask, err, signal } = context;
  if (options.config !== undefined || environment["HAFT_TRUST"] === "all") return undefined;
  const needs = await trustNeeds(loaded);
  const path = resolve(loaded.path);
  const state = await getTrustState(environment, path, needs.digest);
  if (state === "trusted" || (state === "unknown" && listNeeds(needs).length === 0)) return needs.descriptors;
  const reason = `${loaded.path} ${formatReason(needs, state)}`;
  if (ask === undefined) throw notTrustedError(loaded.path, { reason, needs });
  err.print(`\n  ${err.paint("yellow", `? ${safeText(reason)}:`)}`);
  for (const line of limitedLines(needs)) err.print(`    ${safeText(line)}`);
  const answer = (await ask("  Trust it as it is now? [y]es, [n]o: ", signal)) ?? "";
  if (!/^y(?:es)?$/iu.test(answer.trim())) throw notTrustedError(loaded.path, { reason, needs });
  await trustFile(environment, path, needs.digest);
  return needs.descriptors;
}

function notTrustedError(path: string, { reason, needs }: { readonly reason: string; readonly needs: TrustNeeds }): ToolError {
  return new ToolError("permission_denied", `${reason}.`, {
    details: limitedLines(needs),
    hint: `Read it; then run haft trust, or name it: --config ${path}.`,
  });
}

function formatReason(needs: TrustNeeds, state: "changed" | "unknown"): string {
  const does = [
    ...(needs.starts.length === 0 ? [] : ["runs programs or code"]),
    ...(needs.sends.length === 0 ? [] : ["sends your data to servers"]),
    ...(needs.widens.length === 0 ? [] : ["widens what tools may do"]),
  ];
  const what = new Intl.ListFormat("en").format(does);
  if (state === "unknown") return `${what}, and is not trusted`;
  return does.length === 0 ? "has changed since it was trusted" : `has changed since it was trusted, and ${what}`;
}

/** Returns a line for everything that the configuration must be trusted for. */
export function listNeeds({ starts, sends, widens }: TrustNeeds): readonly string[] {
  return [...starts, ...sends, ...widens];
}

function limitedLines(needs: TrustNeeds): readonly string[] {
  const lines = listNeeds(needs);
  const more = lines.length - MAX_LINES;
  return more > 0 ? [...lines.slice(0, MAX_LINES), `and ${more} more`] : lines;
}
