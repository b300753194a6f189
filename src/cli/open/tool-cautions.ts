/** Warnings about usable tools that do not do what their configuration seems to say. */
import { formatListWithCount } from "../../core/base/wording.ts";
import { addTo } from "../../core/base/add-to.ts";
import { findNoHandlerReason } from "../../core/answers/missing-handler.ts";
import { createNameMatcher } from "../../policy/permission.ts";
import type { LoadedConfig } from "../../config/load-config.ts";
import type { RegisteredTool } from "../../registry/registered-tool.ts";
import { effectWord } from "../../registry/effect-word.ts";

/** Returns one line for each caution, with the names of its tools. */
export function listCautions(tools: readonly RegisteredTool[], { config }: Pick<LoadedConfig, "config">): readonly string[] {
  const sources = config.simulation?.sources ?? [];
  const isStoodInFor = createNameMatcher(
    sources.map((rule) => rule.tools),
    "simulation.sources",
  );
  const byReason = new Map<string, RegisteredTool[]>();
  for (const tool of tools) {
    const handler = isStoodInFor(tool.qualifiedName) === undefined ? unansweredReason(tool) : undefined;
    for (const reason of [handler, retryCaution(tool)]) {
      if (reason !== undefined) addTo(byReason, reason, tool);
    }
  }
  return Array.from(byReason, ([reason, about]) => `${formatListWithCount([...new Set(about.map(({ tool }) => tool.name))])}: ${reason}`);
}

/** Returns why each call of the tool would end with `not_executable`; undefined if calls are answered. */
function unansweredReason({ tool, toolset }: RegisteredTool): string | undefined {
  if (toolset.engine !== undefined && toolset.engine.kind !== "local" && tool.execute === undefined) return undefined;
  const reason = findNoHandlerReason(tool);
  if (reason === undefined) return undefined;
  const why = tool.execute === undefined ? "no handler, and no engine that its toolset names" : reason.replace(/\.$/u, "");
  return `${why}; calls end with not_executable, and only simulations are answered.`;
}

/** Returns why configured retries are not made; undefined if they are made, or none are configured. */
export function retryCaution(registered: RegisteredTool): string | undefined {
  const { tool, toolset } = registered;
  const wanted = tool.maxAttempts ?? toolset.defaults?.maxAttempts ?? 1;
  if (wanted <= 1 || isRepeatable(registered)) return undefined;
  const why = effectWord(registered) === "undeclared" ? "declares no effects" : "writes, and is not declared idempotent";
  return `up to ${wanted} attempts are asked for, but it ${why}, so a call that has begun is not repeated. ${HOW_TO_REPEAT}`;
}

const HOW_TO_REPEAT = 'Declare effects = "readOnly" or effects = { writes = [...], idempotent = true } where that is true.';

export function isRepeatable(registered: RegisteredTool): boolean {
  const word = effectWord(registered);
  return word === "pure" || word === "reads" || word === "composite" || registered.tool.effects?.idempotent === true;
}
