/** Tools and MCP servers from TOML descriptors: a folder of them, or a single one. */
import { pushAll } from "../../core/collections/push-all.ts";
import { readdirSync, statSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { checkName } from "../../core/call.ts";
import type { Engine } from "../../core/engine.ts";
import { ToolError } from "../../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { copyJson } from "../../core/base/json.ts";
import type { Clock, Log } from "../../core/ports.ts";
import type { SourceContext, ToolSource } from "../../core/source.ts";
import type { Tool } from "../../core/tool.ts";
import type { Toolset } from "../../core/toolset.ts";
import { watchFiles } from "../../documents/watch-files.ts";
import type { ToolMemory } from "../../engine/known-tools.ts";
import { checkTool } from "../../registry/check-registration.ts";
import { systemPorts } from "../../core/system/system-ports.ts";
import { CodeBinder } from "../descriptor/bind-code.ts";
import { readDescriptor } from "../descriptor/read-descriptor.ts";
import type { Descriptor, DescriptorOptions, Ensemble, Invoker, InvokerEntry, LoneInvoker, Server } from "../descriptor/read-descriptor.ts";
import { filePath } from "../file-path.ts";
import type { CommonToolset } from "./file-source.ts";
import { toolFromFile } from "./tool-from-file.ts";
import { createMcpEngine } from "../toolset/mcp.ts";
import { UserLogins } from "../../engine/mcp/login/user-logins.ts";
import type { Environment } from "../variables.ts";

/** Options of `descriptorSource`. */
export interface DescriptorSourceOptions {
  /** The name in reports, and the namespace of tools with a descriptor file of their own. */
  readonly name: string;
  /** A folder, whose `.toml` files are read, or a single file. */
  readonly path: string;
  /** The module with the code of the tools, unless a descriptor names one: relative to the folder of `path`, and inside it. */
  readonly module?: string;
  /** Engine, defaults and limits of the ensembles; an ensemble's own defaults win. */
  readonly toolset?: CommonToolset;
  /** The variables for `env:NAME`. @default process.env */
  readonly environment?: Environment;
  /** Names of variables that are allowed in paths. @default none */
  readonly allowVariables?: readonly string[];
  /** The clock for watching files. @default the system's */
  readonly clock?: Clock;
  readonly memory?: ToolMemory;
  /** Keeps the logins of users to servers that require them. @default new ones, in memory and without pages */
  readonly logins?: UserLogins;
  /** The digests of descriptors that may start programs or send variables; others that would do so are left out. @default all may */
  readonly trusted?: ReadonlySet<string>;
}

const OPTIONS: OptionNames<DescriptorSourceOptions> = {
  name: "string",
  path: "string",
  module: true,
  toolset: true,
  environment: "object",
  allowVariables: "strings",
  clock: "object",
  memory: "object",
  logins: "object",
  trusted: true,
};
const MAX_FILES = 1_000;

/** Returns the descriptors of a folder, or the single file. */
function findDescriptors(path: string): { readonly paths: readonly string[]; readonly folder: string; readonly leftOut: number } {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return { paths: [path], folder: dirname(path), leftOut: 0 };
  const names = readdirSync(path)
    .filter((name) => extname(name) === ".toml")
    .sort();
  const paths = names.slice(0, MAX_FILES).map((name) => join(path, name));
  return { paths, folder: path, leftOut: names.length - paths.length };
}

function needsTrust({ starts, sends, widens }: Descriptor): boolean {
  return starts.length + sends.length + widens.length > 0;
}

/**
 * Returns the descriptors that would start programs, send variables or widen rights, including those that other descriptors name. Unreadable
 * descriptors do none of this.
 */
export async function descriptorsToTrust(path: string, options: DescriptorOptions): Promise<readonly Descriptor[]> {
  const read = new Map<string, Descriptor | undefined>();
  const readIfNeedsTrust = async (file: string): Promise<Descriptor | undefined> => {
    if (!read.has(file)) read.set(file, await readDescriptor(file, options).catch(() => undefined));
    return read.get(file);
  };
  for (const file of findDescriptors(path).paths) {
    const descriptor = await readIfNeedsTrust(file);
    for (const source of (descriptor?.ensemble?.invokers ?? []).flatMap((entry) => entry.source ?? [])) {
      await readIfNeedsTrust(join(dirname(file), source));
    }
  }
  return [...read.values()].flatMap((descriptor) => (descriptor !== undefined && needsTrust(descriptor) ? [descriptor] : []));
}

/**
 * Returns a source of the ensembles, tools and MCP servers that TOML descriptors describe. Each part that cannot be used is left out or disabled,
 * with a warning that names its place. A tool whose descriptor is missing is listed, but cannot be called.
 */
export function descriptorSource(options: DescriptorSourceOptions): ToolSource {
  checkKnownKeys(options, OPTIONS, "descriptorSource()");
  const loader = new DescriptorLoader(options);
  return {
    name: options.name,
    load: (context) => loader.load(context),
    watch: (changed) => watchFiles(() => loader.files, changed, { clock: options.clock ?? systemPorts.clock }),
  };
}

class DescriptorLoader {
  readonly #options: DescriptorSourceOptions;
  readonly #reading: DescriptorOptions;
  readonly #binder = new CodeBinder();
  /** The engine of each server, kept while the server stays the same. */
  readonly #engines = new Map<string, { readonly identity: string; readonly engine: Engine }>();
  #files: Set<string>;

  constructor(options: DescriptorSourceOptions) {
    this.#options = options;
    this.#reading = { environment: options.environment ?? process.env, allowedInPaths: new Set(options.allowVariables) };
    this.#files = new Set([options.path]);
  }

  /** The files that were last read or looked for. */
  get files(): readonly string[] {
    return [...this.#files];
  }

  async load({ log, signal }: SourceContext): Promise<readonly Toolset[]> {
    this.#files = new Set([this.#options.path]);
    const { paths, folder, leftOut } = findDescriptors(this.#options.path);
    if (leftOut > 0) log.warn(`Of the ${paths.length + leftOut} descriptors in ${folder}, only the first ${MAX_FILES} are read.`);
    const toolsets: Toolset[] = [];
    const failures: ToolError[] = [];
    for (const path of paths) {
      signal.throwIfAborted();
      try {
        pushAll(toolsets, await this.#loadFile(path, folder, log));
      } catch (thrown: unknown) {
        const error = ToolError.fromUnknown(thrown);
        failures.push(error);
        log.warn(`A descriptor is left out: ${error.message}`);
      }
    }
    const [first] = failures;
    if (toolsets.length === 0 && first !== undefined) throw first;
    return toolsets;
  }

  /** @throws ToolError `permission_denied` for a descriptor that needs trust and has changed since it was trusted */
  async #read(path: string): Promise<Descriptor> {
    const descriptor = await readDescriptor(path, this.#reading);
    const { trusted } = this.#options;
    if (trusted === undefined || !needsTrust(descriptor) || trusted.has(descriptor.digest)) return descriptor;
    throw new ToolError("permission_denied", `${path} has changed since it was trusted.`, {
      details: [...descriptor.starts, ...descriptor.sends, ...descriptor.widens],
      operatorHint: "Read it; then run haft trust.",
    });
  }

  async #loadFile(path: string, folder: string, log: Log): Promise<readonly Toolset[]> {
    this.#files.add(path);
    const descriptor = await this.#read(path);
    const toolsets = descriptor.servers.flatMap((server) => this.#serverToolset(server, descriptor, folder));
    if (descriptor.ensemble !== undefined) pushAll(toolsets, await this.#ensembleToolset(descriptor.ensemble, descriptor, { folder, log }));
    if (descriptor.invoker !== undefined) pushAll(toolsets, await this.#invokerToolset(descriptor.invoker, descriptor, folder));
    if (toolsets.length === 0) descriptor.problems.throwIfAny();
    for (const line of descriptor.problems.formatLines()) log.warn(line);
    return toolsets;
  }

  #serverToolset({ name, enabled, server }: Server, { problems }: Descriptor, folder: string): readonly Toolset[] {
    if (!enabled || server === undefined) return [];
    try {
      checkName(name, "toolset");
      return [{ ...withoutEngine(this.#options.toolset), name, engine: this.#engineOf(name, server, folder) }];
    } catch (thrown: unknown) {
      problems.add(["mcp", name], ToolError.fromUnknown(thrown).message);
      return [];
    }
  }

  #engineOf(name: string, server: Server["server"] & object, folder: string): Engine {
    const identity = canonicalJson(copyJson(server).value);
    const before = this.#engines.get(name);
    if (before?.identity === identity) return before.engine;
    const engine = createMcpEngine(server, { folder, memory: this.#options.memory, logins: this.#options.logins ?? new UserLogins() });
    this.#engines.set(name, { identity, engine });
    return engine;
  }

  async #ensembleToolset(
    ensemble: Ensemble,
    descriptor: Descriptor,
    at: { readonly folder: string; readonly log: Log },
  ): Promise<readonly Toolset[]> {
    const { name, enabled, description, defaults, isValid } = ensemble;
    if (!enabled || !isValid || name === undefined) return []; // an unknown key or a missing name cannot be interpreted
    const fault = findNameFault(name);
    if (fault !== undefined) {
      descriptor.problems.add(["ensemble", "name"], fault);
      return [];
    }
    const tools: Tool[] = [];
    const module = ensemble.module ?? this.#options.module;
    for (const entry of ensemble.invokers) {
      const tool = entry.enabled && entry.isValid ? await this.#entryTool(entry, descriptor, { ...at, module }) : undefined;
      if (tool !== undefined) tools.push(tool);
    }
    const common = { ...this.#options.toolset, defaults: { ...this.#options.toolset?.defaults, ...defaults } };
    return [
      { ...common, name, ...(description === undefined ? {} : { description }), tools: this.#removeDuplicates(tools, descriptor, at.log) },
    ];
  }

  /** The tool that a file describes besides an ensemble and servers. */
  async #invokerToolset(invoker: LoneInvoker, { file, problems }: Descriptor, folder: string): Promise<readonly Toolset[]> {
    if (!invoker.enabled || !invoker.isValid) return [];
    try {
      const tool = await this.#tool(invoker, { file, module: this.#options.module, folder });
      return [{ ...this.#options.toolset, name: this.#options.name, tools: [tool] }];
    } catch (thrown: unknown) {
      problems.add(["invoker"], ToolError.fromUnknown(thrown).message.replace(`${file}: `, ""));
      return [];
    }
  }

  /** Undefined for a tool that is left out. */
  async #entryTool(
    entry: InvokerEntry,
    descriptor: Descriptor,
    at: { readonly folder: string; readonly log: Log; readonly module: string | undefined },
  ): Promise<Tool | undefined> {
    const { source, inline, path } = entry;
    try {
      if (inline !== undefined) return await this.#tool(inline, { ...at, file: descriptor.file });
      const file = filePath(source ?? "", dirname(descriptor.file));
      this.#files.add(file);
      const { invoker, problems } = await this.#read(file);
      problems.throwIfAny();
      if (invoker === undefined) throw new ToolError("invalid_config", `${file} describes no tool: it has no [invoker].`);
      return invoker.enabled ? await this.#tool(invoker, { ...at, file }) : undefined;
    } catch (thrown: unknown) {
      const { message } = ToolError.fromUnknown(thrown);
      const disabledTool = source === undefined ? undefined : missingTool(source, message);
      const what = disabledTool === undefined ? "A tool is left out" : `The tool ${JSON.stringify(disabledTool.name)} is disabled`;
      at.log.warn(`${what}: ${descriptor.problems.formatLine(path, message)}`);
      return disabledTool;
    }
  }

  async #tool(
    invoker: Invoker,
    at: { readonly file: string; readonly module: string | undefined; readonly folder: string },
  ): Promise<Tool> {
    const { tool, unknown } = toolFromFile(invoker.definition);
    const [first] = unknown;
    if (first !== undefined) throw new ToolError("invalid_config", `${at.file}: ${first}`);
    if (this.#options.toolset?.engine !== undefined) return tool;
    const folder = invoker.module === undefined ? at.folder : dirname(at.file);
    return await this.#binder.bind({ tool, file: at.file, module: invoker.module ?? at.module, folder });
  }

  /** Keeps the first of several tools with one name. */
  #removeDuplicates(tools: readonly Tool[], { file }: Descriptor, log: Log): readonly Tool[] {
    const names = new Map<string, Tool>();
    for (const tool of tools) {
      if (names.has(tool.name)) log.warn(`A tool is left out: ${file} has the tool ${JSON.stringify(tool.name)} more than once.`);
      else names.set(tool.name, tool);
    }
    return [...names.values()];
  }
}

/** Returns a tool for a descriptor that could not be read: it has the tool's name, and its calls end with the reason. */
function missingTool(source: string, reason: string): Tool | undefined {
  const tool: Tool = {
    name: basename(source, ".toml"),
    description: `Described in ${source}, which cannot be used.`,
    inputSchema: {},
    unusable: reason,
  };
  try {
    checkTool(tool);
    return tool;
  } catch {
    return undefined;
  }
}

/** Why a toolset cannot have this name; undefined if it can. */
function findNameFault(name: string): string | undefined {
  try {
    checkName(name, "toolset");
    return undefined;
  } catch (thrown: unknown) {
    return ToolError.fromUnknown(thrown).message;
  }
}

function withoutEngine(toolset: CommonToolset = {}): CommonToolset {
  const { engine: _engine, ...rest } = toolset;
  return rest;
}
