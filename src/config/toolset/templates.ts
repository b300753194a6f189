/** `type = "command"` and `type = "http"`: tools that are defined by templates, without code. */
import { resolve } from "node:path";
import { copyJson, isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { Engine } from "../../core/engine.ts";
import { ToolError, describeThrown, formatForOperator } from "../../core/error.ts";
import type { JsonSchema, Tool } from "../../core/tool.ts";
import { COMMAND_OUTPUTS, commandTool, type CommandLocation, type CommandTemplate } from "../../toolsets/templates/command-tool.ts";
import { HttpTemplateEngine, readHttpTemplate, type HttpRequestTemplate, type HttpService } from "../../toolsets/templates/http-tools.ts";
import { InputTemplate, parseJsonTemplate } from "../../toolsets/templates/input-template.ts";
import { programSettings, TIMEOUT_BOUNDS, type SandboxKind } from "../../toolsets/programs/program-options.ts";
import type { ProgramRunner } from "../../toolsets/programs/program-runner.ts";
import { filePath } from "../file-path.ts";
import { readAuthorities, readTls } from "./mcp.ts";
import { findAllowPrivateFault } from "../../net/address-guard.ts";
import { serverEnvironment } from "../../processes/server-process.ts";
import { SANDBOXES, readSandbox, type SandboxConfig } from "./sandbox.ts";
import { kindOf, type TableReader } from "../table-reader.ts";
import { toolFromFile } from "../tools/tool-from-file.ts";
import type { Variables } from "../variables.ts";
import type { BuildContext, CommonConfig, ToolsetType } from "./toolset-type.ts";

export interface CommandConfig extends CommonConfig, Omit<SandboxConfig, "sandbox"> {
  readonly type: "command";
  /** @default "none" */
  readonly sandbox?: SandboxKind;
  /** The working folder of the programs, relative to the configuration file. @default the folder of the configuration */
  readonly root?: string;
  readonly env: Readonly<Record<string, string>>;
  readonly tools: readonly { readonly tool: Tool; readonly template: CommandTemplate; readonly sandbox?: SandboxKind }[];
}

/** `ca` is the path of a file. */
export interface HttpConfig extends CommonConfig, HttpService {
  readonly type: "http";
  readonly tools: readonly { readonly tool: Tool; readonly template: HttpRequestTemplate }[];
}

export const commandType: ToolsetType<CommandConfig> = {
  keyAtFault: (config) => (isSandboxed(config) ? "root" : "tools"),
  read(table, common, { variables }) {
    const root = table.text("root");
    const env = variables.resolveAllSent(table.textTable("env") ?? {}, [...table.path, "env"]);
    const sandboxed = readSandbox(table, variables);
    const tools = readTools(table, (entry) => readCommandTool(entry, variables));
    if (tools === undefined) return undefined;
    if (!isSandboxed({ ...sandboxed, tools }))
      for (const key of SANDBOX_KEYS)
        if (table.has(key)) table.report(key, 'belongs to a sandbox; add sandbox = "bubblewrap", here or in a tool.');
    return {
      type: "command",
      ...common,
      env,
      ...sandboxed,
      tools,
      ...omitUndefined({ root: root === undefined ? undefined : variables.path(root, [...table.path, "root"]) }),
    };
  },
  async build(_place, config, context) {
    const { root = ".", env, tools, sandbox: ofAll = "none" } = config;
    const open = { folder: resolve(context.folder, root), clock: context.clock };
    const runner = isSandboxed(config) ? await createRunner(config, context) : undefined;
    const placeOf = ({ environment }: Tool, sandbox: SandboxKind = ofAll): CommandLocation =>
      runner === undefined || sandbox === "none"
        ? { ...open, environment: serverEnvironment({ ...env, ...environment }), ownVariables: { ...env, ...environment } }
        : { sandbox: runner };
    return {
      toolset: {
        tools: tools.map(({ tool, template, sandbox }) => commandTool(tool, template, placeOf(tool, sandbox))),
        ...(runner === undefined ? {} : { engine: sandboxEngine(runner) }),
      },
    };
  },
};

const SANDBOX_KEYS = ["network", "read", "write", "allowSensitive"] as const;

function isSandboxed({ sandbox, tools }: Pick<CommandConfig, "sandbox" | "tools">): boolean {
  return sandbox === "bubblewrap" || tools.some((each) => each.sandbox === "bubblewrap");
}

async function createRunner(config: CommandConfig, { folder, ownPaths }: BuildContext): Promise<ProgramRunner> {
  const { ProgramRunner } = await import("../../toolsets/programs/program-runner.ts");
  const { root = ".", env, network, read, write, allowSensitive } = config;
  const absolute = (path: string): string => (path.startsWith("~") ? path : resolve(folder, path));
  const paths = omitUndefined({ read: read?.map(absolute), write: write?.map(absolute), allowSensitive, network });
  return new ProgramRunner(
    programSettings({
      root: absolute(root),
      sandbox: "bubblewrap",
      ...ownPaths,
      env,
      timeoutMs: TIMEOUT_BOUNDS.max,
      maxTimeoutMs: TIMEOUT_BOUNDS.max,
      ...paths,
    }),
  );
}

/** An engine that only opens and closes the sandbox; the tools run their programs themselves. */
function sandboxEngine(runner: ProgramRunner): Engine {
  return {
    kind: "command",
    async open(context) {
      await runner.open(context);
      return [];
    },
    call: () => Promise.reject(new ToolError("not_executable", "A tool of commands runs its program itself.")),
    close: () => runner.close(),
  };
}

export const httpType: ToolsetType<HttpConfig> = {
  keyAtFault: () => "baseUrl",
  read(table, common, context) {
    const { variables } = context;
    const written = table.requiredText("baseUrl", "the address of the service");
    const headers = variables.resolveAllSent(table.textTable("headers") ?? {}, [...table.path, "headers"]);
    const allowPrivate = table.texts("allowPrivate", findAllowPrivateFault);
    const tls = readTls(table, context);
    const tools = readTools(table, (entry) => readHttpTool(entry));
    const baseUrl = written === undefined ? undefined : variables.resolveSent(written, [...table.path, "baseUrl"], { mustHaveText: true });
    if (tools === undefined || baseUrl === undefined || baseUrl === "") return undefined;
    return { type: "http", ...common, baseUrl, headers, tools, ...omitUndefined({ allowPrivate }), ...tls };
  },
  build(_place, { baseUrl, headers, allowPrivate, verifyTls, ca, tools }, { folder }: Pick<BuildContext, "folder">) {
    const pem = ca === undefined ? undefined : readAuthorities(filePath(ca, folder));
    const service = { baseUrl, headers, ...omitUndefined({ allowPrivate, verifyTls, ca: pem }) };
    const engine = new HttpTemplateEngine(service, new Map(tools.map(({ tool, template }) => [tool.name, template])));
    return { toolset: { tools: tools.map(({ tool }) => tool), engine } };
  },
};

function readTools<Read>(table: TableReader, readOne: (entry: TableReader) => Read | undefined): readonly Read[] | undefined {
  const entries = table.tables("tools");
  if (entries === undefined && !table.has("tools")) table.report(undefined, '"tools" is missing: the array of tools.');
  if (entries?.length === 0) table.report("tools", "must not be empty: the array of tools.");
  return entries?.flatMap((entry) => readOne(entry) ?? []);
}

/** Reads the fields that every tool in a file has. The keys of the template must have been read before. */
function readTool(entry: TableReader): Tool | undefined {
  const fields: JsonObject = entry.rest();
  try {
    const { tool, unknown } = toolFromFile(fields);
    for (const line of unknown) {
      const [key = "", ...problem] = line.split(": ");
      entry.report(key, problem.join(": "));
    }
    return tool;
  } catch (thrown: unknown) {
    entry.report(undefined, describeThrown(thrown));
    return undefined;
  }
}

function readCommandTool(entry: TableReader, variables: Variables): CommandConfig["tools"][number] | undefined {
  for (const key of ["command", "stdin", "output", "okExitCodes", "sandbox"]) entry.value(key);
  const sandbox = entry.choice("sandbox", SANDBOXES);
  const written = entry.textTable("environment");
  const read = readTool(entry);
  if (read === undefined) return undefined;
  const environment = written === undefined ? undefined : variables.resolveAllSent(written, [...entry.path, "environment"]);
  const tool = { ...read, ...omitUndefined({ environment }) };
  const fault = (text: string): string | undefined => findFault(() => new InputTemplate(text, tool.inputSchema));
  const command = entry.texts("command", fault);
  if (command === undefined && !entry.has("command"))
    entry.report(undefined, '"command" is missing: the program and its arguments, an array of strings.');
  if (command?.length === 0 || command?.[0] === "") entry.report("command", "must not be empty: the program and its arguments.");
  const stdin = entry.text("stdin");
  const inStdin = stdin === undefined ? undefined : fault(stdin);
  if (inStdin !== undefined) entry.report("stdin", inStdin);
  const output = entry.choice("output", COMMAND_OUTPUTS);
  const okExitCodes = readExitCodes(entry);
  if (command === undefined || command.length === 0) return undefined;
  return { tool, template: { command, ...omitUndefined({ stdin, output, okExitCodes }) }, ...omitUndefined({ sandbox }) };
}

function readExitCodes(entry: TableReader): readonly number[] | undefined {
  const value = entry.value("okExitCodes");
  if (value === undefined) return undefined;
  const codes: readonly unknown[] = Array.isArray(value) ? value : [undefined];
  const numbers = codes.filter((code): code is number => typeof code === "number" && Number.isInteger(code) && code >= 0 && code <= 255);
  if (numbers.length === codes.length && numbers.length > 0) return numbers;
  entry.report("okExitCodes", "must be an array of integers from 0 to 255.");
  return undefined;
}

function readHttpTool(entry: TableReader): HttpConfig["tools"][number] | undefined {
  for (const key of ["method", "url", "headers", "body"]) entry.value(key);
  for (const key of ["workingFolder", "environment"])
    if (entry.has(key)) entry.report(key, "belongs to tools that run a program; a request has none.");
  const tool = readTool(entry);
  const url = entry.requiredText("url", 'the address below baseUrl, such as "/users/{id}"');
  const method = entry.text("method")?.toUpperCase();
  const headers = entry.textTable("headers");
  if (tool === undefined || url === undefined) return undefined;
  const body = readBody(entry, tool.inputSchema);
  const problem = findFault(() => readHttpTemplate({ url, ...omitUndefined({ method }) }, tool.inputSchema));
  if (problem !== undefined) entry.report(problem.includes("method") ? "method" : "url", problem);
  for (const [name, text] of Object.entries(headers ?? {})) {
    const inHeader = findVariableFault(text) ?? findFault(() => new InputTemplate(text, tool.inputSchema));
    if (inHeader !== undefined) entry.report("headers", `${name}: ${inHeader}`);
  }
  const template = tryMake(() => readHttpTemplate({ url, ...omitUndefined({ method, headers, body }) }, tool.inputSchema));
  for (const [name, { text }] of template?.query ?? []) {
    const inQuery = findCapitalVariableFault(text);
    if (inQuery !== undefined) entry.report("url", `${name}: ${inQuery}`);
  }
  return template === undefined ? undefined : { tool: { ...tool, effects: tool.effects ?? { external: true } }, template };
}

function readBody(entry: TableReader, schema: JsonSchema): JsonValue | undefined {
  const written = entry.value("body");
  if (written === undefined) return undefined;
  const body = tryMake(() => copyJson(written).value);
  if (body === undefined) entry.report("body", `must be JSON or a string, not ${kindOf(written)}.`);
  const problem = body === undefined ? undefined : (findVariableInBody(body) ?? findFault(() => parseJsonTemplate(body, schema)));
  if (problem !== undefined) entry.report("body", problem);
  return problem === undefined ? body : undefined;
}

/** The fault of a template that is `env:NAME`: it would be sent as it is written, in place of the key that was meant. */
function findVariableFault(template: string): string | undefined {
  return /^env:[A-Za-z_]\w*$/u.test(template)
    ? `${template} is not replaced in a template. Name the variable in the "headers" of the toolset, which are sent with every request.`
    : undefined;
}

/** The same where texts such as the tag `env:prod` also stand: names of variables are written in capitals. */
function findCapitalVariableFault(template: string): string | undefined {
  return /^env:[A-Z_][A-Z\d_]*$/u.test(template) ? findVariableFault(template) : undefined;
}

function findVariableInBody(body: JsonValue): string | undefined {
  if (typeof body === "string") return findCapitalVariableFault(body);
  const parts = isJsonArray(body) ? body : isJsonObject(body) ? Object.values(body) : [];
  for (const part of parts) {
    const fault = findVariableInBody(part);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function findFault(make: () => unknown): string | undefined {
  try {
    make();
    return undefined;
  } catch (thrown: unknown) {
    return formatForOperator(thrown);
  }
}

/** Undefined if it throws; the caller reports why. */
function tryMake<Value>(make: () => Value): Value | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}
