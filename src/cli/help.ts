/** Makes the help texts from the commands. */
import { maxOf } from "../core/collections/push-all.ts";
import type { Command, CommandGroup } from "./command.ts";
import type { CommandEntry } from "./commands.ts";
import { OPTIONS, type OptionName } from "./command-line.ts";

/** The meaning of each exit code but 0. The error codes of each are in the table of errors. */
const EXIT_MEANINGS: ReadonlyMap<number, string> = new Map([
  [1, "the tool or the model failed, or nothing was found or matched"],
  [2, "wrong command line"],
  [3, "wrong configuration, damaged store or recording, failed check"],
  [4, "no such tool or session"],
  [5, "wrong input"],
  [6, "not allowed, or not available"],
  [7, "timed out, busy, or the network or the disk failed"],
  [130, "stopped, for example by Ctrl-C; 143 by SIGTERM, 129 by SIGHUP"],
]);

/** Returns the output of `haft --help`. */
export function programHelp(commands: Readonly<Record<string, CommandEntry>>): string {
  return `haft: runs the tool calls of language models.

Usage: haft <command> [arguments] [options]

Commands:
${commandLines(Object.entries(commands).map(([name, { usage, summary }]) => [name, usage, summary]))}

Options:
${optionLines(["config", "json", "help", "version"])}

Exit codes:
    0  all went well
${[...EXIT_MEANINGS].map(([code, meaning]) => `  ${String(code).padStart(3)}  ${meaning}`).join("\n")}

Examples:
${Object.values(commands)
  .map(({ example }) => `  ${example}`)
  .join("\n")}

"haft <command> --help" says more about one command.
`;
}

/** Returns the output of `haft sessions --help` and `haft help sessions`. */
export function groupHelp(group: CommandGroup): string {
  return `${group.summary}

Usage: haft ${group.name} <command> [arguments] [options]

${group.details.join("\n")}

Commands:
${commandLines(group.commands.map((command) => [lastWord(command.name), command.usage, command.summary]))}

Options:
${optionLines(["store", "config", "json", "help"])}

Examples:
${group.commands.map((command) => `  ${command.examples[0] ?? ""}`).join("\n")}

"haft ${group.name} <command> --help" says more about one command.
`;
}

/** Returns the output of `haft <command> --help` and `haft help <command>`. */
export function commandHelp(command: Command): string {
  return `${command.summary}

Usage: ${usageOf(command)} [options]

${command.details.join("\n")}
${subcommandLines(command)}
Options:
${optionLines([...command.options, "json", "help"])}

Examples:
${command.examples.map((example) => `  ${example}`).join("\n")}
`;
}

function subcommandLines({ subcommands = [] }: Command): string {
  if (subcommands.length === 0) return "";
  return `\nCommands:\n${commandLines(subcommands.map(({ name, usage, summary }) => [lastWord(name), usage, summary]))}\n`;
}

/** Returns how a command is typed: `haft run <file>`. */
export function usageOf(command: Command): string {
  return `haft ${command.name} ${command.usage}`.trimEnd();
}

function lastWord(name: string): string {
  return name.slice(name.lastIndexOf(" ") + 1);
}

/** Returns a line for each row: name and usage, padded to one width, then the summary. */
function commandLines(rows: readonly (readonly [string, string, string])[]): string {
  const calls = rows.map(([name, usage]) => `${name} ${usage}`.trimEnd());
  const column = maxOf(calls.map((call) => call.length));
  return rows.map(([, , summary], index) => `  ${(calls[index] ?? "").padEnd(column)}  ${summary}`).join("\n");
}

function optionLines(names: readonly OptionName[]): string {
  return names.map(optionLine).join("\n");
}

/** Returns `  -c, --config <file>   configuration file; …`. */
function optionLine(name: OptionName): string {
  const { short, value, help } = { short: undefined, value: undefined, ...OPTIONS[name] };
  const letter = short === undefined ? "    " : `-${short}, `;
  const call = value === undefined ? `--${name}` : `--${name} ${value}`;
  return `  ${letter}${call.padEnd(17)} ${help}`;
}
