/** `haft check`: reads the configuration, opens every toolset, compiles every schema, and calls nothing. */
import { pushAll } from "../../core/collections/push-all.ts";
import { OWN_NAMESPACE } from "../../core/call.ts";
import { plural } from "../../core/base/wording.ts";
import { modelProblems } from "../../config/build/configured-models.ts";
import { readDocumentation } from "../../config/tables/documentation-config.ts";
import { isSource, type ToolsetConfig } from "../../config/tables/toolset-config.ts";
import { blockedText, blockedTools } from "../open/blocked-tools.ts";
import type { RegisteredTool } from "../../registry/registered-tool.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { formatForOperator } from "../../core/error.ts";
import { requireVersion } from "../../store/sqlite/sqlite-version.ts";
import type { CommandBody, CommandContext } from "../command.ts";
import { failureWithHint, withRuntime, type OpenRuntime } from "../open/open-runtime.ts";
import { thirdPartyToolsets, findSuspicions } from "../open/suspicious-tools.ts";
import { SuspiciousTextFinder } from "../../trust/suspicious-text.ts";
import { forEachInTurns } from "../for-each-in-turns.ts";
import { columnWidth, safeText, wrap } from "../terminal/terminal-text.ts";
import { padColumns } from "../terminal/text-width.ts";
import { listCautions } from "../open/tool-cautions.ts";
import { allTools } from "../print/print-tools.ts";

/** The exit code for a configuration that can be read, but has toolsets or tools that cannot be used. */
const EXIT_PROBLEMS = 3;
/** Maximum number of warnings that are printed for a toolset; `--json` has all. */
const MAX_WARNINGS = 20;

export const checkCommand: CommandBody = {
  details: [
    "Reads the configuration, imports its modules, starts its servers, compiles",
    "every schema, and calls no tool. Exits with 3 when anything is wrong or was",
    "left out. Marked with !, and not counted as problems: defaults that break their",
    "own schema, third-party text that seems to be meant for the model, tools that",
    "nothing can answer, and retries that will not be made.",
  ],
  args: [0, 0],
  options: ["config"],
  examples: ["haft check", "haft check --config ./haft.yaml", "haft check --json"],
  async run(context) {
    const lines: string[] = [];
    return withRuntime(context, { reportFailures: false, onWarning: (line) => void lines.push(line) }, async (open) => {
      pushAll(lines, [...storeProblems(open), ...modelProblems(open.config), ...(await documentationProblems(open))]);
      const checks = await checkToolsets(open, lines, context.signal);
      const warningLines = lines.filter((line) => !checks.some(({ problems }) => problems.includes(line)));
      const problems = checks.reduce((count, check) => count + check.problems.length, warningLines.length);
      if (context.options.json) {
        const { path, warnings } = open.config;
        context.out.writeJson({ config: path, problems, warnings: [...warnings, ...warningLines], toolsets: checks });
      } else {
        const conclusion = `${safeText(open.config.path)}: ${problems === 0 ? "no problems" : plural(problems, "problem")}`;
        print(context, checks, { warningLines, conclusion });
      }
      return problems === 0 ? 0 : EXIT_PROBLEMS;
    });
  },
};

/** Returns the files of `documentation` that cannot be read. Other commands read them late, and only if models read about tools there. */
async function documentationProblems({ config: { config, problems } }: OpenRuntime): Promise<readonly string[]> {
  const found = problems();
  for (const entry of config.documentation) {
    try {
      await readDocumentation(new Map([entry]));
    } catch (thrown: unknown) {
      found.add(["documentation", entry[0]], formatForOperator(thrown));
    }
  }
  return found.formatLines();
}

interface ToolsetCheck {
  readonly name: string;
  readonly enabled: boolean;
  readonly tools: number;
  /** Number of its tools that the permission rules deny. Left out if none is denied. */
  readonly denied?: number;
  readonly problems: readonly string[];
  /** Tools that are not called because they differ from their pins. Left out if there are none. */
  readonly blocked?: readonly string[];
  /** Faults that leave its tools usable, but make them work in an unexpected way. Left out if there are none. */
  readonly warnings?: readonly string[];
  /** Text that seems to be meant for the model, by tool. Left out if there is none. */
  readonly suspicious?: readonly string[];
}

/** The toolsets of the file in its order, then those that its sources and entries have made, each with whether it is enabled. */
function listToolsets({ runtime, config, report }: OpenRuntime): ReadonlyMap<string, boolean> {
  const failed = report.failed.map(({ toolset }) => toolset);
  const made = new Set([...report.opened, ...runtime.registry.namespaces(), ...failed]);
  made.delete(OWN_NAMESPACE);
  const written = [...config.config.toolsets].filter(([name, toolset]) => !toolset.enabled || !isSource(toolset) || made.has(name));
  const enabled = new Map(written.map(([name, toolset]) => [name, toolset.enabled] as const));
  for (const name of made) if (!enabled.has(name)) enabled.set(name, true);
  return enabled;
}

/** Finds suspicious text in the definitions of tools, and compiles their schemas: an API of thousands of operations takes seconds. */
async function checkDefinitions(
  tools: readonly RegisteredTool[],
  { config }: OpenRuntime,
  signal: AbortSignal,
): Promise<ReadonlyMap<RegisteredTool, readonly string[]>> {
  const thirdParty = thirdPartyToolsets({ config });
  const finder = new SuspiciousTextFinder();
  const found = new Map<RegisteredTool, readonly string[]>();
  await forEachInTurns(tools, signal, (tool) => {
    void tool.warnings; // and whether it can be used
    found.set(tool, findSuspicions(tool, thirdParty, finder));
  });
  return found;
}

/** @param warningLines messages from opening; one about an unusable tool names the place in its file */
async function checkToolsets(open: OpenRuntime, warningLines: readonly string[], signal: AbortSignal): Promise<readonly ToolsetCheck[]> {
  const { runtime, config, report } = open;
  const { registry } = runtime;
  const enabled = listToolsets(open);
  const blocked = Map.groupBy(blockedTools(registry), ({ toolset }) => toolset.name);
  const all = [...enabled.keys()].flatMap((name) => allTools(registry, name));
  const suspicions = await checkDefinitions(all, open, signal);
  const quarantined = registry.check();
  return [...enabled].map(([name, isEnabled]) => {
    const tools = allTools(registry, name);
    const failures = report.failed.filter(({ toolset }) => toolset === name).map(({ error }) => failureWithHint(name, error));
    const denied = tools.filter((tool) => tool.denied !== undefined).length;
    const names = new Set(tools.map((tool) => tool.qualifiedName));
    const broken = quarantined
      .filter(({ tool }) => names.has(tool))
      .map(({ tool, error }) => findUnusableWarning(registry.get(tool), warningLines) ?? error.message);
    const blockedHere = blocked.get(name) ?? [];
    const suspicious = tools.flatMap((tool) => (suspicions.get(tool) ?? []).map((finding) => `${tool.tool.name}: ${finding}`));
    const usable = tools.filter(({ tool }) => tool.unusable === undefined);
    const warnings = [...listCautions(usable, config), ...toolWarnings(tools)];
    return {
      name,
      enabled: isEnabled,
      tools: tools.length,
      ...(denied === 0 ? {} : { denied }),
      problems: [
        ...failures,
        ...broken,
        ...blockedHere.map(blockedText),
        ...(isEnabled ? findBrokenSteps(runtime, config.config.toolsets.get(name)) : []),
      ],
      ...(blockedHere.length === 0 ? {} : { blocked: blockedHere.map(({ qualifiedName }) => qualifiedName) }),
      ...(warnings.length === 0 ? {} : { warnings }),
      ...(suspicious.length === 0 ? {} : { suspicious }),
    };
  });
}

/** Returns a problem if the store will refuse this version of SQLite, which would else show at the first session. */
function storeProblems({ config }: OpenRuntime): readonly string[] {
  if (config.config.store === undefined || !("path" in config.config.store)) return [];
  try {
    requireVersion(process.versions["sqlite"] ?? "");
    return [];
  } catch (thrown: unknown) {
    return [`store: ${formatForOperator(thrown)}`];
  }
}

/** Returns the steps of its chains that cannot be run. */
function findBrokenSteps(runtime: Runtime, toolset: ToolsetConfig | undefined): readonly string[] {
  if (toolset?.type !== "chains") return [];
  return [...toolset.chains].flatMap(([name, { chain }]) => {
    const check = chain.validate(runtime);
    return check.valid ? [] : check.problems.map(({ message }) => `${name}: ${message}`);
  });
}

/** Returns the warning about an unusable tool, which names the place in its file. */
function findUnusableWarning(registered: RegisteredTool | undefined, warningLines: readonly string[]): string | undefined {
  const unusable = registered?.tool.unusable;
  return unusable === undefined ? undefined : warningLines.find((line) => line.endsWith(unusable));
}

/** Returns the warnings of tools, such as defaults that break their own schema. */
function toolWarnings(tools: readonly RegisteredTool[]): readonly string[] {
  return tools.flatMap(({ tool, warnings }) => warnings.map((warning) => `${tool.name}: ${warning}`));
}

interface Conclusion {
  /** Messages of the runtime while it opened. */
  readonly warningLines: readonly string[];
  readonly conclusion: string;
}

function print({ out }: CommandContext, checks: readonly ToolsetCheck[], { warningLines, conclusion }: Conclusion): void {
  const column = columnWidth(
    checks.map((check) => safeText(check.name)),
    Infinity,
  );
  for (const { name, enabled, tools, denied = 0, problems, warnings = [], suspicious = [] } of checks) {
    const mark = enabled ? (problems.length === 0 ? out.paint("green", "✓") : out.paint("red", "✗")) : out.paint("dim", "-");
    const words = enabled ? `${plural(tools, "tool")}${denied === 0 ? "" : `, ${denied} denied`}` : "disabled";
    out.print(`${mark} ${padColumns(safeText(name), column)}  ${words}`);
    for (const line of problems.flatMap((problem) => wrap(problem, out.width - 4))) out.print(`    ${out.paint("red", line)}`);
    const more = warnings.length - MAX_WARNINGS;
    const shown = [...warnings.slice(0, MAX_WARNINGS), ...(more > 0 ? [`and ${plural(more, "more warning")}`] : []), ...suspicious];
    for (const line of shown.flatMap((finding) => wrap(`! ${finding}`, out.width - 4))) out.print(`    ${out.paint("yellow", line)}`);
  }
  for (const line of warningLines.flatMap((warning) => wrap(warning, out.width))) out.print(out.paint("red", line));
  out.print(conclusion);
}
