import { expect, test } from "vitest";
import { toolFromFile } from "../../src/config/tools/tool-from-file.ts";
import type { Tool } from "../../src/core/tool.ts";
import type { Toolset } from "../../src/core/toolset.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { Registry } from "../../src/registry/registry.ts";
import { toolFromJson, toolToJson } from "../../src/registry/tool-definition.ts";

const FIELDS = {
  requiresReading: true,
  promptContribution: { text: "Read first.", bucket: "first" },
  providers: { "anthropic-messages": { type: "bash_20250124", name: "bash" } },
} as const satisfies Partial<Tool>;

test.each<[field: string, value: unknown]>([
  ["requiresReading", "yes"],
  ["promptContribution", "Use it."],
  ["promptContribution", { bucket: "first" }],
  ["promptContribution", { text: "Use it.", bucket: 1 }],
  ["promptContribution", { text: "Use it.", buckets: "first" }],
  ["providers", "gemini"],
  ["providers", { gemini: "googleSearch" }],
  ["providers", { gemini: { googleSearch: () => 1 } }],
  ["providers", { gemini: { nothing: Number.NaN } }],
])("F1.6 F1.7 F1.17 %s: %j is rejected when the tool is defined, registered or read from a file", (field, value) => {
  const tool = { name: "a", description: "", inputSchema: {}, [field]: value };
  const misuse = expect.objectContaining({ code: "invalid_argument", message: expect.stringContaining(field) });
  expect(() => defineTool(tool)).toThrow(misuse);
  expect(() => toolFromFile(tool)).toThrow(misuse);
  expect(() => new Registry().register(tool)).toThrow(misuse);
});

test("F1.6 an invalid promptContribution of a toolset is rejected", () => {
  const toolset = { name: "t", tools: [], promptContribution: "Use it." } as unknown as Toolset;
  expect(() => new Registry().addToolset(toolset)).toThrow(/^promptContribution of toolset "t" must be an object/u);
});

test("F1.6 F1.7 F1.17 fields of a tool file are set on the tool and round-trip through JSON", () => {
  const { tool, unknown } = toolFromFile({ name: "bash", description: "Runs.", parameters: { type: "object" }, ...FIELDS });
  expect(unknown).toEqual([]);
  expect(tool).toEqual({ name: "bash", description: "Runs.", inputSchema: { type: "object" }, ...FIELDS });
  const json: unknown = JSON.parse(JSON.stringify(toolToJson(new Registry().register(tool))));
  expect(toolFromJson(json)).toEqual({ tool, namespace: "default" });
});
