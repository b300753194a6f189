/** Makes toolsets of what a configuration says. */
import { resolve } from "node:path";
import { ToolError } from "../core/error.ts";
import type { CallSettings } from "../core/tool.ts";
import type { Toolset } from "../core/toolset.ts";
import { mcpEngine } from "../engine/mcp.ts";
import { filesToolset } from "../toolsets/files.ts";
import type { FilesConfig, McpConfig, ToolsetConfig } from "./haft-config.ts";
import type { LoadedConfig } from "./load-config.ts";
import { moduleTools } from "./module-tools.ts";

/**
 * The enabled toolsets of a configuration, in the order of the file, ready for `createRuntime`.
 *
 * Modules are imported here; servers are started only when the runtime opens its toolsets.
 *
 * @throws ToolError `invalid_config` with every problem and its place when a folder or module cannot be used
 */
export async function buildToolsets(loaded: LoadedConfig): Promise<readonly Toolset[]> {
  const problems = loaded.problems();
  const toolsets: Toolset[] = [];
  for (const [name, config] of loaded.config.toolsets) {
    if (!config.enabled) continue;
    try {
      toolsets.push(withCommon(name, config, await build(name, config, loaded.folder)));
    } catch (thrown: unknown) {
      const { message, hint } = ToolError.fromUnknown(thrown);
      problems.add(["toolsets", name, KEY_AT_FAULT[config.type]], hint === undefined ? message : `${message} ${hint}`);
    }
  }
  problems.throwIfAny();
  return toolsets;
}

/** The key that is to blame when a toolset that was read without a problem cannot be made. */
const KEY_AT_FAULT = { files: "root", mcp: "command", module: "path" } as const satisfies Record<ToolsetConfig["type"], string>;

async function build(name: string, config: ToolsetConfig, folder: string): Promise<Partial<Toolset>> {
  if (config.type === "files") return buildFiles(name, config, folder);
  if (config.type === "mcp") return buildMcp(config, folder);
  return await moduleTools(config.path, folder);
}

function buildFiles(name: string, config: FilesConfig, folder: string): Partial<Toolset> {
  const { guard, readOnly, allowSensitive, unchangedReads } = config;
  return filesToolset({
    name,
    root: resolve(folder, config.root),
    ...(guard === undefined ? {} : { guard }),
    ...(readOnly === undefined ? {} : { readOnly }),
    ...(allowSensitive === undefined ? {} : { allowSensitive }),
    ...(unchangedReads === undefined ? {} : { unchangedReads }),
  });
}

function buildMcp(config: McpConfig, folder: string): Partial<Toolset> {
  const { command, args, env, trustAnnotations, openTimeoutMs } = config;
  const engine = mcpEngine({ command, args, env, trustAnnotations, cwd: folder });
  return { engine, ...(openTimeoutMs === undefined ? {} : { openTimeoutMs }) };
}

/** What the configuration says wins over what a toolset brings. */
function withCommon(name: string, config: ToolsetConfig, toolset: Partial<Toolset>): Toolset {
  const { description, maxConcurrent, timeoutMs, deadlineMs, maxAttempts, maxResultBytes } = config;
  const defaults: CallSettings = {
    ...toolset.defaults,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
    ...(maxAttempts === undefined ? {} : { maxAttempts }),
    ...(maxResultBytes === undefined ? {} : { maxResultBytes }),
  };
  return {
    ...toolset,
    name,
    ...(description === undefined ? {} : { description }),
    ...(maxConcurrent === undefined ? {} : { maxConcurrent }),
    ...(Object.keys(defaults).length === 0 ? {} : { defaults }),
  };
}
