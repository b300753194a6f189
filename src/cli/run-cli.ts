/** Finds the command, checks its arguments, runs it, and turns whatever goes wrong into a message and an exit code. */
import { readFileSync } from "node:fs";
import { ERROR_CODES } from "../core/error-codes.ts";
import { ToolError } from "../core/error.ts";
import { isJsonObject } from "../core/json.ts";
import { parseJson } from "../core/parse-json.ts";
import { nearNames } from "../runtime/near-names.ts";
import { callCommand } from "./call-command.ts";
import { checkCommand } from "./check-command.ts";
import { readCommandLine } from "./command-line.ts";
import type { CommandLine, OptionName } from "./command-line.ts";
import type { Command, CommandWorld } from "./command.ts";
import { commandHelp, programHelp, usageOf } from "./help.ts";
import { infoCommand } from "./info-command.ts";
import { listCommand } from "./list-command.ts";
import { errorLines } from "./print-result.ts";
import { runCommand } from "./run-command.ts";
import { searchCommand } from "./search-command.ts";
import { safeJson, screenFor } from "./terminal-text.ts";

const COMMANDS: readonly Command[] = [runCommand, callCommand, listCommand, searchCommand, infoCommand, checkCommand];
const COMMON_OPTIONS: readonly OptionName[] = ["config", "json", "help", "version"];

/** Runs one command line; resolves to the exit code and never rejects. */
export async function runCli(argv: readonly string[], world: CommandWorld): Promise<number> {
  try {
    return await dispatch(readCommandLine(argv), world);
  } catch (thrown: unknown) {
    const error = ToolError.fromUnknown(thrown);
    if (argv.includes("--json")) world.stdout.write(`${safeJson({ error })}\n`);
    world.stderr.write(errorLines(error.toJSON(), screenFor(world.stderr, world.environment)));
    return ERROR_CODES[error.code].exit;
  }
}

async function dispatch(line: CommandLine, world: CommandWorld): Promise<number> {
  const { options } = line;
  if (options.version) return print(world, `${packageVersion()}\n`);
  const wantsHelp = options.help || line.command === "help";
  const name = line.command === "help" ? line.args[0] : line.command;
  if (name === undefined) {
    if (wantsHelp) return print(world, programHelp(COMMANDS));
    world.stderr.write(programHelp(COMMANDS));
    return ERROR_CODES.invalid_argument.exit;
  }
  const command = COMMANDS.find((known) => known.name === name);
  if (command === undefined) throw unknownCommand(name);
  if (wantsHelp) return print(world, commandHelp(command));
  checkArguments(command, line);
  const { stdout, stderr, ...rest } = world;
  return command.run({
    ...rest,
    args: line.args,
    options,
    out: screenFor(stdout, world.environment),
    err: screenFor(stderr, world.environment),
  });
}

function print(world: CommandWorld, text: string): number {
  world.stdout.write(text);
  return 0;
}

function unknownCommand(name: string): ToolError {
  const names = COMMANDS.map((command) => command.name);
  const [near] = nearNames(name, names);
  const hint = near === undefined ? `Commands: ${names.join(", ")}. See haft --help.` : `Did you mean "haft ${near}"?`;
  return new ToolError("invalid_argument", `There is no command ${JSON.stringify(name)}.`, { hint });
}

function checkArguments(command: Command, { args, given }: CommandLine): void {
  const [fewest, most] = command.args;
  const usage = `Usage: ${usageOf(command)}`;
  if (args.length < fewest)
    throw new ToolError("invalid_argument", `haft ${command.name} needs ${command.usage}.`, {
      hint: `For example: ${command.examples[0] ?? ""}`,
    });
  if (args.length > most)
    throw new ToolError("invalid_argument", `haft ${command.name} has no use for ${JSON.stringify(args[most])}.`, {
      hint: `${usage}. An argument that holds spaces is put in quotes.`,
    });
  const stray = given.find((option) => !COMMON_OPTIONS.includes(option) && !command.options.includes(option));
  if (stray !== undefined)
    throw new ToolError("invalid_argument", `haft ${command.name} takes no --${stray}.`, { hint: `See haft ${command.name} --help.` });
}

function packageVersion(): string {
  const manifest = parseJson(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  return isJsonObject(manifest) && typeof manifest["version"] === "string" ? manifest["version"] : "unknown";
}
