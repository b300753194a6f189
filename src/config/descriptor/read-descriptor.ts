/** Reads one TOML descriptor, which may describe an ensemble, a tool, MCP servers or several of them. */
import { SECONDS } from "../../core/base/number-bounds.ts";
import type { CallSettings } from "../../core/tool.ts";
import { Problems } from "../../documents/problems.ts";
import { readDocument, type LoadedDocument } from "../../documents/read-document.ts";
import { createRedactor, type Redact } from "../../core/secrets/redact.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { commandLine, importLine, sentLine } from "../trust/trust-lines.ts";
import { TableReader, isTable } from "../table-reader.ts";
import { readMcpServer, type McpServer } from "../toolset/mcp.ts";
import { serverRights } from "../trust/server-rights.ts";
import { Variables, type Environment } from "../variables.ts";

/** The content of one file. Each unusable part is reported once in `problems`. */
export interface Descriptor {
  readonly file: string;
  /** SHA-256 of its text, in hex. */
  readonly digest: string;
  /** The programs that it would start on this machine, one line each, without the values of variables. */
  readonly starts: readonly string[];
  /** The variables that it would send to servers, one line each. */
  readonly sends: readonly string[];
  /** The limits of its servers that it loosens, one line each. */
  readonly widens: readonly string[];
  readonly problems: Problems;
  readonly ensemble: Ensemble | undefined;
  /** A single tool, if the file describes one. */
  readonly invoker: LoneInvoker | undefined;
  readonly servers: readonly Server[];
}

export interface Ensemble {
  /** Undefined if it is missing: the ensemble cannot be used. */
  readonly name: string | undefined;
  readonly enabled: boolean;
  readonly description?: string;
  /** The file that exports the code of its tools, in the folder of the descriptor or below. */
  readonly module?: string;
  readonly defaults: CallSettings;
  readonly invokers: readonly InvokerEntry[];
  /** False if the ensemble has a problem that does not belong to a single tool, or the file an unknown table. */
  readonly isValid: boolean;
}

export interface InvokerEntry {
  readonly path: readonly (string | number)[];
  readonly enabled: boolean;
  /** False if the entry has a problem, which was reported. */
  readonly isValid: boolean;
  /** The descriptor of the tool, in the folder of this one or below. */
  readonly source?: string;
  /** The tool itself, if it has no separate file. */
  readonly inline?: Invoker;
}

export interface Invoker {
  readonly enabled: boolean;
  readonly module?: string;
  /** The input of `toolFromFile`. */
  readonly definition: Readonly<Record<string, unknown>>;
}

/** A tool with a file of its own. */
export interface LoneInvoker extends Invoker {
  /** False if the tool has a problem, or the file an unknown table: its meaning is not known. */
  readonly isValid: boolean;
}

export interface Server {
  readonly name: string;
  readonly enabled: boolean;
  /** Undefined if the server has a problem, which was reported. */
  readonly server: McpServer | undefined;
}

export interface DescriptorOptions {
  readonly environment: Environment;
  readonly allowedInPaths: ReadonlySet<string>;
}

const MAX_BYTES = 1024 * 1024;
/** Maximum number of invokers; more would be a mistake, or generated. */
const MAX_INVOKERS = 1_000;

/** @throws ToolError `invalid_config` for a file that is not TOML, or has none of the parts of a descriptor */
export async function readDescriptor(file: string, options: DescriptorOptions): Promise<Descriptor> {
  const parsed = await readDocument({
    path: file,
    what: "descriptor",
    endings: [".toml"],
    maxBytes: MAX_BYTES,
    hint: "Name the file itself.",
    limits: { roundsBounds: true },
  });
  return toDescriptor(parsed, file, options);
}

function toDescriptor({ value, positions, digest }: LoadedDocument, file: string, options: DescriptorOptions): Descriptor {
  const problems = new Problems(file, positions);
  const root = new TableReader(isTable(value) ? value : {}, [], problems);
  const variables = new Variables({ environment: options.environment, allowed: options.allowedInPaths, problems });
  const ensembleTable = root.has("ensemble") ? readEnsemble(root, problems) : undefined;
  const invokerTable = root.has("invoker") ? readInvokerFile(root, problems) : undefined;
  const servers = readMcpTables(root.table("mcp"), variables, problems);
  const isKnown = hasOnlyKnownTables(root, problems);
  const [ensemble, invoker] = [withValidity(ensembleTable, isKnown), withValidity(invokerTable, isKnown)];
  const redact = createRedactor(variables.secrets);
  const starts = listStarted({ ensemble, invoker, servers }, redact).map((line) => `${file} ${line}`);
  const sends = variables.sent.map(({ name }) => `${file} ${sentLine(name)}`);
  const widens = servers.flatMap(({ name, enabled, server }) =>
    (enabled && server !== undefined ? serverRights(server) : []).map(([key, what]) => redact(`${file} mcp.${name}.${key} ${what}`)),
  );
  return { file, digest, starts, sends, widens, problems, ensemble, invoker, servers };
}

/** Whether the file has no unknown table; one is reported. */
function hasOnlyKnownTables(root: TableReader, problems: Problems): boolean {
  const before = problems.count;
  if (["ensemble", "invoker", "mcp"].some((name) => root.has(name))) root.reportUnknownKeys();
  else root.report(undefined, "a descriptor has [ensemble], [invoker] or [mcp.NAME].");
  return problems.count === before;
}

function withValidity<Part extends { readonly isValid: boolean }>(part: Part | undefined, isKnown: boolean): Part | undefined {
  return part === undefined || isKnown ? part : { ...part, isValid: false };
}

function listStarted(
  { ensemble, invoker, servers }: Pick<Descriptor, "ensemble" | "invoker" | "servers">,
  redact: Redact,
): readonly string[] {
  const modules = [ensemble, invoker, ...(ensemble?.invokers ?? []).map(({ inline }) => inline)].filter((part) => part?.enabled === true);
  return [
    ...modules.flatMap((part) => (part?.module === undefined ? [] : [importLine(part.module)])),
    ...servers.flatMap(({ enabled, server }) => (enabled && server?.command !== undefined ? [redact(commandLine(server))] : [])),
  ];
}

/** Reads the tables `mcp.NAME` of a file. */
export function readMcpTables(table: TableReader | undefined, variables: Variables, problems: Problems): readonly Server[] {
  const servers: Server[] = [];
  for (const name of problems.sortKeys(table?.path ?? [], table?.names() ?? [])) {
    const entry = table?.table(name);
    if (entry === undefined) continue;
    const before = problems.count;
    const enabled = readEnabled(entry);
    const server = readMcpServer(entry, { variables: enabled ? variables : variables.createUnresolved(), problems, otherWords: true });
    entry.reportUnknownKeys();
    servers.push({ name, enabled, server: problems.count === before ? server : undefined });
  }
  return servers;
}

function readEnsemble(root: TableReader, problems: Problems): Ensemble {
  const table = root.table("ensemble");
  const name = table?.requiredText("name", "what its tools are grouped under");
  const enabled = table === undefined || readEnabled(table);
  const more = omitUndefined({ description: table?.text("description"), module: table?.text("module") });
  table?.reportUnknownKeys();
  const settings = root.section("defaults", readSettings) ?? {};
  const entries = root.tables("invokers") ?? [];
  const beyond = entries[MAX_INVOKERS];
  if (beyond !== undefined) beyond.report(undefined, `at most ${MAX_INVOKERS} invokers are read.`);
  const isValid = problems.count === 0; // the ensemble is read first
  const invokers = entries.slice(0, MAX_INVOKERS).map((entry) => readEntry(entry, problems));
  return { name, enabled, ...more, defaults: settings, invokers, isValid };
}

function readEntry(entry: TableReader, problems: Problems): InvokerEntry {
  const before = problems.count;
  const source = entry.text("source");
  if (source !== undefined) {
    const enabled = readEnabled(entry);
    entry.reportUnknownKeys();
    return { path: entry.path, enabled, source, isValid: problems.count === before };
  }
  const inline = readInvoker(entry, entry);
  return { path: entry.path, enabled: inline.enabled, inline, isValid: problems.count === before };
}

function readInvokerFile(root: TableReader, problems: Problems): LoneInvoker | undefined {
  const before = problems.count;
  const table = root.table("invoker");
  if (table === undefined) return undefined;
  const invoker = readInvoker(table, root);
  return { ...invoker, isValid: problems.count === before };
}

/** @param schemas the table that has `arguments` and `returns` */
function readInvoker(table: TableReader, schemas: TableReader): Invoker {
  const enabled = readEnabled(table);
  const module = table.text("module");
  const settings = readSettings(table);
  const input = schemas.value("arguments");
  const output = schemas.value("returns");
  const definition = { ...table.rest(), ...settings, ...omitUndefined({ arguments: input, returns: output }) };
  return { enabled, ...omitUndefined({ module }), definition };
}

/** Reads the timeout, in seconds, and the number of retries. Our own keys are left for `toolFromFile`. */
function readSettings(table: TableReader): CallSettings {
  const timeout = table.number("timeout", SECONDS);
  const retries = table.number("max_retries", { min: 0, max: 99, integer: true });
  return omitUndefined({
    timeoutMs: timeout === undefined ? undefined : timeout * 1000,
    maxAttempts: retries === undefined ? undefined : retries + 1,
  });
}

/** Whether neither `enabled` nor its alias is false. */
export function readEnabled(table: TableReader): boolean {
  return (table.flag("enabled") ?? true) && (table.flag("enable") ?? true);
}
