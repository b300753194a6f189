/** Reads the command line: the command, its arguments and its options, or an error that says what would work. */
import { parseArgs } from "node:util";
import { ToolError } from "../core/error.ts";
import { nearNames } from "../runtime/near-names.ts";

export interface CommandLine {
  readonly command: string | undefined;
  readonly args: readonly string[];
  readonly options: CliOptions;
  /** The names of the options that were given. */
  readonly given: readonly string[];
}

export interface CliOptions {
  readonly config: string | undefined;
  readonly json: boolean;
  readonly yes: boolean;
  readonly help: boolean;
  readonly version: boolean;
  readonly tag: readonly string[];
  readonly allTags: boolean;
  readonly limit: number | undefined;
}

const OPTIONS = {
  config: { type: "string", short: "c" },
  json: { type: "boolean" },
  yes: { type: "boolean", short: "y" },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "V" },
  tag: { type: "string", multiple: true },
  "all-tags": { type: "boolean" },
  limit: { type: "string" },
  once: { type: "boolean" },
} as const;

/** @throws ToolError `invalid_argument` for an unknown option or a wrong value */
export function readCommandLine(argv: readonly string[]): CommandLine {
  const known = Object.keys(OPTIONS);
  const { values, positionals, tokens } = parse(argv);
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    if (!known.includes(token.name)) throw unknownOption(token.rawName, known);
    if (OPTIONS[token.name as keyof typeof OPTIONS].type === "string" && token.value === undefined) throw new ToolError("invalid_argument", `${token.rawName} takes a value.`); // the name was found in the table
  }
  const text = (name: string): string | undefined => {
    const value = values[name];
    return typeof value === "string" ? value : undefined;
  };
  const [command, ...args] = positionals;
  return {
    command,
    args,
    given: Object.keys(values),
    options: {
      config: text("config"),
      json: values["json"] === true,
      yes: values["yes"] === true,
      help: values["help"] === true,
      version: values["version"] === true,
      tag: Array.isArray(values["tag"]) ? values["tag"].filter((tag) => typeof tag === "string") : [],
      allTags: values["all-tags"] === true,
      limit: limitOf(text("limit")),
    },
  };
}

function parse(argv: readonly string[]) {
  return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true, strict: false, tokens: true });
}

function limitOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1) throw new ToolError("invalid_argument", `--limit takes a whole number from 1, not ${JSON.stringify(text)}.`);
  return limit;
}

function unknownOption(name: string, known: readonly string[]): ToolError {
  const [near] = nearNames(name.replace(/^-+/u, ""), known);
  return new ToolError("invalid_argument", `There is no option ${name}.`, { hint: near === undefined ? `Options: ${known.map((option) => `--${option}`).join(", ")}.` : `Did you mean --${near}?` });
}
