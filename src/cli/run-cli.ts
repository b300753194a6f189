/** Finds the command, checks its arguments, runs it, and turns errors into a message and an exit code. */
import { ERROR_CODES } from "../core/error-codes.ts";
import { ToolError } from "../core/error.ts";
import { didYouMean } from "../core/base/near-names.ts";
import { readCommandLine, type CommandLine, type OptionName } from "./command-line.ts";
import { COMMANDS, loadCommand } from "./commands.ts";
import type { Command, CommandHost } from "./command.ts";
import { commandHelp, groupHelp, programHelp, usageOf } from "./help.ts";
import { packageVersion } from "./own-package.ts";
import { errorLines } from "./print/print-result.ts";
import { safeJson, screenFor } from "./terminal/terminal-text.ts";

const COMMON_OPTIONS: readonly OptionName[] = ["json", "help", "version"];

/** Runs one command line. Resolves to the exit code and never rejects. */
export async function runCli(argv: readonly string[], host: CommandHost): Promise<number> {
  try {
    return await dispatch(readCommandLine(argv), host);
  } catch (thrown: unknown) {
    const error = isMissingFolder(thrown) ? missingFolderError(thrown) : ToolError.fromUnknown(thrown);
    if (argv.includes("--json")) host.stdout.write(`${safeJson({ error })}\n`);
    const screen = screenFor(host.stderr, host.environment);
    screen.print(errorLines(error.toJSON(), screen));
    return ERROR_CODES[error.code].exit;
  }
}

/** Whether this is the error of `process.cwd()` after another program removed the current folder. */
function isMissingFolder(thrown: unknown): boolean {
  return thrown instanceof Error && "syscall" in thrown && thrown.syscall === "uv_cwd";
}

function missingFolderError(cause: unknown): ToolError {
  return new ToolError("invalid_argument", "The current folder has been removed.", { hint: "Change to another one with cd.", cause });
}

async function dispatch(line: CommandLine, host: CommandHost): Promise<number> {
  if (line.options.version) return print(host, `${packageVersion()}\n`);
  const wantsHelp = line.options.help || line.command === "help";
  const [name, ...args] = line.command === "help" || line.command === undefined ? line.args : [line.command, ...line.args];
  if (name === undefined) return help(host, { wantsHelp, wantsJson: line.options.json, text: programHelp(COMMANDS) });
  const entry = (await loadCommand(name)) ?? throwUnknownCommand(Object.keys(COMMANDS), name);
  const [word, ...rest] = args;
  if (!("commands" in entry)) {
    const own = entry.subcommands?.find((known) => known.name === `${name} ${word}`);
    return run(own === undefined ? { command: entry, args, wantsHelp } : { command: own, args: rest, wantsHelp }, { line, host });
  }
  if (word === undefined) return help(host, { wantsHelp, wantsJson: line.options.json, group: [name], text: groupHelp(entry) });
  const full = `${name} ${word}`;
  const command =
    entry.commands.find((known) => known.name === full) ??
    throwUnknownCommand(
      entry.commands.map((known) => known.name.slice(name.length + 1)),
      word,
      `${name} `,
    );
  return run({ command, args: rest, wantsHelp }, { line, host });
}

async function run(
  { command, args, wantsHelp }: { readonly command: Command; readonly args: readonly string[]; readonly wantsHelp: boolean },
  { line: { options, given }, host }: { readonly line: CommandLine; readonly host: CommandHost },
): Promise<number> {
  if (wantsHelp) return print(host, commandHelp(command));
  checkArguments(command, { args, given });
  const { stdout, stderr, ...rest } = host;
  return command.run({
    ...rest,
    args,
    options,
    out: screenFor(stdout, host.environment),
    err: screenFor(stderr, host.environment),
  });
}

/** Prints help; on standard error and as an error if a command is missing. @throws ToolError `invalid_argument` instead, with --json */
function help(
  host: CommandHost,
  {
    wantsHelp,
    wantsJson,
    group = [],
    text,
  }: { readonly wantsHelp: boolean; readonly wantsJson: boolean; readonly group?: readonly string[]; readonly text: string },
): number {
  if (wantsHelp) return print(host, text);
  if (wantsJson)
    throw new ToolError("invalid_argument", "A command is missing.", { hint: `${["haft", ...group].join(" ")} --help lists them.` });
  screenFor(host.stderr, host.environment).print(text.trimEnd());
  return ERROR_CODES.invalid_argument.exit;
}

function print(host: CommandHost, text: string): number {
  screenFor(host.stdout, host.environment).print(text.trimEnd());
  return 0;
}

/** Fails for an unknown command. @throws ToolError in any case */
function throwUnknownCommand(words: readonly string[], word: string, group: string = ""): never {
  const meant = didYouMean(word, words, (near) => `"haft ${group}${near}"`);
  const hint = meant ?? `Commands: ${words.join(", ")}. See haft ${group}--help.`;
  throw new ToolError("invalid_argument", `There is no command ${JSON.stringify(`${group}${word}`)}.`, { hint });
}

function checkArguments(command: Command, { args, given }: Pick<CommandLine, "args" | "given">): void {
  const [fewest, most] = command.args;
  const usage = `Usage: ${usageOf(command)}`;
  if (args.length < fewest)
    throw new ToolError("invalid_argument", `haft ${command.name} needs ${command.usage}.`, {
      hint: `For example: ${command.examples[0] ?? ""}`,
    });
  if (args.length > most) {
    const words = (command.subcommands ?? []).map((known) => known.name.slice(command.name.length + 1));
    const meant = didYouMean(args[0] ?? "", words, (near) => `"haft ${command.name} ${near}"`);
    throw new ToolError("invalid_argument", `haft ${command.name} does not take the argument ${JSON.stringify(args[most])}.`, {
      hint: meant ?? `${usage}. Put an argument that has spaces in quotes.`,
    });
  }
  const stray = given.find((option) => !COMMON_OPTIONS.includes(option) && !command.options.includes(option));
  if (stray !== undefined)
    throw new ToolError("invalid_argument", `haft ${command.name} takes no --${stray}.`, { hint: `See haft ${command.name} --help.` });
}
