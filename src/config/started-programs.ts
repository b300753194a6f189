/** What a configuration would run on this machine: servers that it starts, and code that it imports. */
import { jsonPath } from "../core/json.ts";
import type { KeyPath } from "../documents/key-positions.ts";
import type { LoadedConfig } from "./load-config.ts";
import { routedOf } from "./haft-config.ts";
import type { ToolsetConfig } from "./toolset-config.ts";

/** One line each, in the order of the file, without the values of variables; none for a configuration that runs nothing. */
export function startedPrograms({ config, redact }: LoadedConfig): readonly string[] {
  const lines: string[] = [];
  const add = (path: KeyPath, what: string): void => void lines.push(redact(`${jsonPath(path).slice(2)} ${what}`));
  for (const module of config.extensions) add(["extensions"], `imports ${JSON.stringify(module)}`);
  for (const { path, toolset } of routedOf(config)) {
    const what = toolset.enabled ? startedBy(toolset) : undefined;
    if (what !== undefined) add(path, what);
  }
  for (const [name, engine] of config.engines) {
    if (engine.type === "mcp" && engine.server?.command !== undefined) add(["engines", name], commandLine(engine.server));
  }
  return lines;
}

function startedBy(toolset: ToolsetConfig): string | undefined {
  if (toolset.type === "mcp") return toolset.command === undefined ? undefined : commandLine(toolset);
  if (toolset.type === "module") return `imports ${JSON.stringify(toolset.path)}`;
  if (toolset.type === "descriptors" && toolset.module !== undefined) return `imports ${JSON.stringify(toolset.module)}`;
  return undefined;
}

function commandLine({ command, args }: { readonly command: string; readonly args: readonly string[] }): string {
  return `runs ${[command, ...args].map((word) => (/^[\w./:@=-]+$/u.test(word) ? word : JSON.stringify(word))).join(" ")}`;
}
