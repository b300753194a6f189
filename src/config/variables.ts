/** Replaces variables in the values of a configuration. */
import type { KeyPath } from "../documents/key-positions.ts";
import type { Problems } from "../documents/problems.ts";
import { firstChars } from "../core/base/truncate-text.ts";

/** Environment variables by name, such as those of the process. */
export type Environment = Readonly<Record<string, string | undefined>>;

export type ResolvedText = { readonly text: string } | { readonly problem: string };

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/u;
const PREFIX = "env:";
const QUOTED_LENGTH = 60;

/**
 * Resolves `env:NAME` if it is the whole text, else each `${NAME}` inside it.
 *
 * The value of a variable is inserted unchanged and not searched for more variables. A variable that is not set is a problem that names it. No
 * message contains the value of a variable.
 */
export function resolveVariables(text: string, environment: Environment): ResolvedText {
  if (text.startsWith(PREFIX)) return lookUpVariable(text.slice(PREFIX.length), text, environment);
  return replaceVariables(text, (name, written) => lookUpVariable(name, written, environment));
}

/** Like `resolveVariables`, for a path: only `${NAME}`, and only names that are allowed in paths. */
function resolvePathVariables(text: string, environment: Environment, allowed: ReadonlySet<string>): ResolvedText {
  return replaceVariables(text, (name, written) => {
    if (!NAME.test(name) || allowed.has(name)) return lookUpVariable(name, written, environment);
    return { problem: `the variable ${name} is not allowed in a path; name it under allow in variables.` };
  });
}

/** Whether the name is valid for an environment variable. */
export function isVariableName(name: string): boolean {
  return NAME.test(name);
}

function replaceVariables(text: string, valueFor: (name: string, written: string) => ResolvedText): ResolvedText {
  let resolved = "";
  let at = 0;
  for (let start = text.indexOf("${"); start >= 0; start = text.indexOf("${", at)) {
    const end = text.indexOf("}", start);
    const name = end < 0 ? "" : text.slice(start + 2, end);
    const value = valueFor(name, text.slice(start, end < 0 ? text.length : end + 1));
    if ("problem" in value) return value;
    resolved += text.slice(at, start) + value.text;
    at = end + 1;
  }
  return { text: resolved + text.slice(at) };
}

function lookUpVariable(name: string, written: string, environment: Environment): ResolvedText {
  if (!NAME.test(name)) {
    const shown = JSON.stringify(firstChars(written, QUOTED_LENGTH));
    return { problem: `${shown} does not name an environment variable; write \${NAME}, or env:NAME as the whole value.` };
  }
  const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
  return value === undefined ? { problem: `the environment variable ${name} is not set.` } : { text: value };
}

/** Returns the values of the variables that a text refers to, by name. They may be secrets. */
export function readVariables(text: string, environment: Environment): Readonly<Record<string, string>> {
  const values: [name: string, value: string][] = [];
  for (const name of variableNamesIn(text)) {
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
    if (value !== undefined) values.push([name, value]);
  }
  return Object.fromEntries(values);
}

function variableNamesIn(text: string): readonly string[] {
  if (text.startsWith(PREFIX)) return [text.slice(PREFIX.length)];
  return Array.from(text.matchAll(/\$\{([A-Za-z_]\w*)\}/gu), ([, name = ""]) => name);
}

export interface VariablesOptions {
  readonly environment: Environment;
  /** Names that are allowed in paths. */
  readonly allowed: ReadonlySet<string>;
  readonly problems: Problems;
  /** Whether a text with an unset variable is kept as written, without a problem. @default false */
  readonly mayBeUnset?: boolean | undefined;
}

/** A variable whose value is sent off this machine. */
export interface SentVariable {
  readonly place: KeyPath;
  readonly name: string;
}

export interface ResolveOptions {
  /** Whether a text that only empty variables make empty is a problem, as for a folder or an address. @default false */
  readonly mustHaveText?: boolean;
}

interface WrittenText extends ResolveOptions {
  readonly written: string;
  readonly place: KeyPath;
}

function emptyProblem(written: string): string {
  return `must not be empty, and the environment variable ${variableNamesIn(written).join(" or ")} is empty.`;
}

/** Resolves the variables of one file, and reports those it cannot resolve; their text is then empty. */
export class Variables {
  readonly environment: Environment;
  readonly allowed: ReadonlySet<string>;
  /** The values of resolved variables that may be secrets, by name. */
  readonly secrets: Record<string, string> = {};
  /** The variables in addresses, headers and other texts that are sent. */
  readonly sent: SentVariable[] = [];
  readonly #problems: Problems;
  readonly #mayBeUnset: boolean;

  constructor({ environment, allowed, problems, mayBeUnset = false }: VariablesOptions) {
    this.environment = environment;
    this.allowed = allowed;
    this.#problems = problems;
    this.#mayBeUnset = mayBeUnset;
  }

  /** Resolves a value that may be a secret and stays on this machine. */
  resolve(text: string, place: KeyPath, options?: ResolveOptions): string {
    Object.assign(this.secrets, readVariables(text, this.environment));
    return this.#report(resolveVariables(text, this.environment), { written: text, place, ...options });
  }

  resolveAll(texts: Readonly<Record<string, string>>, place: KeyPath): Readonly<Record<string, string>> {
    return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, this.resolve(text, [...place, name])]));
  }

  /** Like `value`, for a text that is sent to a server. */
  resolveSent(text: string, place: KeyPath, options?: ResolveOptions): string {
    for (const name of variableNamesIn(text)) this.sent.push({ place, name });
    return this.resolve(text, place, options);
  }

  /** Like `resolveAll`, for texts that are sent to a server. */
  resolveAllSent(texts: Readonly<Record<string, string>>, place: KeyPath): Readonly<Record<string, string>> {
    return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, this.resolveSent(text, [...place, name])]));
  }

  /** Resolves the path of a file, which must not be empty. */
  path(text: string, place: KeyPath): string {
    const resolved = resolvePathVariables(text, this.environment, this.allowed);
    return this.#report(resolved, { written: text, place, mustHaveText: true });
  }

  /** Returns a resolver that keeps every text as written, since the variables of disabled entries are not needed. */
  createUnresolved(): Variables {
    return new UnresolvedVariables({ environment: this.environment, allowed: this.allowed, problems: this.#problems });
  }

  /** Returns a resolver that keeps the variables of every text, for a file to be written. Invalid references are reported. */
  createPreserving(problems: Problems): Variables {
    return new PreservedVariables({ environment: this.environment, allowed: this.allowed, problems });
  }

  #report(resolved: ResolvedText, { written, place, mustHaveText = false }: WrittenText): string {
    const isEmpty = mustHaveText && "text" in resolved && resolved.text === "" && written !== "";
    if ("text" in resolved && !isEmpty) return resolved.text;
    if (this.#mayBeUnset) return written;
    this.#problems.add(place, "problem" in resolved ? resolved.problem : emptyProblem(written));
    return "";
  }
}

class PreservedVariables extends Variables {
  readonly #options: VariablesOptions;

  constructor(options: VariablesOptions) {
    super(options);
    this.#options = options;
  }

  override resolve(text: string, place: KeyPath): string {
    const environment = Object.fromEntries(variableNamesIn(text).map((name) => [name, `\${${name}}`]));
    return new Variables({ ...this.#options, environment }).resolve(text, place);
  }

  override createUnresolved(): Variables {
    return new UnresolvedVariables(this.#options);
  }
}

class UnresolvedVariables extends Variables {
  override resolve(text: string): string {
    return text;
  }

  override resolveSent(text: string): string {
    return text;
  }

  override path(text: string): string {
    return text;
  }
}
