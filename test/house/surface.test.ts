import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as config from "../../src/config/config.ts";
import * as mcp from "../../src/engine/mcp.ts";
import * as rest from "../../src/engine/rest.ts";
import * as search from "../../src/engine/search.ts";
import * as generate from "../../src/generate/generate.ts";
import * as haft from "../../src/index.ts";
import * as testing from "../../src/testing/index.ts";
import * as sqlite from "../../src/store/sqlite-store.ts";
import * as mcpServer from "../../src/server/mcp.ts";
import * as files from "../../src/toolsets/files.ts";
import { readTree } from "./source-tree.ts";

/** The public names. A line is added here on purpose, with its line in CHANGELOG.md; removing one breaks a user. */
const HAFT_VALUES = [
  "ERROR_CODES",
  "Job",
  "Registry",
  "Runtime",
  "ToolError",
  "ToolExecutionError",
  "ToolOutput",
  "ValidationResult",
  "createRuntime",
  "defineTool",
  "external",
  "importRecording",
  "importSchema",
  "memoryStore",
  "parseRecording",
  "perSession",
  "pure",
  "qualifiedName",
  "readOnly",
  "readRecording",
  "replayEngine",
  "resultText",
  "splitName",
  "storedEvents",
  "supersedesAt",
  "supersedesSameInput",
  "toAnthropicMessages",
  "toGeminiContents",
  "toOpenAiMessages",
  "toolDefinition",
  "toolFromJson",
  "toolFunction",
  "toolToJson",
  "toolsetsOfRecording",
  "validateInput",
  "validateOutput",
  "withSuccessShape",
  "writeRecording",
];

const HAFT_TYPES = [
  "Actor",
  "Answer",
  "AnthropicConversation",
  "ApprovalAnswer",
  "ApprovalRequest",
  "ApprovalSettings",
  "Approver",
  "Ask",
  "AskRequest",
  "BranchPoint",
  "CacheOptions",
  "CacheRecord",
  "CacheScope",
  "CacheSettings",
  "CacheStore",
  "CallSettings",
  "CircuitSettings",
  "Clock",
  "ContentPart",
  "DefinedTool",
  "Effects",
  "Engine",
  "EngineContext",
  "EngineRequest",
  "EngineSession",
  "ErrorCode",
  "ErrorCodeInfo",
  "ErrorInfo",
  "EventListener",
  "EventLog",
  "EventPage",
  "ExecuteOptions",
  "ForkOptions",
  "GeminiConversation",
  "GeminiOptions",
  "HandlerResult",
  "HistoryEntry",
  "Hook",
  "HookContext",
  "HookDecision",
  "Ids",
  "ImportOptions",
  "ImportedRecording",
  "ImportedSchema",
  "JobWork",
  "JsonObject",
  "JsonPatch",
  "JsonPatchStep",
  "JsonPrimitive",
  "JsonSchema",
  "JsonValue",
  "ListOptions",
  "Log",
  "LogDamage",
  "LogFields",
  "LogOptions",
  "MessagesOptions",
  "ModelMessage",
  "NameParts",
  "OpenAiConversation",
  "OpenRecording",
  "OpenReport",
  "Origin",
  "Outcome",
  "ParsedInput",
  "PastCall",
  "PermissionRules",
  "Ports",
  "ProgressListener",
  "ProgressUpdate",
  "ProgressingCall",
  "Question",
  "Random",
  "ReadOptions",
  "ReconcileContext",
  "Reconciled",
  "RecordingHeader",
  "RecordingSource",
  "RefreshReport",
  "RegisteredTool",
  "RegistryOptions",
  "Repair",
  "ReplayOptions",
  "ReplayToolsetOptions",
  "ResolvedEffects",
  "ResourceKeys",
  "ResultStatus",
  "ResumeOptions",
  "RetrySettings",
  "RuntimeEvent",
  "RuntimeOptions",
  "RuntimeSession",
  "SchemaSource",
  "SearchQuery",
  "Session",
  "SessionDiff",
  "SessionEvent",
  "SessionMessage",
  "SessionSnapshot",
  "SessionStart",
  "SimulateOptions",
  "Simulation",
  "SourceContext",
  "StateDifference",
  "Store",
  "StoredSession",
  "Supersedes",
  "Tool",
  "ToolAnnotations",
  "ToolCall",
  "ToolCategory",
  "ToolContext",
  "ToolDefinition",
  "ToolErrorOptions",
  "ToolFunction",
  "ToolFunctionOptions",
  "ToolJson",
  "ToolOptions",
  "ToolOutputOptions",
  "ToolPins",
  "ToolResult",
  "ToolSource",
  "ToolState",
  "Toolset",
  "ToolsetChange",
  "ToolsetEvent",
  "ToolsetFailure",
  "Truncation",
  "UndoContext",
];

const TESTING_VALUES = [
  "FakeClock",
  "MemoryLog",
  "countingIds",
  "fakePorts",
  "recordedAnswer",
  "recordedToolsets",
  "seededRandom",
  "settle",
  "storeContract",
];
const TESTING_TYPES = ["FakePorts", "RecordedAnswer", "RecordedFixture", "StoreCase", "StoreSubject"];

test("haft exports these values and no others", () => {
  expect(Object.keys(haft).toSorted()).toEqual(HAFT_VALUES);
});

test("haft exports these types and no others", () => {
  expect(exportedTypes("src/index.ts")).toEqual(HAFT_TYPES);
});

test("haft/testing exports these values and no others", () => {
  expect(Object.keys(testing).toSorted()).toEqual(TESTING_VALUES);
});

test("haft/testing exports these types and no others", () => {
  expect(exportedTypes("src/testing/index.ts")).toEqual(TESTING_TYPES);
});

/** The values of the other entries. */
const ENTRIES: Readonly<Record<string, { readonly module: object; readonly values: readonly string[] }>> = {
  "haft/mcp": { module: mcp, values: ["mcpEngine"] },
  "haft/rest": { module: rest, values: ["restEngine"] },
  "haft/search": { module: search, values: ["searchEngine"] },
  "haft/sqlite": { module: sqlite, values: ["sqliteStore"] },
  "haft/files": { module: files, values: ["filesToolset"] },
  "haft/mcp-server": { module: mcpServer, values: ["listenMcp", "mcpClientOf", "mcpHandler", "serveMcpStdio"] },
  "haft/config": {
    module: config,
    values: [
      "buildRuntimeParts",
      "configuredRuntime",
      "descriptorSource",
      "fileSource",
      "findConfig",
      "loadConfig",
      "lockPath",
      "readLock",
      "toolPins",
    ],
  },
  "haft/generate": {
    module: generate,
    values: [
      "Artifacts",
      "DataflowGraph",
      "Enriched",
      "SamplingError",
      "ToolNeighbors",
      "ToolVectors",
      "chainSampler",
      "dataflow",
      "embeddings",
      "enrich",
      "enrichedSource",
      "fanInSampler",
      "fanOutSampler",
      "neighborSampler",
      "neighbors",
      "outputSchemas",
      "randomSampler",
    ],
  },
};

test.each(Object.keys(ENTRIES))("%s exports its values and no others", (entry) => {
  expect(Object.keys(ENTRIES[entry]?.module ?? {}).toSorted()).toEqual(ENTRIES[entry]?.values);
});

test("package.json offers these entries and no others", () => {
  const entries = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as { exports: object };
  expect(Object.keys(entries.exports)).toEqual([
    ".",
    "./testing",
    "./mcp",
    "./sqlite",
    "./files",
    "./rest",
    "./search",
    "./config",
    "./generate",
    "./mcp-server",
    "./package.json",
  ]);
});

/** Types leave no trace at run time, so they are read from the text: an index holds nothing but lists of re-exports. */
function exportedTypes(path: string): readonly string[] {
  const text = readTree(path).get(path) ?? "";
  const code = text.replaceAll(/\/\*.*?\*\//gsu, "");
  const rest = code.replaceAll(/^export (?:type )?\{[^}*]*\} from "\.\/[^"]+\.ts";$/gmu, "");
  expect(rest.trim(), "an index lists its names by hand").toBe("");
  const lists = [...code.matchAll(/^export (type )?\{([^}]*)\}/gmu)];
  const names = lists.flatMap(([, isType, list = ""]) => list.split(",").flatMap((name) => typeName(name.trim(), isType !== undefined)));
  return names.toSorted();
}

function typeName(name: string, isType: boolean): readonly string[] {
  if (name.startsWith("type ")) return [name.slice("type ".length)];
  return isType && name !== "" ? [name] : [];
}
