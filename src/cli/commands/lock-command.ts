/** `haft lock`: pins third-party tools, and shows how they differ from their pins. */
import type { JsonObject } from "../../core/base/json.ts";
import { ERROR_CODES } from "../../core/error-codes.ts";
import { ToolError } from "../../core/error.ts";
import { loadConfig, type LoadedConfig } from "../../config/load-config.ts";
import { compareLock, updateLock, type LockDrift, type SeenToolset } from "../../config/trust/lock-drift.ts";
import { lockPath, readLock, writeLock } from "../../config/trust/lock-file.ts";
import { toolOrigins, variableNames, type ToolOrigin } from "../../config/tools/tool-origin.ts";
import { serverStateOf } from "../../engine/known-tools.ts";
import type { LockData } from "../../trust/pinned-tool.ts";
import { findNearNames } from "../../core/base/near-names.ts";
import { allTools } from "../print/print-tools.ts";
import type { CommandBody, CommandContext } from "../command.ts";
import { warn, withRuntime, type OpenRuntime } from "../open/open-runtime.ts";
import { driftJson, printDrift } from "../print/print-drift.ts";
import { safeText } from "../terminal/terminal-text.ts";

const EXIT_DRIFT = ERROR_CODES.definition_changed.exit;
const EMPTY_LOCK: LockData = { toolsets: new Map() };

export const lockCommand: CommandBody = {
  details: [
    "Lists the tools that MCP servers and OpenAPI documents provide, compares them",
    "with haft.lock beside the configuration, shows each difference, and asks before",
    "it writes. A tool of a pinned toolset that is new or not as it was pinned is",
    "not called until it is pinned. Text in a definition that seems to be meant for",
    "the model is pointed out with !; that is a guess: finding nothing proves",
    "nothing. Exits with 6 when something changed and was not written.",
  ],
  args: [0, Infinity],
  options: ["config", "check", "yes"],
  examples: ["haft lock", "haft lock github", "haft lock --check"],
  async run(context) {
    const { args, options } = context;
    if (options.check && options.yes)
      throw new ToolError("invalid_argument", "--check writes nothing, so there is nothing to say --yes to.", {
        hint: "Leave one of them out.",
      });
    const [only] = args.length === 1 ? args : [];
    return withRuntime(context, { unpinned: true, ...(only === undefined ? {} : { only }) }, (open) => lockTools(context, open));
  },
};

async function lockTools(context: CommandContext, open: OpenRuntime): Promise<number> {
  const path = lockPath(open.config.path);
  const before = (await readLock(path)) ?? EMPTY_LOCK;
  const origins = toolOrigins((await loadWithVariableNames(context, open.config)).config);
  const names = selectToolsets(context.args, origins, before);
  const seen = await readSeenToolsets(names, origins, { context, open });
  const removed = names.filter((name) => !origins.has(name));
  const failed = warnAboutUnopened(context, open, { names, seen, removed });
  const drift = compareLock(before, seen, removed);
  const json = context.options.json ? await driftJson(drift, seen, context.signal) : undefined;
  if (json === undefined) await printDrift(context, drift, seen);
  const written = drift.drifted && (await confirmWrite(context, path));
  if (written) await writeLock(path, updateLock(before, seen, removed));
  printConclusion(context, { drift, path, written, json });
  return failed || (drift.drifted && !written) ? EXIT_DRIFT : 0;
}

/** Warns about toolsets that could not be compared. Returns true if there are any: `--check` must not count them as unchanged. */
function warnAboutUnopened(
  context: CommandContext,
  { report }: OpenRuntime,
  {
    names,
    seen,
    removed,
  }: { readonly names: readonly string[]; readonly seen: readonly SeenToolset[]; readonly removed: readonly string[] },
): boolean {
  const unseen = names.filter((name) => !removed.includes(name) && !seen.some((toolset) => toolset.name === name));
  for (const name of unseen) {
    if (report.failed.some(({ toolset }) => toolset === name)) continue; // the reason was printed already
    warn(context, `The toolset ${JSON.stringify(name)} did not open, so its tools cannot be compared.`);
  }
  return unseen.length > 0;
}

interface Conclusion {
  readonly drift: LockDrift;
  readonly path: string;
  readonly written: boolean;
  /** The differences, with --json. */
  readonly json: readonly JsonObject[] | undefined;
}

function printConclusion({ out }: CommandContext, { drift, path, written, json }: Conclusion): void {
  if (json !== undefined) {
    out.writeJson({ lock: path, drifted: drift.drifted, written, toolsets: json });
    return;
  }
  const words = written ? "written" : drift.drifted ? "not written" : drift.toolsets.length === 0 ? "nothing to pin" : "as pinned";
  out.print(`${safeText(path)}: ${words}`);
}

/** Whether to write the file. Writes nothing without `--yes` or a person who agrees. */
async function confirmWrite(context: CommandContext, path: string): Promise<boolean> {
  const { ask, options, signal } = context;
  if (options.check) return false;
  if (options.yes) return true;
  if (ask === undefined) {
    warn(context, "Nothing was written, because there is no terminal to ask on. Look at the differences, then pass --yes.");
    return false;
  }
  const answer = (await ask(`Pin these tools as they are now, in ${safeText(path)}? [y/N] `, signal)) ?? "";
  return ["y", "yes"].includes(answer.trim().toLowerCase());
}

type Origins = ReadonlyMap<string, ToolOrigin>;

/** Returns the toolsets that were named, or all that are pinned or could be. @throws ToolError for one that cannot be pinned */
function selectToolsets(args: readonly string[], origins: Origins, before: LockData): readonly string[] {
  const thirdParty = [...origins].filter(([, { isThirdParty }]) => isThirdParty).map(([name]) => name);
  const gone = [...before.toolsets.keys()].filter((name) => !origins.has(name));
  const lockable = [...thirdParty, ...gone];
  if (args.length === 0) return lockable;
  const wrong = args.find((name) => !lockable.includes(name));
  if (wrong === undefined) return [...new Set(args)];
  if (origins.has(wrong))
    throw new ToolError("invalid_argument", `The toolset ${JSON.stringify(wrong)} cannot be pinned.`, {
      hint: "Only enabled toolsets whose tools come from an MCP server or an OpenAPI document can.",
    });
  const near = findNearNames(wrong, lockable).map((name) => JSON.stringify(name));
  throw new ToolError("not_found", `There is no toolset ${JSON.stringify(wrong)}.`, {
    hint: near.length > 0 ? `Did you mean ${near.join(" or ")}?` : `Toolsets that can be pinned: ${lockable.join(", ")}.`,
  });
}

/** Returns the toolsets that opened, with the tools that their servers list now: remembered lists of tools do not count. */
async function readSeenToolsets(
  names: readonly string[],
  origins: Origins,
  { context, open }: { readonly context: CommandContext; readonly open: OpenRuntime },
): Promise<readonly SeenToolset[]> {
  const { runtime, report } = open;
  const seen: SeenToolset[] = [];
  for (const { name, engine } of runtime.registry.toolsets()) {
    if (!names.includes(name) || report.failed.some(({ toolset }) => toolset === name)) continue;
    const listed = engine !== undefined && serverStateOf(engine) === "known" ? await engine.list?.(context.signal) : undefined;
    const tools = listed ?? allTools(runtime.registry, name).map(({ tool }) => tool);
    seen.push({ name, source: origins.get(name)?.source, tools });
  }
  return seen;
}

/** Loads the configuration with the names of variables in place of their values, which differ between machines and may be secrets. */
async function loadWithVariableNames(context: CommandContext, loaded: LoadedConfig): Promise<LoadedConfig> {
  try {
    return await loadConfig(loaded.path, { environment: variableNames(context.environment) });
  } catch {
    return loaded; // a value from a variable must have a certain form, which the variable's name does not have
  }
}
