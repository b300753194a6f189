/** Finds the command, checks its arguments, runs it, and turns whatever goes wrong into a message and an exit code. */
import { readFileSync } from "node:fs";
import { ERROR_CODES, ToolError } from "../core/error.ts";
import { nearNames } from "../runtime/near-names.ts";
import { callCommand } from "./call-command.ts";
import { checkCommand } from "./check-command.ts";
import { readCommandLine } from "./command-line.ts";
import type { CommandLine } from "./command-line.ts";
import type { Command, CommandWorld } from "./command.ts";
import { commandHelp, programHelp } from "./help.ts";
import { infoCommand } from "./info-command.ts";
import { listCommand, searchCommand } from "./list-command.ts";
import { errorLines } from "./print-result.ts";
import { runCommand } from "./run-command.ts";
import { paintFor } from "./terminal-text.ts";

const COMMANDS: readonly Command[] = [runCommand, callCommand, listCommand, searchCommand, infoCommand, checkCommand];
const COMMON_OPTIONS = ["config", "json", "help", "version", "once"];
const DEFAULT_WIDTH = 100;

/** Runs one command line; resolves to the exit code and never rejects. */
export async function runCli(argv: readonly string[], world: CommandWorld): Promise<number> {
  try {
    return await dispatch(readCommandLine(argv), world);
  } catch (thrown: unknown) {
    const error = ToolError.fromUnknown(thrown);
    if (argv.includes("--json")) world.stdout.write(`${JSON.stringify({ error })}\n`);
    world.stderr.write(errorLines(error.toJSON(), paintFor(world.stderr, world.environment)));
    return ERROR_CODES[error.code].exit;
  }
}

async function dispatch(line: CommandLine, world: CommandWorld): Promise<number> {
  if (line.options.version) {
    world.stdout.write(`${packageVersion()}\n`);
    return 0;
  }
  const name = line.command === "help" ? line.args[0] : line.command;
  if (name === undefined) {
    const asked = line.options.help || line.command === "help";
    (asked ? world.stdout : world.stderr).write(programHelp(COMMANDS));
    return asked ? 0 : ERROR_CODES.invalid_argument.exit;
  }
  const command = COMMANDS.find((known) => known.name === name);
  if (command === undefined) throw unknownCommand(name);
  if (line.options.help || line.command === "help") {
    world.stdout.write(commandHelp(command));
    return 0;
  }
  checkArguments(command, line);
  return command.run({ ...world, args: line.args, options: line.options, paint: paintFor(world.stdout, world.environment), width: world.stdout.columns ?? DEFAULT_WIDTH });
}

function unknownCommand(name: string): ToolError {
  const [near] = nearNames(name, COMMANDS.map((command) => command.name));
  return new ToolError("invalid_argument", `There is no command ${JSON.stringify(name)}.`, { hint: near === undefined ? `Commands: ${COMMANDS.map((command) => command.name).join(", ")}. See haft --help.` : `Did you mean "haft ${near}"?` });
}

function checkArguments(command: Command, line: CommandLine): void {
  const [fewest, most] = command.args;
  const usage = `Usage: haft ${command.name} ${command.usage}`.trim();
  if (line.args.length < fewest) throw new ToolError("invalid_argument", `haft ${command.name} needs ${command.usage}.`, { hint: `${usage}. For example: ${command.examples[0] ?? ""}` });
  if (line.args.length > most) throw new ToolError("invalid_argument", `haft ${command.name} takes no ${JSON.stringify(line.args[most])}.`, { hint: `${usage}. Quote an argument that holds spaces.` });
  const stray = line.given.find((option) => !COMMON_OPTIONS.includes(option) && !command.options.includes(option));
  if (stray !== undefined) throw new ToolError("invalid_argument", `haft ${command.name} takes no --${stray}.`, { hint: `See haft ${command.name} --help.` });
}

function packageVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  return typeof manifest === "object" && manifest !== null && "version" in manifest ? String(manifest.version) : "unknown";
}
