import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as mcp from "../../src/engine/mcp.ts";
import * as haft from "../../src/index.ts";
import * as testing from "../../src/testing/index.ts";
import * as files from "../../src/toolsets/files.ts";
import { readTree } from "./source-tree.ts";

/** The public names. A line is added here on purpose, with its line in CHANGELOG.md; removing one breaks a user. */
const HAFT_VALUES = [
  "ERROR_CODES",
  "Registry",
  "Runtime",
  "ToolError",
  "ToolExecutionError",
  "ToolOutput",
  "ValidationResult",
  "createRuntime",
  "defineTool",
  "external",
  "importSchema",
  "pure",
  "qualifiedName",
  "readOnly",
  "resultText",
  "splitName",
  "toolDefinition",
  "toolFromJson",
  "toolFunction",
  "toolToJson",
  "validateInput",
  "validateOutput",
  "withSuccessShape",
];

const HAFT_TYPES = [
  "Actor",
  "ApprovalAnswer",
  "ApprovalRequest",
  "ApprovalSettings",
  "Approver",
  "CallSettings",
  "CircuitSettings",
  "Clock",
  "ContentPart",
  "DefinedTool",
  "Effects",
  "Engine",
  "EngineContext",
  "EngineRequest",
  "ErrorCode",
  "ErrorCodeInfo",
  "ErrorInfo",
  "EventListener",
  "ExecuteOptions",
  "HandlerResult",
  "HistoryEntry",
  "Hook",
  "HookContext",
  "HookDecision",
  "Ids",
  "ImportedSchema",
  "JsonObject",
  "JsonPrimitive",
  "JsonSchema",
  "JsonValue",
  "Log",
  "LogFields",
  "NameParts",
  "OpenReport",
  "Origin",
  "Outcome",
  "ParsedInput",
  "PermissionRules",
  "Ports",
  "ProgressUpdate",
  "Random",
  "RegisteredTool",
  "RegistryOptions",
  "Repair",
  "ResolvedEffects",
  "ResourceKeys",
  "ResultStatus",
  "RetrySettings",
  "RuntimeEvent",
  "RuntimeOptions",
  "RuntimeSession",
  "SchemaSource",
  "SearchQuery",
  "Session",
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
  "ToolResult",
  "ToolState",
  "Toolset",
  "ToolsetEvent",
  "Truncation",
  "UndoContext",
];

const TESTING_VALUES = ["FakeClock", "MemoryLog", "countingIds", "fakePorts", "seededRandom", "settle"];
const TESTING_TYPES = ["FakePorts"];

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

test("haft/mcp and haft/files export one factory each", () => {
  expect([Object.keys(mcp), Object.keys(files)]).toEqual([["mcpEngine"], ["filesToolset"]]);
});

test("package.json offers these entries and no others", () => {
  const entries = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as { exports: object };
  expect(Object.keys(entries.exports)).toEqual([".", "./testing", "./mcp", "./files", "./package.json"]);
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
