/** Reads the command line: the command, its arguments and its options, or an error that says what would work. */
import { parseArgs } from "node:util";
import { ToolError } from "../core/error.ts";
import { didYouMean, findNearNames } from "../core/base/near-names.ts";
import { quoteForShell } from "../core/base/quote-for-shell.ts";

export interface CommandLine {
  readonly command: string | undefined;
  readonly args: readonly string[];
  readonly options: CliOptions;
  /** Names of the options that were given. */
  readonly given: readonly OptionName[];
}

type Option =
  | { readonly kind: "boolean"; readonly short?: string; readonly help: string }
  | {
      readonly kind: "string" | "strings" | "integer";
      readonly short?: string;
      /** The placeholder for its value in the help. */
      readonly value: string;
      /** An example value for the error message if the value is missing. */
      readonly example: string;
      readonly help: string;
    };

/** All options; `options` of a command lists those that it takes. */
export const OPTIONS = {
  config: {
    kind: "string",
    short: "c",
    value: "<file>",
    example: "./haft.toml",
    help: "configuration file; else haft.toml, .yaml, .yml or .json",
  },
  json: { kind: "boolean", help: "print JSON, for programs" },
  yes: { kind: "boolean", short: "y", help: "answer yes to every question" },
  tag: { kind: "strings", value: "<tag>", example: "weather", help: "only tools with this tag; several: any of them" },
  "all-tags": { kind: "boolean", help: "only tools with all the tags given" },
  limit: { kind: "integer", value: "<n>", example: "5", help: "show at most this many; 20, keys and audit 100" },
  store: { kind: "string", value: "<place>", example: "haft.db", help: "file or postgres:// address; else the configuration's" },
  session: { kind: "string", value: "<id>", example: "travel", help: "session of the store; run and chat begin a new one" },
  state: { kind: "strings", value: "<state>", example: "running", help: "only those in this state; several: any of them" },
  remember: { kind: "string", value: "<scope>", example: "tool", help: "what a yes covers: once, input, tool or rule; once" },
  pattern: { kind: "string", value: "<pattern>", example: "'files::*'", help: "what the rule allows; else the tool of the call" },
  for: { kind: "string", value: "<time>", example: "7d", help: "how long the rule applies: 30m or 7d; else always" },
  digest: { kind: "string", value: "<digest>", example: "9f86d081", help: "answer only if the digest begins with this" },
  preview: { kind: "boolean", help: "have the waiting process simulate the call" },
  add: { kind: "string", value: "<pattern>", example: "'files::*'", help: "allow the tools that the pattern matches" },
  revoke: { kind: "string", value: "<id>", example: "rule_1", help: "revoke this rule" },
  follow: { kind: "boolean", short: "f", help: "print new output until the job has ended" },
  simulate: { kind: "boolean", help: "change nothing: reads run, other calls are simulated" },
  settle: { kind: "boolean", help: "run nothing again; end each call with its known outcome" },
  "take-over": { kind: "boolean", help: "take the session from the process that has it open" },
  as: { kind: "string", value: "<format>", example: "openai", help: "recording, openai, anthropic or gemini" },
  force: { kind: "boolean", help: "replace the file if it already exists" },
  id: { kind: "string", value: "<id>", example: "travel", help: "import it under this id" },
  nearest: { kind: "boolean", help: "answer other inputs as the most similar recorded one" },
  check: { kind: "boolean", help: "write nothing; exit with 6 when anything has changed" },
  forget: { kind: "boolean", help: "revoke the trust" },
  http: { kind: "string", value: "<port>", example: "3000", help: "listen on this port; 0 = any free one" },
  port: { kind: "string", value: "<port>", example: "8080", help: "port to listen on; 0 = any free one" },
  host: { kind: "string", value: "<address>", example: "0.0.0.0", help: "listen on this address; 127.0.0.1 by default" },
  "allowed-host": {
    kind: "strings",
    value: "<name>",
    example: "tools.example",
    help: "host name that clients may use; several: any",
  },
  "allowed-origin": {
    kind: "strings",
    value: "<origin>",
    example: "https://app.example",
    help: "origin whose pages may send requests; several",
  },
  "base-path": { kind: "string", value: "<path>", example: "/haft", help: "path that its addresses begin with" },
  address: { kind: "string", value: "<url>", example: "http://10.0.0.3:7420", help: "where other servers of the store reach this one" },
  name: { kind: "string", value: "<name>", example: "web-1", help: "name of this process in haft fleet; else host and port" },
  place: {
    kind: "strings",
    value: "<place>",
    example: "desk",
    help: "place that this process has; several: each",
  },
  "health-port": { kind: "string", value: "<port>", example: "7421", help: "answer /healthz, /readyz and /metrics on this port" },
  "no-worker": { kind: "boolean", help: "run no jobs here; haft worker does" },
  agent: { kind: "strings", value: "<name>", example: "clerk", help: "run an agent of this name; several: each" },
  "token-file": { kind: "string", value: "<file>", example: "/run/secrets/haft-token", help: "file with the bearer token of HTTP clients" },
  watch: { kind: "boolean", help: "apply changed tool files; fleet: every 2 s" },
  validate: { kind: "boolean", help: "offer haft_validate_input as well, which checks inputs" },
  model: { kind: "string", short: "m", value: "<name>", example: "ollama/qwen3", help: "provider/model; else that of the configuration" },
  system: { kind: "string", value: "<text>", example: '"You keep the notes."', help: "the system prompt of the model" },
  "no-background": { kind: "boolean", help: "do not let the model send calls to the background" },
  "reasoning-effort": {
    kind: "string",
    value: "<effort>",
    example: "low",
    help: "none, minimal, low, medium, high, xhigh or max",
  },
  prompt: {
    kind: "string",
    short: "p",
    value: "<text>",
    example: '"What do the notes say?"',
    help: "one message of the user, instead of a file",
  },
  out: {
    kind: "string",
    short: "o",
    value: "<file>",
    example: "train.jsonl",
    help: "the file to write or continue; - = standard output",
  },
  count: { kind: "integer", short: "n", value: "<n>", example: "1000", help: "how many conversations; 10, or one of each template" },
  calls: { kind: "integer", value: "<n>", example: "10", help: "calls of each conversation that is drawn; 5" },
  "no-parallel-calls": { kind: "boolean", help: "no message with several calls" },
  sample: { kind: "string", value: "<kind>", example: "chain", help: "how tools are drawn: chain, random or neighbour; chain" },
  format: { kind: "string", value: "<format>", example: "openai", help: "neutral, openai, anthropic, huggingface or sharegpt" },
  concurrency: { kind: "integer", value: "<n>", example: "16", help: "conversations (8) or sessions (10) at a time" },
  tools: { kind: "strings", value: "<pattern>", example: "'files::*'", help: "only tools that match, as files::*; several: any" },
  "max-tools": { kind: "integer", value: "<n>", example: "8", help: "most tools that a conversation offers; 32" },
  weights: { kind: "boolean", help: "write a weight for each message of the assistant" },
  split: { kind: "string", value: "<share>", example: "0.1", help: "share of conversations for tests, in a second file" },
  from: { kind: "strings", value: "<recording>", example: "travel.jsonl", help: "make conversations of this recording; several: of each" },
  "from-store": { kind: "boolean", help: "make them of stored sessions; all, or those named" },
  redact: {
    kind: "strings",
    value: "<kinds>",
    example: "secrets,emails",
    help: "all, none, or some of secrets,emails,phones,names,ids",
  },
  overwrite: { kind: "boolean", help: "replace the file" },
  record: { kind: "string", value: "<file>", example: "travel.jsonl", help: "record live calls, for --replay" },
  replay: { kind: "string", value: "<file>", example: "travel.jsonl", help: "answer the calls from this recording; run nothing" },
  scope: { kind: "strings", value: "<scope>", example: "read", help: "what it may do: read, execute, simulate, approve, admin" },
  principal: { kind: "string", value: "<pattern>", example: "'key:*'", help: "only those of matching principals" },
  tool: { kind: "string", value: "<pattern>", example: "'files::*'", help: "only calls of matching tools" },
  since: { kind: "string", value: "<time>", example: "24h", help: "only those since this time, or in this span: 24h" },
  until: { kind: "string", value: "<time>", example: "1h", help: "only those before this time, or before this span: 1h" },
  outcome: { kind: "string", value: "<word>", example: "error", help: "only calls with this outcome, or this error code" },
  expires: { kind: "string", value: "<time>", example: "30d", help: "how long it is valid: 90m, 12h, 30d; else for good" },
  "all-keys": { kind: "boolean", help: "keys of sessions as well" },
  "dry-run": { kind: "boolean", help: "say what would be done, and change nothing" },
  "older-than": { kind: "string", value: "<time>", example: "90d", help: "only data that did not grow for this long: 12h, 90d" },
  only: { kind: "strings", value: "<part>", example: "sessions", help: "jobs, sessions, artifacts, answers or cache; else all" },
  schema: { kind: "string", value: "<name>", example: "haft_2", help: "schema of the postgres:// address; haft by default" },
  seed: { kind: "string", value: "<seed>", example: "7", help: "seed of made-up answers and faults" },
  help: { kind: "boolean", short: "h", help: "print this help" },
  version: { kind: "boolean", short: "V", help: "print the version" },
} as const satisfies Readonly<Record<string, Option>>;

export type OptionName = keyof typeof OPTIONS;

/** The type of the value for each kind of option. */
interface Values {
  readonly boolean: boolean;
  readonly string: string | undefined;
  readonly strings: readonly string[];
  readonly integer: number | undefined;
}

type CamelCase<Name extends string> = Name extends `${infer First}-${infer Rest}` ? `${First}${Capitalize<CamelCase<Rest>>}` : Name;

export type CliOptions = { readonly [Name in OptionName as CamelCase<Name>]: Values[(typeof OPTIONS)[Name]["kind"]] };

/** Reads the arguments of the process. @throws ToolError `invalid_argument` for an unknown option or a wrong value */
export function readCommandLine(argv: readonly string[]): CommandLine {
  const options = Object.fromEntries(optionEntries().map(([name, option]) => [name, argumentOf(option)]));
  const { values, positionals, tokens } = parseArgs({ args: [...argv], options, allowPositionals: true, strict: false, tokens: true });
  const given = new Set<OptionName>();
  for (const token of tokens) if (token.kind === "option") given.add(checkOption(token));
  const [command, ...args] = positionals;
  const read = optionEntries().map(([name, { kind }]) => [camelCase(name), valueOf(name, kind, values[name])]);
  return { command, args, given: [...given], options: Object.fromEntries(read) as CliOptions }; // every option has the type of its kind
}

function optionEntries(): readonly (readonly [string, Option])[] {
  return Object.entries(OPTIONS);
}

function argumentOf({ kind, short }: Option): { type: "boolean" | "string"; multiple: boolean; short?: string } {
  return { type: kind === "boolean" ? "boolean" : "string", multiple: kind === "strings", ...(short === undefined ? {} : { short }) };
}

function camelCase(name: string): string {
  return name.replace(/-(.)/gu, (_, letter: string) => letter.toUpperCase());
}

function valueOf(name: string, kind: Option["kind"], value: unknown): boolean | string | number | readonly string[] | undefined {
  if (kind === "boolean") return value === true;
  if (kind === "strings") return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
  if (typeof value !== "string") return undefined;
  return kind === "integer" ? parseInteger(name, value) : value;
}

interface OptionToken {
  readonly name: string;
  /** The option as it was typed: `-c`, `--config`. */
  readonly rawName: string;
  readonly value?: string | undefined;
  /** Whether the value came in the same argument: `--config=file`. */
  readonly inlineValue?: boolean | undefined;
}

function checkOption({ name, rawName, value, inlineValue }: OptionToken): OptionName {
  if (!isOption(name)) throw unknownOptionError(rawName);
  const option: Option = OPTIONS[name];
  if (option.kind === "boolean") {
    if (value !== undefined) throw new ToolError("invalid_argument", `${rawName} takes no value.`, { hint: `Write ${rawName} alone.` });
    return name;
  }
  // In "--config --json" the value was forgotten; in "--config=--json" it is an unusual file name.
  if (value === undefined || value === "" || (inlineValue !== true && value.startsWith("-") && value !== "-")) {
    throw new ToolError("invalid_argument", `${rawName} needs a value.`, {
      hint: `${inlineHint(name, value)}For example: --${name} ${option.example}`,
    });
  }
  return name;
}

/** Returns a hint for a value that begins with a dash and is not an option; else "". */
function inlineHint(name: string, value: string | undefined): string {
  if (value === undefined || !value.startsWith("-") || isOption(value.replace(/^-+/u, "").split("=", 1)[0] ?? "")) return "";
  return `Write a value that begins with - in one piece: ${quoteForShell(`--${name}=${value}`)}. `;
}

function isOption(name: string): name is OptionName {
  return Object.hasOwn(OPTIONS, name);
}

function parseInteger(name: string, text: string): number {
  const integer = Number(text);
  if (/^\d+$/u.test(text) && Number.isSafeInteger(integer) && integer >= 1) return integer;
  throw new ToolError("invalid_argument", `--${name} takes an integer from 1, not ${JSON.stringify(text)}.`);
}

function unknownOptionError(name: string): ToolError {
  const hint =
    didYouMean(name.replace(/^-+/u, ""), Object.keys(OPTIONS), (near) => `--${near}`) ?? "See haft --help, or haft <command> --help.";
  return new ToolError("invalid_argument", `There is no option ${name}.`, { hint });
}

/** Returns `text` if it is one of the words that the option takes. @throws ToolError `invalid_argument`, which lists all of them */
export function parseChoice<Word extends string>(name: OptionName, text: string, words: readonly Word[]): Word {
  const word = words.find((known) => known === text);
  if (word !== undefined) return word;
  const [near = words[0]] = findNearNames(text, words);
  throw new ToolError("invalid_argument", `--${name} takes one of ${words.join(", ")}, not ${JSON.stringify(text)}.`, {
    hint: `For example: --${name} ${near ?? ""}`,
  });
}
