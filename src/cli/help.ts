/** The help texts, made from the commands themselves. */
import type { Command } from "./command.ts";
import type { OptionName } from "./command-line.ts";

const OPTION_HELP: Readonly<Record<OptionName, string>> = {
  config: "-c, --config <file>   configuration file; else haft.toml, .yaml, .yml or .json",
  json: "    --json            print JSON, for programs",
  yes: "-y, --yes             approve every call that asks for approval",
  tag: "    --tag <tag>       only tools with this tag; several: any of them",
  "all-tags": "    --all-tags        only tools with all the tags given",
  limit: "    --limit <n>       show at most so many tools; 20 unless told otherwise",
  help: "-h, --help            print this help",
  version: "-V, --version         print the version",
};

/** What each exit code other than 0 means; the codes behind each are those of the error table. */
const EXIT_MEANINGS: ReadonlyMap<number, string> = new Map([
  [1, "the tool ran and failed, or a search found nothing"],
  [2, "wrong command line"],
  [3, "wrong configuration, or `haft check` found problems"],
  [4, "no such tool"],
  [5, "wrong input"],
  [6, "not allowed, or not available"],
  [7, "timed out, busy, or the network failed"],
  [130, "stopped, for example by Ctrl-C"],
]);

/** What `haft --help` prints. */
export function programHelp(commands: readonly Command[]): string {
  return `haft: the handle between a language model and its tools.

Usage: haft <command> [arguments] [options]

Commands:
${commands.map((command) => `  ${`${command.name} ${command.usage}`.padEnd(24)}  ${command.summary}`).join("\n")}

Options:
${optionLines(["config", "json", "help", "version"])}

Exit codes:
    0  all went well
${[...EXIT_MEANINGS].map(([code, meaning]) => `  ${String(code).padStart(3)}  ${meaning}`).join("\n")}

Examples:
${commands.map((command) => `  ${command.examples[0] ?? ""}`).join("\n")}

"haft <command> --help" says more about one command.
`;
}

/** What `haft <command> --help` and `haft help <command>` print. */
export function commandHelp(command: Command): string {
  return `${command.summary}

Usage: ${usageOf(command)}

${command.details.join("\n")}

Options:
${optionLines(["config", ...command.options, "json", "help"])}

Examples:
${command.examples.map((example) => `  ${example}`).join("\n")}
`;
}

/** `haft run <file>`: how a command is called. */
export function usageOf(command: Command): string {
  return `haft ${command.name} ${command.usage}`.trimEnd();
}

function optionLines(names: readonly OptionName[]): string {
  return names.map((name) => `  ${OPTION_HELP[name]}`).join("\n");
}
