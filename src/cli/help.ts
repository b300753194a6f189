/** The help texts, made from the commands themselves. */
import type { Command, CommandGroup } from "./command.ts";
import type { OptionName } from "./command-line.ts";

const OPTION_HELP: Readonly<Record<OptionName, string>> = {
  config: "-c, --config <file>   configuration file; else haft.toml, .yaml, .yml or .json",
  json: "    --json            print JSON, for programs",
  yes: "-y, --yes             answer yes to every question",
  tag: "    --tag <tag>       only tools with this tag; several: any of them",
  "all-tags": "    --all-tags        only tools with all the tags given",
  limit: "    --limit <n>       show at most so many; 20 unless told otherwise",
  store: "    --store <file>    file of the sessions; else that of the configuration",
  session: "    --session <id>    go on with this session of the store, or begin it",
  simulate: "    --simulate        change nothing: reads run, the rest is made up",
  settle: "    --settle          run nothing again; say of each call what is known",
  "take-over": "    --take-over       take the session from the process that has it open",
  as: "    --as <format>     recording, openai, anthropic or gemini",
  force: "    --force           replace the file if it is there already",
  id: "    --id <id>         import it under this id",
  nearest: "    --nearest         answer other inputs as the most similar recorded one",
  forget: "    --forget          take the word back",
  check: "    --check           write nothing; exit with 6 when anything has changed",
  http: "    --http <port>     listen on this port of 127.0.0.1; 0 = any that is free",
  watch: "    --watch           take over changes of the files that tools come from",
  validate: "    --validate        offer haft_validate_input as well, which checks inputs",
  model: "-m, --model <name>    provider/model; else that of the configuration",
  system: "    --system <text>   what the model is told before everything else",
  prompt: "-p, --prompt <text>   one message of the user, instead of a file",
  record: "    --record <file>   record the calls that are live, for --replay",
  replay: "    --replay <file>   answer the calls from this recording; run nothing",
  seed: "    --seed <seed>     what decides made-up answers and faults",
  out: "-o, --out <file>      the file to write, or to go on with; - = standard output",
  count: "-n, --count <n>       how many conversations; 10, or one of each template",
  calls: "    --calls <n>       calls of each conversation that is drawn; 5",
  format: "    --format <format> neutral, openai or anthropic",
  concurrency: "    --concurrency <n> most conversations under way at a time; 8",
  tools: "    --tools <pattern> only tools that fit, such as files::*; several: any",
  overwrite: "    --overwrite       begin the file anew, whatever it holds",
  help: "-h, --help            print this help",
  version: "-V, --version         print the version",
};

/** What each exit code other than 0 means; the codes behind each are those of the error table. */
const EXIT_MEANINGS: ReadonlyMap<number, string> = new Map([
  [1, "the tool or the model failed, or nothing was found or matched"],
  [2, "wrong command line"],
  [3, "wrong configuration, damaged store or recording, failed check"],
  [4, "no such tool or session"],
  [5, "wrong input"],
  [6, "not allowed, or not available"],
  [7, "timed out, busy, or the network or the disk failed"],
  [130, "stopped, for example by Ctrl-C"],
]);

/** What `haft --help` prints. */
export function programHelp(commands: readonly (Command | CommandGroup)[]): string {
  return `haft: the handle between a language model and its tools.

Usage: haft <command> [arguments] [options]

Commands:
${commandLines(commands.map((command) => [command.name, usageIn(command), command.summary]))}

Options:
${optionLines(["config", "json", "help", "version"])}

Exit codes:
    0  all went well
${[...EXIT_MEANINGS].map(([code, meaning]) => `  ${String(code).padStart(3)}  ${meaning}`).join("\n")}

Examples:
${commands.map((command) => `  ${("commands" in command ? command.commands[0] : command)?.examples[0] ?? ""}`).join("\n")}

"haft <command> --help" says more about one command.
`;
}

/** What `haft sessions --help` and `haft help sessions` print. */
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

/** What `haft <command> --help` and `haft help <command>` print. */
export function commandHelp(command: Command): string {
  return `${command.summary}

Usage: ${usageOf(command)}

${command.details.join("\n")}

Options:
${optionLines([...command.options, "json", "help"])}

Examples:
${command.examples.map((example) => `  ${example}`).join("\n")}
`;
}

/** `haft run <file>`: how a command is called. */
export function usageOf(command: Command): string {
  return `haft ${command.name} ${command.usage}`.trimEnd();
}

function usageIn(command: Command | CommandGroup): string {
  return "commands" in command ? "<command>" : command.usage;
}

function lastWord(name: string): string {
  return name.slice(name.lastIndexOf(" ") + 1);
}

/** Name and usage, aligned, then the summary. */
function commandLines(rows: readonly (readonly [string, string, string])[]): string {
  const calls = rows.map(([name, usage]) => `${name} ${usage}`.trimEnd());
  const column = Math.max(...calls.map((call) => call.length));
  return rows.map(([, , summary], index) => `  ${(calls[index] ?? "").padEnd(column)}  ${summary}`).join("\n");
}

function optionLines(names: readonly OptionName[]): string {
  return names.map((name) => `  ${OPTION_HELP[name]}`).join("\n");
}
