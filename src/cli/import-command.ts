/** `haft import`: the servers of another MCP client's file, as a configuration of our own. */
import { stringify } from "smol-toml";
import { loadConfig } from "../config/load-config.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import { present } from "../config/present.ts";
import type { RegistryEntry } from "../config/registry-config.ts";
import { ToolError } from "../core/error.ts";
import { readTextFile } from "../documents/read-text-file.ts";
import type { Command, CommandContext } from "./command.ts";
import { warn } from "./open-runtime.ts";
import { safeText } from "./terminal-text.ts";
import { writeFileWhole } from "./write-file.ts";

const MAX_BYTES = 1024 * 1024;

export const importCommand: Command = {
  name: "import",
  usage: "<file>",
  summary: "Turn another program's mcpServers into haft.toml.",
  details: [
    "Reads the servers of a file with mcpServers (Claude Desktop, Claude Code,",
    "Cursor) or servers (VS Code), and prints them as toolsets of a haft.toml; --out",
    "writes the file. Variables stay variables. Nothing is started. Such a file can",
    "also be used as it is: haft list --config .mcp.json.",
  ],
  args: [1, 1],
  options: ["out", "overwrite"],
  examples: ["haft import .mcp.json", "haft import .vscode/mcp.json --out haft.toml"],
  async run(context) {
    const [file = ""] = context.args;
    const loaded = await loadConfig(file, { environment: await variablesOf(file, context.environment) });
    for (const warning of loaded.warnings) warn(context, warning);
    const entries = loaded.config.registry.filter(({ path }) => path[0] === "mcpServers" || path[0] === "servers");
    if (entries.length === 0)
      throw new ToolError("invalid_config", `${file} has no servers.`, { hint: "They stand under mcpServers, or under servers." });
    await writeOut(context, textOf(entries, loaded));
    return 0;
  },
};

/** Each variable that the file names, with its own name as its value; one with a default only where it is set. */
async function variablesOf(path: string, environment: CommandContext["environment"]): Promise<Readonly<Record<string, string>>> {
  const hint = "Name the file itself, such as .mcp.json.";
  const text = await readTextFile({ path, what: "configuration", code: "invalid_config", maxBytes: MAX_BYTES, hint });
  const named = Array.from(text.matchAll(/\$\{(?:env:)?([A-Za-z_]\w*)(:-)?/gu), ([, name = "", otherwise]) => ({ name, otherwise }));
  const kept = named.filter(({ name, otherwise }) => otherwise === undefined || (environment[name] ?? "") !== "");
  return Object.fromEntries(kept.map(({ name }) => [name, `\${${name}}`]));
}

function textOf(entries: readonly RegistryEntry[], { folder }: LoadedConfig): string {
  const toolsets = entries.map(({ namespace = "", toolset }) => [namespace, tableOf(toolset, folder)] as const);
  return `${stringify({ toolsets: Object.fromEntries(toolsets) }).trimEnd()}\n`;
}

/** The keys that say something. */
function tableOf(toolset: object, folder: string): object {
  const { enabled, command, args, env, cwd, url, transport, headers }: Readonly<Record<string, unknown>> = { ...toolset };
  return {
    type: "mcp",
    ...(enabled === false ? { enabled } : {}),
    ...present({ command, args: orNothing(args), env: orNothing(env), cwd: cwd === folder ? undefined : cwd }),
    ...present({ url, transport, headers: orNothing(headers) }),
  };
}

function orNothing(value: unknown): unknown {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0 ? undefined : value;
}

async function writeOut({ out, options, signal }: CommandContext, text: string): Promise<void> {
  if (options.out === undefined || options.out === "-") {
    out.write(text);
    return;
  }
  await writeFileWhole(options.out, pieces(text), { force: options.overwrite, signal });
  out.write(`${safeText(options.out)}: written\n`);
}

async function* pieces(text: string): AsyncGenerator<string> {
  yield text;
}
