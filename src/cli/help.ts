/** The help texts, made from the commands themselves. */
import type { Command } from "./command.ts";

const OPTION_HELP: Readonly<Record<string, string>> = {
  config: "-c, --config <file>   the configuration; haft.toml, .yaml or .json of this folder otherwise",
  json: "--json                machine-readable output",
  yes: "-y, --yes             approve every call that asks",
  tag: "--tag <tag>           only tools with this tag; several times for any of them",
  "all-tags": "--all-tags            only tools with all the tags given",
  limit: "--limit <n>           show at most so many (default 20)",
  help: "-h, --help            this help",
};

/** What `haft --help` prints. */
export function programHelp(commands: readonly Command[]): string {
  const list = commands.map((command) => `  ${`${command.name} ${command.usage}`.padEnd(34)} ${command.summary}`);
  return `haft: the handle between a language model and its tools.

Usage: haft <command> [options]

${list.join("\n")}

${["config", "json", "help"].map((name) => `  ${OPTION_HELP[name]}`).join("\n")}
  -V, --version         the version

Exit codes: 0 all went well, 1 a tool failed, 2 wrong command line, 3 wrong configuration, 4 no such tool,
5 wrong input, 6 refused, 7 timed out or busy, 130 cancelled.

Examples:
${commands.map((command) => `  ${command.examples[0] ?? ""}`).join("\n")}
`;
}

/** What `haft <command> --help` prints. */
export function commandHelp(command: Command): string {
  const options = ["config", ...command.options, "json", "help"].map((name) => `  ${OPTION_HELP[name] ?? `--${name}`}`);
  return `${command.summary}

Usage: haft ${command.name} ${command.usage}

${options.join("\n")}

Examples:
${command.examples.map((example) => `  ${example}`).join("\n")}
`;
}
