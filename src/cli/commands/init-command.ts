/** `haft init`: a first configuration, after a few questions. */
import { maxOf } from "../../core/collections/push-all.ts";
import { existsSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { findConfig } from "../../config/load-config.ts";
import { ToolError, formatForOperator } from "../../core/error.ts";
import { isWebAddress } from "../../engine/mcp/web-address.ts";
import { splitSpec } from "../../model/provider-names.ts";
import { checkAddress } from "../../model/model-from.ts";
import { findNearProviders } from "../../model/provider-names.ts";
import { findProvider } from "../../model/providers.ts";
import type { CommandBody, CommandContext } from "../command.ts";
import { packageFile } from "../own-package.ts";
import { quoteForShell } from "../../core/base/quote-for-shell.ts";
import { safeText } from "../terminal/terminal-text.ts";
import { writeFileAtomically } from "../input/write-file.ts";

/** The answers to the questions. */
interface Answers {
  /** The folder as it is written in the file. */
  readonly folder: string;
  /** The model; undefined = none. */
  readonly model: string | undefined;
  /** The address of the model's server; undefined if it is known. */
  readonly baseUrl: string | undefined;
  readonly shell: boolean;
}

const FILE = "haft.toml";
const SCHEMA = "haft.schema.json";

export const initCommand: CommandBody = {
  details: [
    "Asks for the folder that tools may work in, for the model, for the address of",
    "its server where that is not known, and whether the model may run commands in a",
    "sandbox; --yes asks nothing and uses this folder, the model of --model or none,",
    "and no commands. The file is commented, and names its JSON Schema, so that an",
    "editor completes and checks it. An existing file is replaced with --overwrite",
    "only.",
  ],
  args: [0, 0],
  options: ["yes", "model", "out", "overwrite"],
  examples: ["haft init", "haft init --yes --model ollama/qwen3"],
  async run(context) {
    const { out = FILE, overwrite, json } = context.options;
    if (!out.toLowerCase().endsWith(".toml")) throw new ToolError("invalid_argument", `--out ${JSON.stringify(out)} must end in .toml.`);
    const folder = dirname(resolve(out));
    checkNoOtherConfig(folder, out);
    if (existsSync(out) && !overwrite)
      throw new ToolError("invalid_argument", `${out} already exists.`, { hint: "Give --overwrite to replace it." });
    const answers = await askQuestions(context, folder);
    await writeFileAtomically(out, [configText(answers, findSchema(folder))], {
      force: overwrite,
      forceOption: "--overwrite",
      isPublic: true,
      signal: context.signal,
    });
    if (json) context.out.writeJson({ file: out, ...answers, model: answers.model ?? null });
    else context.out.print(`${safeText(out)}: written\n\n${nextSteps(answers, out)}`);
    return 0;
  },
};

/** Refuses to add a second configuration to a folder, which would be an error later. */
function checkNoOtherConfig(folder: string, out: string): void {
  const found = findConfig(folder);
  if (found === undefined || basename(found) === basename(out)) return;
  throw new ToolError("invalid_argument", `There is a configuration here already: ${basename(found)}.`, {
    hint: "Change that one, or remove it.",
  });
}

async function askQuestions(context: CommandContext, folder: string): Promise<Answers> {
  const { options, ask, signal } = context;
  const model = options.model === undefined ? undefined : parseModel(options.model);
  if (options.yes) return { folder: ".", model, baseUrl: undefined, shell: false };
  if (ask === undefined)
    throw new ToolError("invalid_argument", "There is no terminal to ask questions on.", { hint: "Give --yes to take the defaults." });
  const askUntilValid = async <Answer>(question: string, read: (text: string) => Answer): Promise<Answer> => {
    for (;;) {
      const text = await ask(question, signal);
      if (text === undefined) throw new ToolError("cancelled", "Nothing was written: the questions were not answered.");
      try {
        return read(text.trim());
      } catch (thrown: unknown) {
        context.err.print(`  ${formatForOperator(thrown)}`);
      }
    }
  };
  const answers = {
    folder: await askUntilValid("Which folder may tools work in? [.] ", (text) => parseFolder(text === "" ? "." : text, folder)),
    model:
      model ??
      (await askUntilValid("Which model, such as anthropic/claude-sonnet-5 or ollama/qwen3? [none] ", (text) =>
        text === "" ? undefined : parseModel(text),
      )),
  };
  return {
    ...answers,
    baseUrl: needsAddress(answers.model, context.environment)
      ? await askUntilValid("Where is the server of the model, such as http://localhost:8000/v1? ", parseAddress)
      : undefined,
    shell: await askUntilValid("May the model run commands there, in a sandbox, each after your yes? [y/N] ", parseYesNo),
  };
}

/** Whether the provider has no address of its own, and no variable gives one. */
function needsAddress(model: string | undefined, environment: CommandContext["environment"]): boolean {
  if (model === undefined) return false;
  try {
    checkAddress(splitSpec(model), environment);
    return false;
  } catch {
    return true; // the provider is known, so only the address can be missing
  }
}

function parseAddress(text: string): string {
  if (isWebAddress(text)) return text;
  throw new ToolError("invalid_argument", "Type an address that begins with http:// or https://, without a name or password.");
}

function parseFolder(text: string, folder: string): string {
  if (!statSync(resolve(folder, text), { throwIfNoEntry: false })?.isDirectory())
    throw new ToolError("invalid_argument", `There is no folder ${JSON.stringify(text)} here.`);
  const path = relative(folder, resolve(folder, text));
  return path === "" ? "." : path.startsWith("..") ? resolve(folder, text) : `./${path}`;
}

function parseModel(text: string): string {
  const [provider = "", ...name] = text.split("/");
  if (name.join("/").trim() === "")
    throw new ToolError("invalid_argument", `The model ${JSON.stringify(text)} needs a provider: provider/model.`);
  if (findProvider(provider) !== undefined) return text;
  const near = findNearProviders(provider).map((one) => JSON.stringify(one));
  throw new ToolError("invalid_argument", `There is no provider ${JSON.stringify(provider)}.`, {
    hint: near.length === 0 ? "For example anthropic/claude-sonnet or ollama/qwen3." : `Did you mean ${near.join(" or ")}?`,
  });
}

function parseYesNo(text: string): boolean {
  if (/^(?:y|yes)$/iu.test(text)) return true;
  if (/^(?:n|no)?$/iu.test(text)) return false;
  throw new ToolError("invalid_argument", "Type y or n.");
}

/** Returns where an editor finds the schema: in the project's packages, or in this package. Undefined if it is in neither. */
function findSchema(folder: string): string | undefined {
  if (existsSync(join(folder, "node_modules", "haft", SCHEMA))) return `./node_modules/haft/${SCHEMA}`;
  const own = packageFile(SCHEMA);
  return existsSync(own) ? own.href : undefined;
}

function configText({ folder, model, baseUrl, shell }: Answers, schema: string | undefined): string {
  const root = JSON.stringify(folder);
  return [
    `${schema === undefined ? "" : `#:schema ${schema}\n`}${HEAD}`,
    `${FILES}root = ${root}\n# readOnly = true`,
    commentOut(!shell, `${SHELL}root = ${root}\n# network = true`),
    commentOut(
      model === undefined,
      `${MODEL}name = ${JSON.stringify(model ?? "anthropic/claude-sonnet-5")}${baseUrl === undefined ? "" : `\nbaseUrl = ${JSON.stringify(baseUrl)}`}`,
    ),
    REST,
  ].join("\n\n");
}

const HEAD = `# The tools of this folder, for Haft. "haft list" shows them, "haft chat" talks with the model.
# All keys: https://github.com/haft-dev/haft/blob/main/docs/reference/configuration.md

[approval]
# Patterns of tools that must be approved, besides those that may destroy something.
always = ["files::write", "files::edit", "files::multi_edit", "files::json_write"]`;

const FILES = `# The files of a folder: read, list, glob, grep, write, edit and more. Nothing outside of it is touched.
[toolsets.files]
type = "files"
`;

const SHELL = `# Commands in a sandbox (Linux, bubblewrap): they change this folder only, and have no network.
[toolsets.shell]
type = "shell"
`;

const MODEL = `# The model of "haft chat". Its key is read from the environment, such as ANTHROPIC_API_KEY.
[model]
`;

const REST = `# Sessions are kept in this file, and can be resumed.
[store]
path = "haft.db"

# An MCP server:
# [toolsets.memory]
# type = "mcp"
# command = "npx"
# args = ["-y", "@modelcontextprotocol/server-memory@2026.8.31"]

# A program, without a shell: each {name} is a property of the input.
# [toolsets.git]
# type = "command"
# [[toolsets.git.tools]]
# name = "log"
# description = "Shows the latest commits of a file."
# command = ["git", "log", "--oneline", "--max-count={count}", "--", "{path}"]
# effects = "readOnly"
# inputSchema = { type = "object", properties = { path = { type = "string" }, count = { type = "integer", default = 10 } }, required = ["path"] }
`;

/** Comments out a table that is off, so that a person can turn it on. */
function commentOut(isOff: boolean, text: string): string {
  return isOff ? text.replaceAll(/^(?!#|$)/gmu, "# ") : text;
}

function nextSteps({ model, shell }: Answers, out: string): string {
  const steps = [
    ...(shell ? [["trust", "once, because models may run commands"]] : []),
    ["list", "the tools"],
    ...(model === undefined ? [] : [["chat", "talk with the model"]]),
    ["check", "whether everything opens"],
  ];
  const config = out === FILE ? "" : ` --config ${quoteForShell(out)}`;
  const longest = maxOf(steps.map(([command = ""]) => command.length));
  return steps.map(([command = "", what = ""]) => `haft ${`${command}${config}`.padEnd(longest + config.length)}   ${what}`).join("\n");
}
