/** The changes since tools were pinned, toolset by toolset. */
import { isJsonObject } from "../../core/base/json.ts";
import type { Tool } from "../../core/tool.ts";
import { definitionDiff } from "../../trust/definition-diff.ts";
import { comparePinned, compareText, pinTool } from "../../trust/pinned-tool.ts";
import type { LockData, PinnedTool, PinnedToolset, ServerClaim } from "../../trust/pinned-tool.ts";
import { quoted } from "../../core/base/visible-text.ts";
import { readDefinition } from "../../schema/definition-fingerprint.ts";

/** A toolset as it is now. */
export interface SeenToolset {
  readonly name: string;
  /** SHA-256 over where its tools come from. */
  readonly source: string | undefined;
  readonly tools: readonly Tool[];
}

export type DriftState = "new" | "changed" | "removed" | "same";

export interface ToolDrift {
  readonly name: string;
  /** `unreadable`: it cannot be pinned, and stays blocked while its toolset is. */
  readonly state: DriftState | "unreadable";
  /** One line for each difference of one that has changed; what is wrong with one that is unreadable. */
  readonly details: readonly string[];
}

export interface ToolsetDrift {
  readonly toolset: string;
  /** Of the toolset as a whole: `changed` when anything in it is. */
  readonly state: DriftState;
  /** Notes on a changed source or server. */
  readonly notes: readonly string[];
  /** By name. */
  readonly tools: readonly ToolDrift[];
}

export interface LockDrift {
  /** False when the lock says exactly what there is. */
  readonly drifted: boolean;
  /** By name. */
  readonly toolsets: readonly ToolsetDrift[];
}

/** @param removed names of pinned toolsets that are no longer there */
export function lockDrift(lock: LockData, seen: readonly SeenToolset[], removed: readonly string[] = []): LockDrift {
  const toolsets = [
    ...seen.map((toolset) => toolsetDrift(lock.toolsets.get(toolset.name), toolset)),
    ...removed.map((name): ToolsetDrift => ({ toolset: name, state: "removed", notes: [], tools: [] })),
  ].toSorted((one, other) => compareText(one.toolset, other.toolset));
  return { drifted: toolsets.some(({ state }) => state !== "same"), toolsets };
}

/** The lock with these toolsets as they are now and without those that were removed; the others stay as they are. */
export function relock(lock: LockData, seen: readonly SeenToolset[], removed: readonly string[] = []): LockData {
  const toolsets = new Map(lock.toolsets);
  for (const name of removed) toolsets.delete(name);
  for (const toolset of seen) toolsets.set(toolset.name, pinToolset(toolset));
  return { toolsets };
}

/** Tools that cannot be pinned are left out, so that they stay blocked. */
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
  return names.flatMap((name) => familyDrift(name, before.get(name) ?? [], after.get(name) ?? []));
}

/** Compares the tools of one name: several only where a toolset has overloads. */
function familyDrift(name: string, before: readonly PinnedTool[], after: readonly Tool[]): readonly ToolDrift[] {
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

/** The server's name for itself, as its tools carry it. */
function serverOf(tools: readonly Tool[]): ServerClaim | undefined {
  const server = tools[0]?.metadata?.["server"];
  if (!isJsonObject(server)) return undefined;
  const { name, version } = server;
  return typeof name === "string" && typeof version === "string" ? { name, version } : undefined;
}

function serverText(server: ServerClaim | undefined): string {
  return server === undefined ? "one that did not say what it is" : `${quoted(server.name, 100)} ${quoted(server.version, 60)}`;
}
