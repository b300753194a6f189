/** Reads one TOML descriptor, of a format that leaves open which file has what. */
import { SECONDS } from "../../core/base/number-bounds.ts";
import type { CallSettings } from "../../core/tool.ts";
import { Problems } from "../../documents/problems.ts";
import { readDocument, type ReadDocument } from "../../documents/read-document.ts";
import { redactor, type Redact } from "../../core/base/redact.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { commandLine, importLine, sentLine } from "../trust/trust-lines.ts";
import { TableReader, isTable } from "../table-reader.ts";
import { readMcpServer, type McpServer } from "../toolset/mcp.ts";
import { serverRights } from "../trust/server-rights.ts";
import { Variables, type Environment } from "../variables.ts";

/** The content of one file. A part that could not be used is among its problems, each reported once. */
export interface Descriptor {
  readonly file: string;
  /** SHA-256 of its text, in hex. */
  readonly digest: string;
  /** The programs that it would start on this machine, one line each, without the values of variables. */
  readonly starts: readonly string[];
  /** Which variables it would send to servers, one line each. */
  readonly sends: readonly string[];
  /** Which limits of its servers it loosens, one line each. */
  readonly widens: readonly string[];
  readonly problems: Problems;
  readonly ensemble: Ensemble | undefined;
  /** A tool by itself: the file of an invoker. */
  readonly invoker: Invoker | undefined;
  readonly servers: readonly Server[];
}

export interface Ensemble {
  /** Undefined = it has none, and cannot be used. */
  readonly name: string | undefined;
  readonly enabled: boolean;
  readonly description?: string;
  /** The file that exports the code of its tools, in the folder of the descriptor or below. */
  readonly module?: string;
  readonly defaults: CallSettings;
  readonly invokers: readonly InvokerEntry[];
  /** False = something is wrong with the file that is not of one tool only. */
  readonly sound: boolean;
}

export interface InvokerEntry {
  readonly path: readonly (string | number)[];
  readonly enabled: boolean;
  /** False = something is wrong with it, and has been reported. */
  readonly sound: boolean;
  /** The descriptor of the tool, in the folder of this one or below. */
  readonly source?: string;
  /** The tool itself, where it has no file of its own. */
  readonly inline?: Invoker;
}

export interface Invoker {
  readonly enabled: boolean;
  readonly module?: string;
  /** For `toolFromFile`. */
  readonly definition: Readonly<Record<string, unknown>>;
}

export interface Server {
  readonly name: string;
  readonly enabled: boolean;
  /** Undefined = something is wrong with it, and has been reported. */
  readonly server: McpServer | undefined;
}

export interface DescriptorOptions {
  readonly environment: Environment;
  readonly allowedInPaths: ReadonlySet<string>;
}

const MAX_BYTES = 1024 * 1024;
/** More would be a mistake, or no longer a list that a person wrote. */
const MAX_INVOKERS = 1_000;

/** @throws ToolError `invalid_config` for what is no TOML file, or says nothing that a descriptor says */
export async function readDescriptor(file: string, options: DescriptorOptions): Promise<Descriptor> {
  const parsed = await readDocument({
    path: file,
    what: "descriptor",
    endings: [".toml"],
    maxBytes: MAX_BYTES,
    hint: "Name the file itself.",
  });
  return describe(parsed, file, options);
}

function describe({ value, positions, digest }: ReadDocument, file: string, options: DescriptorOptions): Descriptor {
  const problems = new Problems(file, positions);
  const root = new TableReader(isTable(value) ? value : {}, [], problems);
  const variables = new Variables({ environment: options.environment, allowed: options.allowedInPaths, problems });
  const read = root.has("ensemble") ? readEnsemble(root, problems) : undefined;
  const before = problems.count;
  const invoker = root.has("invoker") ? readInvokerFile(root) : undefined;
  const servers = readMcpTables(root.table("mcp"), variables, problems);
  if (read === undefined && invoker === undefined && !root.has("mcp"))
    root.report(undefined, "a descriptor has [ensemble], [invoker] or [mcp.NAME].");
  else root.finish();
  const ensemble = read === undefined ? undefined : { ...read, sound: read.sound && problems.count === before };
  const redact = redactor(variables.secrets);
  const starts = startedBy({ ensemble, invoker, servers }, redact).map((line) => `${file} ${line}`);
  const sends = variables.sent.map(({ name }) => `${file} ${sentLine(name)}`);
  const widens = servers.flatMap(({ name, enabled, server }) =>
    (enabled && server !== undefined ? serverRights(server) : []).map(([key, what]) => redact(`${file} mcp.${name}.${key} ${what}`)),
  );
  return { file, digest, starts, sends, widens, problems, ensemble, invoker, servers };
}

function startedBy(
  { ensemble, invoker, servers }: Pick<Descriptor, "ensemble" | "invoker" | "servers">,
  redact: Redact,
): readonly string[] {
  const modules = [ensemble, invoker, ...(ensemble?.invokers ?? []).map(({ inline }) => inline)].filter((part) => part?.enabled === true);
  return [
    ...modules.flatMap((part) => (part?.module === undefined ? [] : [importLine(part.module)])),
    ...servers.flatMap(({ enabled, server }) => (enabled && server?.command !== undefined ? [redact(commandLine(server))] : [])),
  ];
}

/** The tables `mcp.NAME` of a file. */
export function readMcpTables(table: TableReader | undefined, variables: Variables, problems: Problems): readonly Server[] {
  const servers: Server[] = [];
  for (const name of problems.inOrder(table?.path ?? [], table?.names() ?? [])) {
    const entry = table?.table(name);
    if (entry === undefined) continue;
    const before = problems.count;
    const enabled = readEnabled(entry);
    const server = readMcpServer(entry, { variables: enabled ? variables : variables.untouched(), problems, otherWords: true });
    entry.finish();
    servers.push({ name, enabled, server: problems.count === before ? server : undefined });
  }
  return servers;
}

function readEnsemble(root: TableReader, problems: Problems): Ensemble {
  const table = root.table("ensemble");
  const name = table?.requiredText("name", "what its tools are grouped under");
  const enabled = table === undefined || readEnabled(table);
  const more = omitUndefined({ description: table?.text("description"), module: table?.text("module") });
  table?.finish();
  const settings = root.section("defaults", readSettings) ?? {};
  const entries = root.tables("invokers") ?? [];
  const beyond = entries[MAX_INVOKERS];
  if (beyond !== undefined) beyond.report(undefined, `more than ${MAX_INVOKERS} invokers are not read.`);
  const sound = problems.count === 0;
  const invokers = entries.slice(0, MAX_INVOKERS).map((entry) => readEntry(entry, problems));
  return { name, enabled, ...more, defaults: settings, invokers, sound };
}

function readEntry(entry: TableReader, problems: Problems): InvokerEntry {
  const before = problems.count;
  const source = entry.text("source");
  if (source !== undefined) {
    const enabled = readEnabled(entry);
    entry.finish();
    return { path: entry.path, enabled, source, sound: problems.count === before };
  }
  const inline = readInvoker(entry, entry);
  return { path: entry.path, enabled: inline.enabled, inline, sound: problems.count === before };
}

function readInvokerFile(root: TableReader): Invoker | undefined {
  const table = root.table("invoker");
  if (table === undefined) return undefined;
  return readInvoker(table, root);
}

/** @param schemas where `arguments` and `returns` are */
function readInvoker(table: TableReader, schemas: TableReader): Invoker {
  const enabled = readEnabled(table);
  const module = table.text("module");
  const settings = readSettings(table);
  const input = schemas.value("arguments");
  const output = schemas.value("returns");
  const definition = { ...table.rest(), ...settings, ...omitUndefined({ arguments: input, returns: output }) };
  return { enabled, ...omitUndefined({ module }), definition };
}

/** Times in seconds, and how often to try again; our own words stay for `toolFromFile`. */
function readSettings(table: TableReader): CallSettings {
  const timeout = table.number("timeout", SECONDS);
  const retries = table.number("max_retries", { min: 0, max: 99, integer: true });
  return omitUndefined({
    timeoutMs: timeout === undefined ? undefined : timeout * 1000,
    maxAttempts: retries === undefined ? undefined : retries + 1,
  });
}

function readEnabled(table: TableReader): boolean {
  return (table.flag("enabled") ?? true) && (table.flag("enable") ?? true);
}
