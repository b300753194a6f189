/** `haft import`: converts the servers in another MCP client's file to a Haft configuration. */
import { basename, dirname, extname, resolve } from "node:path";
import { stringify } from "smol-toml";
import { CONFIG_NAMES } from "../../config/load-config.ts";
import { loadClientServers } from "../../config/load-client-servers.ts";
import { quoteForShell } from "../../core/base/quote-for-shell.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { RegistryEntry } from "../../config/tables/registry-config.ts";
import { ToolError, describeThrown } from "../../core/error.ts";
import { formatJsonPath } from "../../core/base/json.ts";
import type { CommandBody, CommandContext } from "../command.ts";
import { warn } from "../open/open-runtime.ts";
import { isSameFile } from "../input/check-output-paths.ts";
import { safeJson, safeText } from "../terminal/terminal-text.ts";
import { writeFileAtomically } from "../input/write-file.ts";

export const importCommand: CommandBody = {
  details: [
    "Reads the MCP servers in the settings of another client, and prints them as",
    "toolsets of a haft.toml; --out writes the file, in JSON where its name ends in",
    ".json. It knows the files of Claude, Cursor, VS Code, Codex, Gemini, Copilot,",
    "opencode, Cline, Zed, Goose, Continue and others, the manifest.json of a",
    "bundle, and a server.json of the MCP registry. Variables stay variables, and a",
    "line on standard error names what is ignored, and says whether the new file",
    "must be trusted. Nothing is started. A file with mcpServers can also be used as",
    "it is: haft list --config .mcp.json.",
  ],
  args: [1, 1],
  options: ["out", "overwrite"],
  examples: ["haft import .mcp.json", "haft import ~/.codex/config.toml --out haft.toml"],
  async run(context) {
    const [file = ""] = context.args;
    const { entries, warnings } = await loadClientServers(file, { environment: context.environment, project: process.cwd() });
    for (const warning of warnings) warn(context, warning);
    const { out } = context.options;
    const isFile = out !== undefined && out !== "-";
    if (isFile && ![".toml", ".json"].includes(extname(out).toLowerCase()))
      throw new ToolError("invalid_argument", `--out ${JSON.stringify(out)} must end in .toml or .json.`);
    if (isFile && (await isSameFile(out, file)))
      throw new ToolError("invalid_argument", `--out names the file ${safeText(file)} itself, which would be lost.`, {
        hint: "Choose another name.",
      });
    const writable = filterWritable(entries, (text) => warn(context, text));
    const toolsets = toolsetsOf(writable, isFile ? dirname(resolve(out)) : process.cwd());
    await writeConfig(context, toolsets);
    if (isFile && context.environment["HAFT_TRUST"] !== "all" && isDefaultConfigName(out) && Object.values(toolsets).some(needsTrust))
      warn(context, `${out} starts programs or sends your variables: read it, then run ${trustCommandFor(out)}.`);
    return 0;
  },
};

/** Whether the file is found without `--config`. Only such a file asks for trust. */
function isDefaultConfigName(out: string): boolean {
  return CONFIG_NAMES.includes(basename(out));
}

function needsTrust(toolset: object): boolean {
  const { enabled, command, url, headers }: Readonly<Record<string, unknown>> = { ...toolset };
  return enabled !== false && (command !== undefined || JSON.stringify([url, headers]).includes("${"));
}

function trustCommandFor(out: string): string {
  return dirname(resolve(out)) === process.cwd() ? "haft trust" : `haft trust --config ${quoteForShell(out)}`;
}

/** Returns the toolsets by name. @param folder where the configuration will be */
function toolsetsOf(entries: readonly RegistryEntry[], folder: string): Readonly<Record<string, object>> {
  return Object.fromEntries(entries.map(({ namespace = "", toolset }) => [namespace, tableOf(toolset, folder)]));
}

/** Returns the servers that a Haft configuration can express. @throws ToolError `invalid_config` if it can express none of them */
function filterWritable(entries: readonly RegistryEntry[], onLeftOut: (text: string) => void): readonly RegistryEntry[] {
  const refused = entries.map(({ toolset, path }) => findEnvPrefixProblem(toolset, path));
  const [first] = refused;
  if (first !== undefined && refused.every((error) => error !== undefined)) throw first;
  for (const error of refused) if (error !== undefined) onLeftOut(`${error.message} It is left out.`);
  return entries.filter((_, index) => refused[index] === undefined);
}

/** Returns an error if a value begins with `env:`, which is plain text in the files of other clients and names a variable in a Haft configuration. */
function findEnvPrefixProblem(toolset: object, path: RegistryEntry["path"]): ToolError | undefined {
  const { command, args, env, url, headers }: Readonly<Record<string, unknown>> = { ...toolset };
  const found = [command, url, ...[args, env, headers].flatMap((values) => Object.values(values ?? {}))].find(
    (value) => typeof value === "string" && value.startsWith("env:"),
  );
  if (found === undefined) return undefined;
  return new ToolError(
    "invalid_config",
    `${formatJsonPath(path).slice(2)} has ${JSON.stringify(found)}, which names a variable in a haft.toml.`,
    {
      operatorHint: "Change it, or use the file as it is, with --config.",
    },
  );
}

/** Returns the keys of a toolset that are not empty or defaults. */
function tableOf(toolset: object, folder: string): object {
  const { enabled, command, args, env, cwd, url, transport, headers, ...more }: Readonly<Record<string, unknown>> = { ...toolset };
  const { description, include, exclude, timeoutMs, openTimeoutMs } = more;
  return {
    type: "mcp",
    ...(enabled === false ? { enabled } : {}),
    ...omitUndefined({ description, include, exclude, timeoutMs, openTimeoutMs }),
    ...omitUndefined({ command, args: omitEmpty(args), env: omitEmpty(env), cwd: cwd === folder ? undefined : cwd }),
    ...omitUndefined({ url, transport, headers: omitEmpty(headers) }),
  };
}

function omitEmpty(value: unknown): unknown {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0 ? undefined : value;
}

async function writeConfig(
  { args: [file = ""], out, options, signal }: CommandContext,
  toolsets: Readonly<Record<string, object>>,
): Promise<void> {
  if (options.out === undefined || options.out === "-") {
    out.write(options.json ? `${safeJson({ toolsets })}\n` : tomlOf(toolsets, file));
    return;
  }
  const isJson = extname(options.out).toLowerCase() === ".json";
  const text = isJson ? `${JSON.stringify({ toolsets }, undefined, 2)}\n` : tomlOf(toolsets, file);
  await writeFileAtomically(options.out, [text], {
    force: options.overwrite,
    forceOption: "--overwrite",
    allowsStdout: true,
    signal,
  });
  if (options.json) out.writeJson({ file: options.out, toolsets: Object.keys(toolsets) });
  else out.print(`${safeText(options.out)}: written`);
}

/** Formats the toolsets as TOML. @throws ToolError `invalid_config` for text that TOML cannot hold, such as half of a surrogate pair */
function tomlOf(toolsets: Readonly<Record<string, object>>, file: string): string {
  try {
    return `${stringify({ toolsets }).trimEnd()}\n`;
  } catch (thrown: unknown) {
    throw new ToolError("invalid_config", `The servers of ${safeText(file)} cannot be written as TOML: ${describeThrown(thrown)}.`, {
      operatorHint: "Correct the text, or write JSON: --out haft.json.",
      cause: thrown,
    });
  }
}
