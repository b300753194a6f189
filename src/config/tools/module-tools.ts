/** Imports a user's module and finds the tools that it exports. */
import { realpathSync, statSync } from "node:fs";
import { extname, isAbsolute, join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { ToolError, describeThrown } from "../../core/error.ts";
import type { ToolContext } from "../../core/context.ts";
import type { Tool } from "../../core/tool.ts";
import type { Toolset } from "../../core/toolset.ts";
import { systemErrorCode } from "../../core/base/system-error-code.ts";
import { plural } from "../../core/base/wording.ts";

const ENDINGS = [".ts", ".mts", ".js", ".mjs"];

/**
 * Returns the tools of a module: every export, named or default, that is a tool, an array of tools or a toolset.
 *
 * Other exports are ignored, except that a tool which only lacks an `inputSchema` is an error. A module exports either one toolset or tools.
 * Importing runs the module.
 *
 * @param path relative to `folder`, and inside it once links are followed
 * @throws ToolError `invalid_config`, whose message continues "toolsets.NAME.path: …"
 */
export async function moduleTools(path: string, folder: string): Promise<Partial<Toolset>> {
  const { tools, toolsets, names, unfinished } = sortExports(await moduleExports(path, folder));
  if (unfinished !== undefined)
    throw moduleError(
      `the tool ${JSON.stringify(unfinished)} of ${JSON.stringify(path)} has no "inputSchema": make it with defineTool, or give it one.`,
    );
  const toolset = toolsets[0];
  if (toolsets.length > 1 || (toolset !== undefined && tools.length > 0)) {
    throw moduleError(
      `${JSON.stringify(path)} must export one toolset, or tools; it has ${plural(toolsets.length, "toolset")} and ${plural(tools.length, "tool")}.`,
    );
  }
  if (toolset !== undefined) return toolset;
  if (tools.length > 0) return { tools };
  const found = names.length === 0 ? "it exports nothing" : `none of its exports is one: ${names.join(", ")}`;
  throw moduleError(`${JSON.stringify(path)} must export a tool, an array of tools or a toolset; ${found}.`);
}

/**
 * Returns the exports of a module. Importing runs it, once per process.
 *
 * @param path relative to `folder`, and inside it once links are followed
 * @throws ToolError `invalid_config`, whose message continues "key: …"
 */
export async function moduleExports(path: string, folder: string): Promise<object> {
  const file = moduleFile(path, folder);
  try {
    return Object(await import(/* @vite-ignore */ pathToFileURL(file).href));
  } catch (error: unknown) {
    throw moduleError(`importing ${JSON.stringify(path)} failed${findStackPlace(folder, error)}: ${explainImportError(error)}`, error);
  }
}

/** Explains an import error. A Node version that does not run TypeScript only reports an unknown extension. */
function explainImportError(error: unknown): string {
  const message = describeThrown(error);
  if (systemErrorCode(error) !== "ERR_UNKNOWN_FILE_EXTENSION" || !/"\.m?ts"/u.test(message)) return message;
  return "this Node does not run TypeScript. Use Node 22.18 or newer, or a JavaScript file.";
}

/** Returns the first line of a file in this folder that the stack names, as in ` at tools.ts:3`, even for a TypeScript syntax error; else empty. */
function findStackPlace(folder: string, error: unknown): string {
  const stack = error instanceof Error && typeof error.stack === "string" ? error.stack : "";
  const real = realpathSync(folder);
  const starts = [pathToFileURL(join(real, "/")).href, join(real, "/")];
  for (const text of stack.split("\n")) {
    const start = starts.find((one) => text.includes(one));
    if (start === undefined || text.includes("node_modules")) continue;
    const [, place] = /^([^:]+:\d+)(?::\d+)?\)?$/u.exec(text.slice(text.indexOf(start) + start.length)) ?? [];
    if (place !== undefined) return ` at ${start.startsWith("file:") ? decodePart(place) : place}`;
  }
  return "";
}

/** Decodes a part of a URL; returns it unchanged if it is malformed, because a stack may contain anything. */
function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Returns the tools among the exports, including those of toolsets, and the functions by their export names. */
export function findBindings(exports: object): ReadonlyMap<string, Tool | ((input: never, context: ToolContext) => unknown)> {
  const { tools, toolsets } = sortExports(exports);
  const bindings = new Map<string, Tool | ((input: never, context: ToolContext) => unknown)>();
  for (const [name, value] of Object.entries(exports)) if (typeof value === "function") bindings.set(name, value);
  for (const tool of [...tools, ...toolsets.flatMap((toolset) => toolset.tools ?? [])]) bindings.set(tool.name, tool);
  return bindings;
}

function moduleFile(path: string, folder: string): string {
  if (isAbsolute(path) || /^[a-z][a-z0-9+.-]*:/iu.test(path))
    throw moduleError(`must be relative to the configuration file, not ${JSON.stringify(path)}.`);
  const file = resolve(folder, path);
  if (!ENDINGS.includes(extname(file))) throw moduleError(`must end in ${ENDINGS.join(", ")}, and ${JSON.stringify(path)} does not.`);
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) throw moduleError(`there is no file ${file}.`);
  const real = realpathSync(file);
  const inside = relative(realpathSync(folder), real);
  if (inside.startsWith("..") || isAbsolute(inside))
    throw moduleError(`must lie inside the folder of the configuration file, and ${JSON.stringify(path)} does not.`);
  return real;
}

function sortExports(exports: unknown): {
  readonly tools: readonly Tool[];
  readonly toolsets: readonly Partial<Toolset>[];
  readonly names: readonly string[];
  /** The name of an export that lacks only an `inputSchema` to be a tool. */
  readonly unfinished: string | undefined;
} {
  const tools = new Set<Tool>();
  const toolsets = new Set<Partial<Toolset>>();
  let unfinished: string | undefined;
  const entries = Object.entries(Object(exports)).toSorted(([one], [other]) => (one < other ? -1 : 1)); // like a module namespace
  for (const [, value] of entries) {
    for (const item of Array.isArray(value) ? (value as readonly unknown[]) : [value]) {
      if (isTool(item)) tools.add(item);
      else if (isToolset(item)) toolsets.add(item);
      else if (isDescribed(item) && "execute" in item) unfinished ??= item.name;
    }
  }
  return { tools: [...tools], toolsets: [...toolsets], names: entries.map(([name]) => name), unfinished };
}

function isTool(value: unknown): value is Tool {
  return isDescribed(value) && "inputSchema" in value;
}

function isDescribed(value: unknown): value is Pick<Tool, "name" | "description"> {
  return hasProperty(value, "name", "string") && hasProperty(value, "description", "string");
}

function isToolset(value: unknown): value is Partial<Toolset> {
  return hasProperty(value, "name", "string") && (hasProperty(value, "tools", "object") || hasProperty(value, "engine", "object"));
}

function hasProperty(value: unknown, key: string, type: "string" | "object"): boolean {
  return typeof value === "object" && value !== null && typeof Reflect.get(value, key) === type;
}

function moduleError(message: string, cause?: unknown): ToolError {
  return new ToolError("invalid_config", message, { cause });
}
