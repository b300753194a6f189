/** Reads one server from the file of another MCP client, with the keys of `client-formats.ts`. */
import { resolve } from "node:path";
import { isProtocolHeader } from "../../engine/mcp/check-options.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { describeValueType } from "../../core/base/wording.ts";
import { MILLISECONDS } from "../../core/base/number-bounds.ts";
import type { KeyPath } from "../../documents/key-positions.ts";
import { isSecretName, findSecrets } from "../../trust/sensitive-text.ts";
import { expandHome } from "../../documents/home-folder.ts";
import type { Problems } from "../../documents/problems.ts";
import { isTable, kindOf, TableReader } from "../table-reader.ts";
import type { McpConfig, McpServer } from "../toolset/mcp.ts";
import type { ResolveOptions, Variables } from "../variables.ts";
import {
  NOTES_BY_KEY,
  ENABLED,
  KEYS,
  IGNORED_KEYS,
  MIN_TIMEOUT,
  NESTED,
  PARTS_OF_CLIENT,
  TIMEOUTS,
  TRANSPORT_WORDS,
  VARIABLE_KEYS,
  type Note,
} from "./client-formats.ts";
import { ClientVariables, type ClientVariablesOptions } from "./client-variables.ts";

export interface ClientServerOptions extends Omit<ClientVariablesOptions, "environment" | "notes" | "asked"> {
  readonly variables: Variables;
  /** Whether the server is converted into one of our own files; otherwise it is used directly. */
  readonly imports: boolean;
  readonly timeoutUnit: number;
  /** The working folder of servers that do not set one; undefined = the folder of the configuration. */
  readonly startsIn: string | undefined;
}

type Transport = "stdio" | "http" | "sse" | undefined;

/** An existing key, and its table: that of the server or one nested in it. */
interface Found {
  readonly table: TableReader;
  readonly key: string;
}

export class ClientServer {
  readonly notes: Note[] = [];
  readonly #table: TableReader;
  readonly #tables: readonly TableReader[];
  readonly #options: ClientServerOptions;
  readonly #enabled: boolean;
  readonly #variables: Variables;
  readonly #translator: ClientVariables;

  constructor(read: TableReader, options: ClientServerOptions) {
    const table = withoutNulls(read, options.problems);
    this.#table = table;
    const nested = NESTED.flatMap((key) => (isTable(table.peek(key)) ? (table.table(key) ?? []) : []));
    this.#tables = [...nested.map((inner) => withoutNulls(inner, options.problems)), table];
    this.#options = options;
    this.#enabled = ENABLED.every((key) => table.flag(key) !== false) && table.flag("disabled") !== true;
    this.#variables = this.#enabled ? options.variables : options.variables.createUnresolved();
    this.#translator = new ClientVariables({
      ...options,
      environment: options.variables.environment,
      asked: options.imports ? "name" : this.#enabled ? "refuse" : "keep",
      notes: this.notes,
    });
  }

  /** Undefined for a server that cannot be used, which was reported or noted. */
  read(): McpConfig | undefined {
    if (this.#isPartOfClient()) return undefined;
    const transport = this.#transport();
    const address = this.#findKey(KEYS.url);
    const server = address !== undefined && transport !== "stdio" ? this.#address(address, transport) : this.#command(transport);
    const common = omitUndefined({
      description: this.#description(),
      ...this.#readToolSelection(),
      timeoutMs: this.#readTimeout("timeoutMs"),
      openTimeoutMs: this.#readTimeout("openTimeoutMs"),
    });
    for (const table of this.#tables) this.#noteUnreadKeys(table);
    return server === undefined ? undefined : { type: "mcp", enabled: this.#enabled, ...common, ...server };
  }

  #isPartOfClient(): boolean {
    const part = PARTS_OF_CLIENT.find(({ key, values }) => values.some((value) => value === this.#table.peek(key)));
    if (part === undefined) return false;
    this.notes.push({ path: this.#table.path, text: "is left out: it is part of that client, not a server that others can start." });
    return true;
  }

  #transport(): Transport {
    const found = this.#findKey(KEYS.type, "string");
    const word = found?.table.choice(found.key, [...TRANSPORT_WORDS.keys()]);
    const isHttp = word === undefined && this.#findKey(KEYS.url)?.key === "httpUrl";
    return isHttp ? "http" : TRANSPORT_WORDS.get(word ?? "");
  }

  #command(transport: Transport): McpServer | undefined {
    if (transport !== undefined && transport !== "stdio") {
      this.#table.report(undefined, `"url" is missing: where the server of type ${JSON.stringify(transport)} is.`);
      return undefined;
    }
    const program = this.#program();
    const args = this.#findKey(KEYS.args);
    const texts = args?.table.texts(args.key) ?? [];
    const own = this.#texts(KEYS.env, (text, place) => this.#translate(text, place));
    const written = texts.map((text, index) => {
      const place = [...(args?.table.path ?? []), "args", index];
      return this.#resolve(replaceOwnVariables(this.#translate(text, place, texts[index - 1]), own), place);
    });
    const { table = this.#table, key = "env" } = this.#findKey(KEYS.env) ?? {};
    const values = Object.entries(own).map(([name, text]) => [name, this.#resolve(text, [...table.path, key, name])]);
    const env = { ...this.#inherited(), ...Object.fromEntries(values) };
    const cwd = this.#folder();
    if (this.#table.has("envFile") && this.#enabled) this.#noteEnvFile();
    const [command, ...first] = program;
    if (command === undefined) return undefined;
    return { command, args: [...first, ...written], env, ...omitUndefined({ cwd }), trustAnnotations: false };
  }

  #program(): readonly string[] {
    const meaning = 'the program that runs the server; or "url", where the server is';
    const found = this.#findKey(KEYS.command, "string") ?? this.#findKey(KEYS.command, "array");
    const { table, key } = found ?? { table: this.#table, key: "command" };
    const place = [...table.path, key];
    if (Array.isArray(table.peek(key)))
      return (table.texts(key) ?? []).map((text, index) =>
        index === 0 ? this.#resolveText(expandHome(text), [...place, 0], MUST_HAVE_TEXT) : this.#resolveText(text, [...place, index]),
      );
    const command = table.requiredText(key, meaning);
    return command === undefined ? [] : [this.#resolveText(expandHome(command), place, MUST_HAVE_TEXT)];
  }

  /** Returns the variables that the server inherits. A client may also say where it finds them. */
  #inherited(): Readonly<Record<string, string>> {
    const found = this.#findKey(VARIABLE_KEYS.inherited);
    const list: unknown = found?.table.value(found.key);
    if (found === undefined || !Array.isArray(list)) return {};
    const names = list.flatMap((item: unknown) => {
      const name: unknown = isTable(item) ? Reflect.get(item, "name") : item;
      return typeof name === "string" ? [name] : [];
    });
    return Object.fromEntries(names.map((name) => [name, this.#resolveText(`\${${name}}`, [...found.table.path, found.key])]));
  }

  #folder(): string | undefined {
    const found = this.#findKey(KEYS.cwd);
    const written = found?.table.text(found.key);
    const { startsIn, workspace } = this.#options;
    if (found === undefined || written === undefined) return startsIn;
    const place = [...found.table.path, found.key];
    const folder = expandHome(this.#resolveText(written, place, MUST_HAVE_TEXT));
    if (!this.#options.imports || !folder.includes("${")) return resolve(workspace, folder);
    this.notes.push({ path: place, text: "has a variable, which must be named under allow in variables, as the folder is a path." });
    return folder.startsWith("${") ? folder : resolve(workspace, folder); // a variable at the beginning holds an absolute path
  }

  #noteEnvFile(): void {
    const text = 'is not read here; put its variables into env, such as "${NAME}".';
    if (!this.#options.imports) this.#table.report("envFile", text);
    else this.notes.push({ path: [...this.#table.path, "envFile"], text });
    this.#table.value("envFile");
  }

  #address({ table, key }: Found, transport: Transport): McpServer | undefined {
    if (this.#findKey(KEYS.command) !== undefined) table.report(key, "a server has a command or a url, not both.");
    const address = table.requiredText(key, "the address of the server");
    const url = address === undefined ? "" : this.#resolveSent(address, [...table.path, key], MUST_HAVE_TEXT);
    const written = this.#texts(KEYS.headers, (text, place) => this.#resolveSent(text, place));
    const headers = this.#ownHeaders({ ...this.#token(), ...written, ...this.#namedHeaders() });
    const own = transport === "stdio" ? undefined : transport;
    return url === "" ? undefined : { url, headers, trustAnnotations: false, ...omitUndefined({ transport: own }) };
  }

  /** Removes headers that the connection sets itself, such as `Accept`, which some clients require in their files. */
  #ownHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    if (!this.#options.imports) return headers;
    const path = [...this.#table.path, "headers"];
    const kept = Object.entries(headers).filter(([name]) => !isProtocolHeader(name));
    for (const name of Object.keys(headers).filter((each) => isProtocolHeader(each)))
      this.notes.push({ path: [...path, name], text: "is left out: the header belongs to the protocol, and is sent automatically." });
    return Object.fromEntries(kept);
  }

  /** Returns the header for the token in a variable, or for Continue's `apiKey`. */
  #token(): Readonly<Record<string, string>> {
    const found = this.#findKey(VARIABLE_KEYS.token);
    const name = found?.table.text(found.key);
    const key = this.#table.text("apiKey");
    const token = name === undefined ? key : `\${${name}}`;
    if (token === undefined) return {};
    const place = [...this.#table.path, found?.key ?? "apiKey"];
    return { Authorization: this.#resolveSent(`Bearer ${token}`, place) };
  }

  #namedHeaders(): Readonly<Record<string, string>> {
    return this.#texts(VARIABLE_KEYS.headers, (name, place) => this.#resolveSent(`\${${name}}`, place));
  }

  #texts(keys: readonly string[], read: (text: string, place: KeyPath) => string): Readonly<Record<string, string>> {
    const found = this.#findKey(keys);
    if (found === undefined) return {};
    const table = found.table.table(found.key);
    const texts = (table?.names() ?? []).flatMap((name): [string, string][] => {
      const value: unknown = table?.peek(name);
      const text = typeof value === "number" || typeof value === "boolean" ? String(value) : value === null ? undefined : table?.text(name);
      return text === undefined ? [] : [[name, text]];
    });
    const path = [...found.table.path, found.key];
    return Object.fromEntries(texts.map(([name, text]) => [name, read(text, [...path, name])]));
  }

  #description(): string | undefined {
    const written = this.#table.text("description");
    return written === "" ? undefined : written;
  }

  /** Returns the selection of tools. A list that includes `*` selects all. */
  #readToolSelection(): { readonly include?: readonly string[]; readonly exclude?: readonly string[] } {
    const include = this.#names(KEYS.include);
    const exclude = this.#names(KEYS.exclude);
    if (include?.length === 0) return { exclude: ["*"] };
    return omitUndefined({
      include: include?.includes("*") === true ? undefined : include,
      exclude: exclude?.length === 0 ? undefined : exclude,
    });
  }

  /** Splits names, because some clients write several into one string, separated by commas. */
  #names(keys: readonly string[]): readonly string[] | undefined {
    const found = this.#findKey(keys, "array");
    return found?.table.texts(found.key)?.flatMap((text) =>
      text
        .split(",")
        .map((name) => name.trim())
        .filter(Boolean),
    );
  }

  #readTimeout(key: keyof typeof TIMEOUTS): number | undefined {
    const units: Readonly<Record<string, number>> =
      key === "timeoutMs" ? { ...TIMEOUTS[key], timeout: this.#options.timeoutUnit } : TIMEOUTS[key];
    const found = this.#findKey(Object.keys(units), "number");
    const value: unknown = found?.table.value(found.key);
    if (found === undefined || typeof value !== "number") return undefined;
    const milliseconds = Math.round(value * (units[found.key] ?? 1));
    const least = found.key === "timeout" && units["timeout"] === 1 ? MIN_TIMEOUT : MILLISECONDS.min;
    if (milliseconds >= least && milliseconds <= MILLISECONDS.max) return milliseconds;
    const text = `is left out: ${value} may be seconds or milliseconds here. Set ${key} in the toolset.`;
    this.notes.push({
      path: [...found.table.path, found.key],
      text: least === MIN_TIMEOUT ? text : "is left out: Haft has no such time limit.",
    });
    return undefined;
  }

  #noteUnreadKeys(table: TableReader): void {
    for (const [key, value] of Object.entries(table.rest()))
      if (!IGNORED_KEYS.has(key)) this.notes.push({ path: [...table.path, key], text: noteForKey(key, value) });
  }

  /** Notes a secret that would be copied as it is. @param option the argument before it */
  #noteSecret(text: string, place: KeyPath, option = ""): void {
    const key = place.at(-1);
    const name = typeof key === "string" ? key : option.startsWith("-") ? option : "";
    if (!this.#options.imports || text.includes("${") || !isSecret(text, name)) return;
    this.notes.push({ path: place, text: 'is copied in clear text; put it into an environment variable and write "${NAME}".' });
  }

  /** Returns the first of the keys that exists; with a kind, only if its value has that kind. */
  #findKey(keys: readonly string[], kind?: "string" | "array" | "number"): Found | undefined {
    for (const key of keys)
      for (const table of this.#tables) {
        const value = table.peek(key);
        if (table.has(key) && !isNestedTable(key, value) && (kind === undefined || kindOf(value).endsWith(kind))) return { table, key };
      }
    return undefined;
  }

  #resolveText(text: string, place: KeyPath, options?: ResolveOptions): string {
    return this.#resolve(this.#translate(text, place), place, options);
  }

  /** Like `#resolveText`, for an address and headers. */
  #resolveSent(text: string, place: KeyPath, options?: ResolveOptions): string {
    const translated = this.#translate(text, place);
    return translated.startsWith("env:") ? translated : this.#variables.resolveSent(translated, place, options);
  }

  /** @param option the argument before it */
  #translate(text: string, place: KeyPath, option = ""): string {
    const translated = this.#translator.translate(text, place);
    this.#noteSecret(translated, place, option);
    return translated;
  }

  /** Resolves variables for a program on this machine. A text that begins with `env:` has no special meaning in these files. */
  #resolve(translated: string, place: KeyPath, options?: ResolveOptions): string {
    return translated.startsWith("env:") ? translated : this.#variables.resolve(translated, place, options);
  }
}

/** Removes keys whose value is null, which some clients write for unset ones. */
function withoutNulls(table: TableReader, problems: Problems): TableReader {
  const entries = table.names().map((name): [string, unknown] => [name, table.peek(name)]);
  return new TableReader(Object.fromEntries(entries.filter(([, value]) => value !== null)), table.path, problems);
}

/** Replaces the server's own variables in its arguments, as a bridge such as mcp-remote does. */
function replaceOwnVariables(text: string, own: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$\{([A-Za-z_]\w*)\}/gu, (written, name: string) =>
    Object.hasOwn(own, name) ? (own[name] ?? written) : written,
  );
}

function isNestedTable(key: string, value: unknown): boolean {
  return isTable(value) && NESTED.some((nested) => nested === key);
}

/** Endings of names that hold a secret, in addition to those that `isSecretName` knows. */
const SECRET_ENDING = /(?:^|[_-])(?:token|key|pat|auth|secret|password|credentials?)$/iu;

function isSecret(text: string, name: string): boolean {
  const isNamed = SECRET_ENDING.test(name) || isSecretName(name);
  return (isNamed && text.length >= MIN_SECRET) || SECRET_ARGUMENT.test(text) || findSecrets(text).length > 0;
}

const MIN_SECRET = 3;
/** For programs, folders and addresses. */
const MUST_HAVE_TEXT: ResolveOptions = { mustHaveText: true };
/** Arguments that hold a secret: `--api-key=…`, `API_KEY=…`, `?api_key=…` and a header. */
const SECRET_ARGUMENT = /(?:(?:^|[?&])[\w-]*(?:token|key|secret|password)=|^authorization:)[^&]{3,}/iu;

const TIMEOUT_KEYS: ReadonlySet<string> = new Set(["timeout", ...Object.values(TIMEOUTS).flatMap((units) => Object.keys(units))]);

function noteForKey(key: string, value: unknown): string {
  if (TIMEOUT_KEYS.has(key) && typeof value !== "number") return `is left out: a time limit is a number, not ${describeValueType(value)}.`;
  return NOTES_BY_KEY.get(key) ?? "is not used here.";
}
