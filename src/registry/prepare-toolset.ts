/** Makes the registry's entry of a toolset completely before it is added. */
import { ToolError } from "../core/error.ts";
import type { CallSettings, Tool } from "../core/tool.ts";
import type { Toolset } from "../core/toolset.ts";
import type { Permission } from "../policy/permission.ts";
import { findKeyTemplateError } from "./check-key-templates.ts";
import { isPlainObject } from "./check-tool-fields.ts";
import { checkListedTool, checkArray, checkTool, checkToolset } from "./check-registration.ts";
import type { RegisteredTool } from "./registered-tool.ts";
import { ToolsetEntry, type ToolFamily } from "./toolset-entry.ts";

/** A toolset and the tools that are registered for it. */
export interface ToolsetParts {
  readonly toolset: Toolset;
  /** Tools that the program or its files declare: an error in one rejects all. @default the toolset's tools */
  readonly tools?: readonly Tool[];
  /** Third-party tools that its engine listed: one that is unusable, or whose name is taken, is left out with a warning. */
  readonly listedTools?: readonly Tool[];
  /** Why a tool must not be called although it exists; undefined if it may be. */
  readonly block?: (tool: Tool) => ToolError | undefined;
}

export interface PrepareOptions {
  /** The previous entry of this name. Unchanged tools are reused, with their circuit and limits. */
  readonly before: ToolsetEntry | undefined;
  readonly settings: Required<CallSettings>;
  readonly permission: Permission | undefined;
  readonly overloads: boolean;
  readonly warn: (message: string) => void;
}

/** The differences of a toolset. Names are unqualified and sorted. */
export interface ToolsetChange {
  readonly toolset: string;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

/** @throws ToolError `duplicate` if the name of a declared tool is in use, `invalid_argument` if something is incomplete */
export function prepareToolset(parts: ToolsetParts, options: PrepareOptions): ToolsetEntry {
  checkToolset(parts?.toolset); // a program without types may pass any value
  const { toolset, tools = toolset.tools ?? [], listedTools = [], block } = parts;
  checkArray(tools, `The tools of the toolset ${JSON.stringify(toolset.name)} must be an array.`);
  const entry = new ToolsetEntry(toolset, options);
  const overload = toolset.overloads ?? options.overloads;
  for (const registered of options.before?.registeredIndividually ?? []) entry.addIndividually(registered);
  for (const each of tools) {
    const tool = checkTool(each);
    addTool(entry, tool, { overload, blocked: block?.(tool), before: options.before, isListedByEngine: false });
  }
  for (const each of listedTools) {
    try {
      const tool = checkListedTool(each);
      addTool(entry, tool, { overload, blocked: block?.(tool), before: options.before, isListedByEngine: true });
      const fault = findKeyTemplateError(tool.name, tool.effects, tool.inputSchema);
      if (fault !== undefined) options.warn(`${[fault.message, fault.hint].join(" ").trim()} Its calls count as undeclared.`);
    } catch (error: unknown) {
      options.warn(`A tool that the engine of ${JSON.stringify(toolset.name)} listed is left out: ${ToolError.fromUnknown(error).message}`);
    }
  }
  return entry;
}

interface AddOptions {
  readonly overload: boolean;
  readonly blocked: ToolError | undefined;
  readonly before: ToolsetEntry | undefined;
  readonly isListedByEngine: boolean;
}

function addTool(entry: ToolsetEntry, tool: Tool, { overload, blocked, before, isListedByEngine }: AddOptions): void {
  const registered = findUnchanged(entry, tool, blocked, before) ?? entry.makeTool(tool, blocked, isListedByEngine);
  if (isDuplicate(registered, entry.families.get(tool.name), overload)) throw namedTwiceError(entry.toolset.name, tool.name, overload);
  entry.add(registered);
}

function namedTwiceError(toolset: string, tool: string, overload: boolean): ToolError {
  const names = `Two tools of the toolset ${JSON.stringify(toolset)} are named ${JSON.stringify(tool)}`;
  return new ToolError(
    "duplicate",
    overload
      ? `${names} and have the same input schema. Give one of them another name, or another input schema.`
      : `${names}. Give one of them another name.`,
  );
}

/** The earlier registration of the tool, if nothing about it has changed. */
function findUnchanged(entry: ToolsetEntry, tool: Tool, blocked: ToolError | undefined, before: ToolsetEntry | undefined) {
  if (before === undefined || blocked !== undefined || !before.hasSameSettings(entry)) return undefined;
  if (before.toolset.checkFormats !== entry.toolset.checkFormats) return undefined;
  const earlier = before.families.get(tool.name)?.tools ?? [];
  return earlier.find((registered) => registered.blocked === undefined && isEqualDefinition(registered.tool, tool, 0));
}

/** Whether the name is in use: by any tool, or, if overloads are allowed, by one with the same input schema. */
function isDuplicate(registered: RegisteredTool, family: ToolFamily | undefined, overload: boolean): boolean {
  if (family === undefined || !overload) return family !== undefined;
  const fingerprint = fingerprintOf(registered);
  return fingerprint !== undefined && family.tools.some((other) => fingerprintOf(other) === fingerprint);
}

/** For a tool that is registered by itself. @throws ToolError `duplicate` */
export function rejectDuplicate(registered: RegisteredTool, family: ToolFamily | undefined, overload: boolean): void {
  if (!isDuplicate(registered, family, overload)) return;
  const name = JSON.stringify(registered.qualifiedName);
  throw new ToolError(
    "duplicate",
    overload
      ? `Tool ${name} is already registered. Unregister it first: an overload needs another input schema, and this one is identical.`
      : `Tool ${name} is already registered. Unregister it first, or give this one another name.`,
  );
}

/** Undefined for a schema that cannot be hashed: its tool is quarantined and equal to no other. */
export function fingerprintOf(registered: RegisteredTool): string | undefined {
  try {
    return registered.fingerprint;
  } catch {
    return undefined;
  }
}

/** Compares two entries of one name; undefined if nothing differs. */
export function compareToolsets(before: ToolsetEntry | undefined, after: ToolsetEntry | undefined): ToolsetChange | undefined {
  const toolset = (after ?? before)?.toolset.name ?? "";
  const oldFamilies = before?.families ?? new Map<string, ToolFamily>();
  const newFamilies = after?.families ?? new Map<string, ToolFamily>();
  const added = [...newFamilies.keys()].filter((name) => !oldFamilies.has(name)).sort();
  const removed = [...oldFamilies.keys()].filter((name) => !newFamilies.has(name)).sort();
  const changed = [...newFamilies].filter(([name, family]) => isChanged(oldFamilies.get(name), family)).map(([name]) => name);
  if (added.length + removed.length + changed.length === 0) return undefined;
  return { toolset, added, removed, changed: changed.sort() };
}

function isChanged(before: ToolFamily | undefined, after: ToolFamily): boolean {
  if (before === undefined) return false;
  return before.tools.length !== after.tools.length || after.tools.some((registered, index) => registered !== before.tools[index]);
}

/** Definitions nested deeper than this are considered different. */
const MAX_DEPTH = 128;

/** Whether every field is the same value or equal JSON. Functions must be identical. */
function isEqualDefinition(one: unknown, other: unknown, depth: number): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null || depth > MAX_DEPTH) return false;
  if (Array.isArray(one) !== Array.isArray(other) || !isPlain(one) || !isPlain(other)) return false;
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every((key) => Object.hasOwn(other, key) && isEqualDefinition(Reflect.get(one, key), Reflect.get(other, key), depth + 1));
}

/** Whether a value can be compared by its fields. An instance of a class may have hidden state. */
function isPlain(value: object): boolean {
  return Array.isArray(value) || isPlainObject(value);
}
