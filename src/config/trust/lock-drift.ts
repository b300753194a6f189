/** The changes since tools were pinned, by toolset. */
import { isJsonObject } from "../../core/base/json.ts";
import type { Tool } from "../../core/tool.ts";
import { definitionDiff } from "../../trust/definition-diff.ts";
import { comparePinned, compareText, pinTool } from "../../trust/pinned-tool.ts";
import type { LockData, PinnedTool, PinnedToolset, ServerClaim } from "../../trust/pinned-tool.ts";
import { quoteExcerpt } from "../../core/base/escape-invisible.ts";
import { readDefinition } from "../../schema/definition-fingerprint.ts";

/** The current state of a toolset. */
export interface SeenToolset {
  readonly name: string;
  /** SHA-256 over the origin of its tools. */
  readonly source: string | undefined;
  readonly tools: readonly Tool[];
}

export type DriftState = "new" | "changed" | "removed" | "same";

export interface ToolDrift {
  readonly name: string;
  /** `unreadable`: the tool cannot be pinned, so it stays blocked while its toolset is pinned. */
  readonly state: DriftState | "unreadable";
  /** One line for each difference of a changed tool, or for each problem of an unreadable one. */
  readonly details: readonly string[];
}

export interface ToolsetDrift {
  readonly toolset: string;
  /** The state of the whole toolset: `changed` if anything in it has changed. */
  readonly state: DriftState;
  /** Notes on a changed source or server. */
  readonly notes: readonly string[];
  /** Sorted by name. */
  readonly tools: readonly ToolDrift[];
}

export interface LockDrift {
  /** False if the lock matches the current state exactly. */
  readonly drifted: boolean;
  /** Sorted by name. */
  readonly toolsets: readonly ToolsetDrift[];
}

/** Compares a lock with the current toolsets. @param removed names of pinned toolsets that no longer exist */
export function compareLock(lock: LockData, seen: readonly SeenToolset[], removed: readonly string[] = []): LockDrift {
  const toolsets = [
    ...seen.map((toolset) => toolsetDrift(lock.toolsets.get(toolset.name), toolset)),
    ...removed.map((name): ToolsetDrift => ({ toolset: name, state: "removed", notes: [], tools: [] })),
  ].toSorted((one, other) => compareText(one.toolset, other.toolset));
  return { drifted: toolsets.some(({ state }) => state !== "same"), toolsets };
}

/** Returns the lock with these toolsets in their current state and without removed ones. Other toolsets are unchanged. */
export function updateLock(lock: LockData, seen: readonly SeenToolset[], removed: readonly string[] = []): LockData {
  const toolsets = new Map(lock.toolsets);
  for (const name of removed) toolsets.delete(name);
  for (const toolset of seen) toolsets.set(toolset.name, pinToolset(toolset));
  return { toolsets };
}

/** Pins a toolset. Tools that cannot be pinned are left out, so that they stay blocked. */
export function pinToolset({ source, tools }: SeenToolset): PinnedToolset {
  const pinned = tools.filter((tool) => readDefinition(tool).faults.length === 0).map(pinTool);
  return { source, server: serverOf(tools), tools: pinned.toSorted(comparePinned) };
}

function toolsetDrift(pinned: PinnedToolset | undefined, seen: SeenToolset): ToolsetDrift {
  const notes = pinned === undefined ? [] : toolsetNotes(pinned, seen);
  const tools = toolDrifts(pinned?.tools ?? [], seen.tools);
  const isSame = notes.length === 0 && tools.every(({ state }) => state === "same" || state === "unreadable");
  return { toolset: seen.name, state: pinned === undefined ? "new" : isSame ? "same" : "changed", notes, tools };
}

function toolsetNotes(pinned: PinnedToolset, { source, tools }: SeenToolset): readonly string[] {
  const notes: string[] = [];
  if (pinned.source !== source) notes.push("its command, arguments or address are not those that were pinned");
  const server = serverOf(tools);
  if (pinned.server?.name !== server?.name || pinned.server?.version !== server?.version)
    notes.push(`the server was ${serverText(pinned.server)}, now ${serverText(server)}`);
  return notes;
}

function toolDrifts(pinned: readonly PinnedTool[], tools: readonly Tool[]): readonly ToolDrift[] {
  const before = Map.groupBy(pinned, (tool) => tool.name);
  const after = Map.groupBy(tools, (tool) => tool.name);
  const names = [...new Set([...before.keys(), ...after.keys()])].toSorted(compareText);
  return names.flatMap((name) => compareOverloads(name, before.get(name) ?? [], after.get(name) ?? []));
}

/** Compares the tools with one name; there are several only if a toolset has overloads. */
function compareOverloads(name: string, before: readonly PinnedTool[], after: readonly Tool[]): readonly ToolDrift[] {
  const left = [...before];
  const drifts: ToolDrift[] = [];
  const unmatched: Tool[] = [];
  for (const tool of after) {
    const { faults } = readDefinition(tool);
    const match = faults.length > 0 ? -1 : left.findIndex((one) => one.fingerprint === pinTool(tool).fingerprint);
    if (faults.length > 0) drifts.push({ name, state: "unreadable", details: faults });
    else if (match < 0) unmatched.push(tool);
    else {
      left.splice(match, 1);
      drifts.push({ name, state: "same", details: [] });
    }
  }
  for (const tool of unmatched) {
    const was = left.shift();
    if (was === undefined) drifts.push({ name, state: "new", details: [] });
    else drifts.push({ name, state: "changed", details: definitionDiff(was, readDefinition(tool)) });
  }
  return [...drifts, ...left.map((): ToolDrift => ({ name, state: "removed", details: [] }))];
}

/** Returns the server's name for itself, from the metadata of its tools. */
function serverOf(tools: readonly Tool[]): ServerClaim | undefined {
  const server = tools[0]?.metadata?.["server"];
  if (!isJsonObject(server)) return undefined;
  const { name, version } = server;
  return typeof name === "string" && typeof version === "string" ? { name, version } : undefined;
}

function serverText(server: ServerClaim | undefined): string {
  return server === undefined
    ? "one that did not identify itself"
    : `${quoteExcerpt(server.name, 100)} ${quoteExcerpt(server.version, 60)}`;
}
