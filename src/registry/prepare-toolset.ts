/** Makes the registry's entry of one toolset, whole, before anybody sees it. */
import { ToolError } from "../core/error.ts";
import type { CallSettings, Tool } from "../core/tool.ts";
import type { Toolset } from "../core/toolset.ts";
import type { Permission } from "../policy/permission.ts";
import { keyTemplateFault } from "./check-key-templates.ts";
import { isPlainObject } from "./check-tool-fields.ts";
import { checkBroughtTool, checkList, checkTool, checkToolset } from "./check-registration.ts";
import type { RegisteredTool } from "./registered-tool.ts";
import { ToolsetEntry, type ToolFamily } from "./toolset-entry.ts";

/** A toolset and the tools that are registered for it. */
export interface ToolsetParts {
  readonly toolset: Toolset;
  /** The tools that the program or its files declare: a fault in one refuses all. @default the toolset's */
  readonly tools?: readonly Tool[];
  /** The tools of its engine, which are third-party: one that is unusable, or whose name is taken, is left out with a warning. */
  readonly brought?: readonly Tool[];
  /** Why a tool may not be called although it is there; undefined when it may. */
  readonly block?: (tool: Tool) => ToolError | undefined;
}

export interface PrepareOptions {
  /** The entry of this name so far: what is the same is taken over, with its circuit and limits. */
  readonly before: ToolsetEntry | undefined;
  readonly settings: Required<CallSettings>;
  readonly permission: Permission | undefined;
  readonly overloads: boolean;
  readonly warn: (message: string) => void;
}

/** Unqualified names, each list sorted. */
export interface ToolsetChange {
  readonly toolset: string;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

/** @throws ToolError `duplicate` for the name of a declared tool in use, `invalid_argument` for what is incomplete */
export function prepareToolset(parts: ToolsetParts, options: PrepareOptions): ToolsetEntry {
  checkToolset(parts?.toolset); // a program without types may give anything
  const { toolset, tools = toolset.tools ?? [], brought = [], block } = parts;
  checkList(tools, `The tools of the toolset ${JSON.stringify(toolset.name)} are an array.`);
  const entry = new ToolsetEntry(toolset, options);
  const overload = toolset.overloads ?? options.overloads;
  for (const registered of options.before?.registeredByHand ?? []) entry.addByHand(registered);
  for (const each of tools) {
    const tool = checkTool(each);
    addTool(entry, tool, { overload, blocked: block?.(tool), before: options.before, isBrought: false });
  }
  for (const each of brought) {
    try {
      const tool = checkBroughtTool(each);
      addTool(entry, tool, { overload, blocked: block?.(tool), before: options.before, isBrought: true });
      const fault = keyTemplateFault(tool.name, tool.effects, tool.inputSchema);
      if (fault !== undefined) options.warn(`${[fault.message, fault.hint].join(" ").trim()} Its calls count as undeclared.`);
    } catch (error: unknown) {
      options.warn(
        `A tool that the engine of ${JSON.stringify(toolset.name)} brought is left out: ${ToolError.fromUnknown(error).message}`,
      );
    }
  }
  return entry;
}

interface AddOptions {
  readonly overload: boolean;
  readonly blocked: ToolError | undefined;
  readonly before: ToolsetEntry | undefined;
  readonly isBrought: boolean;
}

function addTool(entry: ToolsetEntry, tool: Tool, { overload, blocked, before, isBrought }: AddOptions): void {
  const registered = takeOver(entry, tool, blocked, before) ?? entry.makeTool(tool, blocked, isBrought);
  refuseDuplicate(registered, entry.families.get(tool.name), overload);
  entry.add(registered);
}

/** The tool as it was registered before, when nothing about it is different. */
function takeOver(entry: ToolsetEntry, tool: Tool, blocked: ToolError | undefined, before: ToolsetEntry | undefined) {
  if (before === undefined || blocked !== undefined || !before.hasSameSettings(entry)) return undefined;
  if (before.toolset.checkFormats !== entry.toolset.checkFormats) return undefined;
  const earlier = before.families.get(tool.name)?.tools ?? [];
  return earlier.find((registered) => registered.blocked === undefined && isSame(registered.tool, tool, 0));
}

export function refuseDuplicate(registered: RegisteredTool, family: ToolFamily | undefined, overload: boolean): void {
  if (family === undefined) return;
  const name = JSON.stringify(registered.qualifiedName);
  if (!overload) {
    throw new ToolError("duplicate", `Tool ${name} is already registered. Unregister it first, or give this one another name.`);
  }
  const fingerprint = fingerprintOf(registered);
  if (fingerprint !== undefined && family.tools.some((other) => fingerprintOf(other) === fingerprint)) {
    throw new ToolError(
      "duplicate",
      `Tool ${name} is already registered. Unregister it first: an overload needs another input schema, and this one is identical.`,
    );
  }
}

/** Undefined for a schema that cannot be hashed: its tool is quarantined, and equal to no other. */
export function fingerprintOf(registered: RegisteredTool): string | undefined {
  try {
    return registered.fingerprint;
  } catch {
    return undefined;
  }
}

/** Compares two entries of one name; undefined when nothing differs. */
export function compareToolsets(before: ToolsetEntry | undefined, after: ToolsetEntry | undefined): ToolsetChange | undefined {
  const toolset = (after ?? before)?.toolset.name ?? "";
  const old = before?.families ?? new Map<string, ToolFamily>();
  const young = after?.families ?? new Map<string, ToolFamily>();
  const added = [...young.keys()].filter((name) => !old.has(name)).sort();
  const removed = [...old.keys()].filter((name) => !young.has(name)).sort();
  const changed = [...young].filter(([name, family]) => isChanged(old.get(name), family)).map(([name]) => name);
  if (added.length + removed.length + changed.length === 0) return undefined;
  return { toolset, added, removed, changed: changed.sort() };
}

function isChanged(before: ToolFamily | undefined, after: ToolFamily): boolean {
  if (before === undefined) return false;
  return before.tools.length !== after.tools.length || after.tools.some((registered, index) => registered !== before.tools[index]);
}

/** Deeper definitions are taken for different ones. */
const MAX_DEPTH = 128;

/** True when every field is the same value, or the same JSON. Functions must be the same function. */
function isSame(one: unknown, other: unknown, depth: number): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null || depth > MAX_DEPTH) return false;
  if (Array.isArray(one) !== Array.isArray(other) || !isPlain(one) || !isPlain(other)) return false;
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every((key) => Object.hasOwn(other, key) && isSame(Reflect.get(one, key), Reflect.get(other, key), depth + 1));
}

/** A class instance may hold anything. */
function isPlain(value: object): boolean {
  return Array.isArray(value) || isPlainObject(value);
}
