/** Reads the command line: the command, its arguments and its options, or an error that says what would work. */
import { parseArgs } from "node:util";
import { ToolError } from "../core/error.ts";
import { nearNames } from "../runtime/near-names.ts";

export interface CommandLine {
  readonly command: string | undefined;
  readonly args: readonly string[];
  readonly options: CliOptions;
  /** The options that were given. */
  readonly given: readonly OptionName[];
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
  tag: { type: "string", multiple: true },
  "all-tags": { type: "boolean" },
  limit: { type: "string" },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "V" },
} as const;

export type OptionName = keyof typeof OPTIONS;

/** @throws ToolError `invalid_argument` for an unknown option or a wrong value */
export function readCommandLine(argv: readonly string[]): CommandLine {
  const { values, positionals, tokens } = parseArgs({
    args: [...argv],
    options: OPTIONS,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const given = new Set<OptionName>();
  for (const token of tokens) if (token.kind === "option") given.add(checkOption(token));
  const [command, ...args] = positionals;
  const { config, json, yes, tag, limit, help, version, "all-tags": allTags } = values;
  return {
    command,
    args,
    given: [...given],
    options: {
      config: typeof config === "string" ? config : undefined,
      json: json === true,
      yes: yes === true,
      help: help === true,
      version: version === true,
      tag: (tag ?? []).filter((one) => typeof one === "string"),
      allTags: allTags === true,
      limit: typeof limit === "string" ? limitOf(limit) : undefined,
    },
  };
}

interface OptionToken {
  readonly name: string;
  /** As it was typed: `-c`, `--config`. */
  readonly rawName: string;
  readonly value?: string | undefined;
  /** Its value came in the same argument: `--config=file`. */
  readonly inlineValue?: boolean | undefined;
}

function checkOption({ name, rawName, value, inlineValue }: OptionToken): OptionName {
  if (!isOption(name)) throw unknownOption(rawName);
  if (OPTIONS[name].type === "boolean") {
    if (value !== undefined) throw new ToolError("invalid_argument", `${rawName} takes no value.`, { hint: `Write ${rawName} alone.` });
    return name;
  }
  // "--config --json" is a value that was forgotten; "--config=--json" is a strange file name.
  if (value === undefined || value === "" || (inlineValue !== true && value.startsWith("-") && value !== "-")) {
    throw new ToolError("invalid_argument", `${rawName} needs a value.`, { hint: `For example: ${EXAMPLE_VALUES[name] ?? ""}` });
  }
  return name;
}

const EXAMPLE_VALUES: { readonly [Name in OptionName]?: string } = {
  config: "--config ./haft.toml",
  tag: "--tag weather",
  limit: "--limit 5",
};

function isOption(name: string): name is OptionName {
  return Object.hasOwn(OPTIONS, name);
}

function limitOf(text: string): number {
  const limit = Number(text);
  if (!/^\d+$/u.test(text) || !Number.isSafeInteger(limit) || limit < 1) {
    throw new ToolError("invalid_argument", `--limit takes a whole number from 1, not ${JSON.stringify(text)}.`);
  }
  return limit;
}

function unknownOption(name: string): ToolError {
  const [near] = nearNames(name.replace(/^-+/u, ""), Object.keys(OPTIONS));
  const hint =
    near === undefined
      ? `Options: ${Object.keys(OPTIONS)
          .map((option) => `--${option}`)
          .join(", ")}.`
      : `Did you mean --${near}?`;
  return new ToolError("invalid_argument", `There is no option ${name}.`, { hint });
}
