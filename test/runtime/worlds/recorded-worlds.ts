/** The recorded worlds that the tests play: databases, tools, and tasks of calls with their results, patches and state hashes. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { applyPatch, type JsonPatch } from "../../../src/core/base/json-patch.ts";
import type { JsonObject, JsonValue } from "../../../src/core/base/json.ts";
import { shareJson } from "../../../src/core/base/share-json.ts";
import { stateHash } from "./state-hash.ts";

const SETS = ["tau-bench", "tau2-bench", "bfcl"] as const;
const folder = process.env["HAFT_CASES"] ?? "../shared/cases";

/** False where the recordings are not there: tests that need them are skipped. */
export const worldsPresent = SETS.every((set) => existsSync(join(folder, set)));
if (!worldsPresent) console.log(`skipped: no recorded worlds in ${folder}`);

export interface RecordedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** No call of it that was recorded changed anything. */
  readonly readsOnly: boolean;
}

export interface RecordedCall {
  readonly toolset: string;
  readonly name: string;
  readonly arguments: JsonObject;
  /** Undefined where the recording says only that there was one. */
  readonly output: JsonValue | undefined;
  /** What the tool failed with. */
  readonly error: string | undefined;
  readonly patch: JsonPatch;
  /** Hashes of the whole state before and after the call. */
  readonly hashes: readonly [string, string] | undefined;
  /** The arguments break the tool's own schema, as the recording says itself. */
  readonly isInvalid: boolean;
}

export interface RecordedTask {
  /** Unique over all worlds. */
  readonly id: string;
  /** The state at the beginning, by toolset; frozen and shared by all tasks that begin with it. */
  readonly start: ReadonlyMap<string, JsonValue>;
  readonly turns: readonly (readonly RecordedCall[])[];
  readonly calls: readonly RecordedCall[];
  /** Undefined where no state was recorded. */
  readonly finalHash: string | undefined;
  /** The state as it was hashed, of its parts by toolset. */
  readonly whole: (parts: ReadonlyMap<string, JsonValue>) => JsonValue;
}

export interface RecordedWorld {
  readonly name: string;
  readonly toolsets: ReadonlyMap<string, readonly RecordedTool[]>;
  readonly tasks: readonly RecordedTask[];
}

interface ToolRow {
  readonly namespace?: string;
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly mutates?: boolean;
}

interface CallRow {
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly result?: JsonValue;
  readonly resultBytes?: number;
  readonly isError?: boolean;
  readonly throws?: string;
  readonly patch?: JsonPatch;
  readonly pre?: string;
  readonly post?: string;
  readonly schemaViolation?: unknown;
}

interface TaskRow {
  readonly id: string;
  readonly initialPatch?: JsonPatch;
  readonly calls: readonly CallRow[];
  readonly finalHash: string;
}

interface ConversationRow {
  readonly id: string;
  readonly namespaces: readonly string[];
  readonly turns: readonly (readonly CallRow[])[];
  readonly initialState?: Readonly<Record<string, JsonValue>>;
  readonly finalHash?: string;
}

/** Every open recording, or those of some sets. */
export function loadWorlds(sets: readonly RecordedSet[] = SETS): readonly RecordedWorld[] {
  return worldsPresent ? sets.flatMap((set) => WORLDS[set]()) : [];
}

export type RecordedSet = (typeof SETS)[number];

const WORLDS: Readonly<Record<RecordedSet, () => readonly RecordedWorld[]>> = {
  "tau-bench": () => ["airline", "retail"].map((domain) => databaseWorld("tau-bench", domain)),
  "tau2-bench": () => ["mock", "retail", "telecom"].map((domain) => databaseWorld("tau2-bench", domain)),
  bfcl: () => [conversationWorld()],
};

/** A domain whose tasks share one database, which all of its tools work on. */
function databaseWorld(set: string, domain: string): RecordedWorld {
  const name = `${set}-${domain}`;
  const rows = readRows(join(set, `${domain}.tasks.jsonl`)) as readonly TaskRow[];
  const database = shareJson(readJson(join(set, `${domain}.db.json`)));
  const tools = readJson(join(set, `${domain}.tools.json`)) as readonly ToolRow[];
  const writers = new Set(rows.flatMap(({ calls }) => calls.flatMap((call) => (call.patch === undefined ? [] : [call.tool]))));
  const tasks = rows.map((row): RecordedTask => {
    const start = row.initialPatch === undefined ? database : shareJson(applyPatch(database, row.initialPatch));
    const calls = row.calls.map((call) => recordedCall(call, name, call.tool, ""));
    return {
      id: `${name}/${row.id}`,
      start: new Map([[name, start]]),
      turns: calls.map((call) => [call]),
      calls,
      finalHash: row.finalHash === "initial" ? stateHash(start) : row.finalHash,
      whole: (parts) => parts.get(name) ?? null,
    };
  });
  return { name, toolsets: new Map([[name, tools.map((tool) => recordedTool(tool, writers.has(tool.name)))]]), tasks };
}

/** Conversations with several systems at once, each with a state of its own. */
function conversationWorld(): RecordedWorld {
  const rows = readRows("bfcl/multi_turn.jsonl") as readonly ConversationRow[];
  const tools = readJson("bfcl/multi_turn_tools.json") as readonly (ToolRow & { readonly namespace: string })[];
  const calls = rows.flatMap((row) => row.turns.flat());
  const writers = new Set(calls.flatMap((call) => (call.patch === undefined ? [] : [call.tool])));
  const byNamespace = Map.groupBy(tools, (tool) => tool.namespace);
  const toolsets = [...byNamespace].map(([namespace, members]) => {
    return [namespace, members.map((tool) => recordedTool(tool, writers.has(`${namespace}.${tool.name}`)))] as const;
  });
  return { name: "bfcl", toolsets: new Map(toolsets), tasks: rows.map(conversation) };
}

function conversation(row: ConversationRow): RecordedTask {
  const { initialState } = row;
  const turns = row.turns.map((turn) => {
    return turn.map((call) => {
      const [namespace = "", name = ""] = call.tool.split(".");
      return recordedCall(call, namespace, name, `/${namespace}`);
    });
  });
  return {
    id: `bfcl/${row.id}`,
    start: new Map(row.namespaces.map((namespace) => [namespace, shareJson(initialState?.[namespace] ?? {})])),
    turns: turns.filter((turn) => turn.length > 0),
    calls: turns.flat(),
    finalHash: row.finalHash,
    whole: (parts) => Object.fromEntries(parts),
  };
}

function recordedTool({ name, description, inputSchema, mutates }: ToolRow, writes: boolean): RecordedTool {
  return { name, description, inputSchema, readsOnly: mutates !== true && !writes };
}

/** @param prefix what the paths of the patch begin with, and the toolset's own state does not */
function recordedCall(row: CallRow, toolset: string, name: string, prefix: string): RecordedCall {
  const { patch = [], pre, post } = row;
  return {
    toolset,
    name,
    arguments: row.arguments,
    output: row.resultBytes === undefined ? row.result : undefined,
    error: row.throws ?? (row.isError === true ? String(row.result) : undefined),
    patch: patch.map((step) => ({ ...step, path: ownPath(step.path, prefix) })),
    hashes: pre === undefined || post === undefined ? undefined : [pre, post],
    isInvalid: row.schemaViolation !== undefined,
  };
}

function ownPath(path: string, prefix: string): string {
  if (path !== prefix && !path.startsWith(`${prefix}/`)) throw new Error(`the step at ${path} changes what is not in ${prefix}`);
  return path.slice(prefix.length);
}

function readJson(name: string): unknown {
  return JSON.parse(readFileSync(join(folder, name), "utf8"));
}

function readRows(name: string): readonly unknown[] {
  const lines = readFileSync(join(folder, name), "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line));
}
