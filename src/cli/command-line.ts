/** Reads the command line: the command, its arguments and its options, or an error that says what would work. */
import { parseArgs } from "node:util";
import { ToolError } from "../core/error.ts";
import { nearNames } from "../registry/near-names.ts";

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
  /** The file of the store, instead of the one in the configuration. */
  readonly store: string | undefined;
  readonly session: string | undefined;
  readonly simulate: boolean;
  readonly settle: boolean;
  readonly takeOver: boolean;
  readonly as: string | undefined;
  readonly force: boolean;
  readonly id: string | undefined;
  readonly nearest: boolean;
  readonly check: boolean;
  readonly forget: boolean;
  /** The port to listen on. */
  readonly http: string | undefined;
  readonly watch: boolean;
  readonly validate: boolean;
  /** Provider and model, instead of those in the configuration. */
  readonly model: string | undefined;
  /** What the model is told before everything else, instead of what the configuration says. */
  readonly system: string | undefined;
  /** One message of the user, instead of a file. */
  readonly prompt: string | undefined;
  /** The file that what is generated goes to, - for standard output. */
  readonly out: string | undefined;
  /** How many conversations are generated. */
  readonly count: number | undefined;
  /** How many calls each of them has. */
  readonly calls: number | undefined;
  readonly format: string | undefined;
  readonly concurrency: number | undefined;
  /** Patterns over qualified names. */
  readonly tools: readonly string[];
  readonly overwrite: boolean;
  /** The file that live calls are recorded in. */
  readonly record: string | undefined;
  /** The recording that answers the calls. */
  readonly replay: string | undefined;
  /** What decides made-up answers and faults, instead of the configuration's. */
  readonly seed: string | undefined;
}

const OPTIONS = {
  config: { type: "string", short: "c" },
  json: { type: "boolean" },
  yes: { type: "boolean", short: "y" },
  tag: { type: "string", multiple: true },
  "all-tags": { type: "boolean" },
  limit: { type: "string" },
  store: { type: "string" },
  session: { type: "string" },
  simulate: { type: "boolean" },
  settle: { type: "boolean" },
  "take-over": { type: "boolean" },
  as: { type: "string" },
  force: { type: "boolean" },
  id: { type: "string" },
  nearest: { type: "boolean" },
  check: { type: "boolean" },
  forget: { type: "boolean" },
  http: { type: "string" },
  watch: { type: "boolean" },
  validate: { type: "boolean" },
  model: { type: "string", short: "m" },
  system: { type: "string" },
  prompt: { type: "string", short: "p" },
  out: { type: "string", short: "o" },
  count: { type: "string", short: "n" },
  calls: { type: "string" },
  format: { type: "string" },
  concurrency: { type: "string" },
  tools: { type: "string", multiple: true },
  overwrite: { type: "boolean" },
  record: { type: "string" },
  replay: { type: "string" },
  seed: { type: "string" },
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
  return { command, args, given: [...given], options: optionsOf(values) };
}

type Values = { readonly [Name in OptionName]?: string | boolean | readonly (string | boolean)[] };

function optionsOf(values: Values): CliOptions {
  const read = readersOf(values);
  const { text, flag, count, list } = read;
  return {
    ...generationOptions(read),
    config: text("config"),
    json: flag("json"),
    yes: flag("yes"),
    help: flag("help"),
    version: flag("version"),
    tag: list("tag"),
    allTags: flag("all-tags"),
    limit: count("limit"),
    store: text("store"),
    session: text("session"),
    simulate: flag("simulate"),
    settle: flag("settle"),
    takeOver: flag("take-over"),
    as: text("as"),
    force: flag("force"),
    id: text("id"),
    nearest: flag("nearest"),
    check: flag("check"),
    forget: flag("forget"),
    http: text("http"),
    watch: flag("watch"),
    validate: flag("validate"),
    model: text("model"),
    system: text("system"),
    prompt: text("prompt"),
    record: text("record"),
    replay: text("replay"),
    seed: text("seed"),
  };
}

type GenerationOptions = Pick<CliOptions, "out" | "count" | "calls" | "format" | "concurrency" | "tools" | "overwrite">;

function generationOptions({ text, flag, count, list }: Readers): GenerationOptions {
  return {
    out: text("out"),
    count: count("count"),
    calls: count("calls"),
    format: text("format"),
    concurrency: count("concurrency"),
    tools: list("tools"),
    overwrite: flag("overwrite"),
  };
}

/** How the value of an option is read. */
interface Readers {
  readonly text: (name: OptionName) => string | undefined;
  readonly flag: (name: OptionName) => boolean;
  readonly count: (name: OptionName) => number | undefined;
  readonly list: (name: OptionName) => readonly string[];
}

function readersOf(values: Values): Readers {
  const text = (name: OptionName): string | undefined => (typeof values[name] === "string" ? values[name] : undefined);
  const flag = (name: OptionName): boolean => values[name] === true;
  const count = (name: OptionName): number | undefined => countOf(name, text(name));
  const list = (name: OptionName): readonly string[] => listOf(values[name]);
  return { text, flag, count, list };
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
  store: "--store haft.db",
  session: "--session travel",
  as: "--as openai",
  id: "--id travel",
  http: "--http 3000",
  model: "--model ollama/qwen3",
  system: '--system "You keep the notes."',
  prompt: '--prompt "What do the notes say?"',
  out: "--out train.jsonl",
  count: "--count 1000",
  calls: "--calls 10",
  format: "--format openai",
  concurrency: "--concurrency 16",
  tools: "--tools 'files::*'",
  record: "--record travel.jsonl",
  replay: "--replay travel.jsonl",
  seed: "--seed 7",
};

function isOption(name: string): name is OptionName {
  return Object.hasOwn(OPTIONS, name);
}

function countOf(name: OptionName, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const count = Number(text);
  if (!/^\d+$/u.test(text) || !Number.isSafeInteger(count) || count < 1) {
    throw new ToolError("invalid_argument", `--${name} takes an integer from 1, not ${JSON.stringify(text)}.`);
  }
  return count;
}

function listOf(value: Values[OptionName]): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

function unknownOption(name: string): ToolError {
  const [near] = nearNames(name.replace(/^-+/u, ""), Object.keys(OPTIONS));
  const hint = near === undefined ? "See haft --help, or haft <command> --help." : `Did you mean --${near}?`;
  return new ToolError("invalid_argument", `There is no option ${name}.`, { hint });
}
