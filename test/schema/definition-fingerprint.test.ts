import { expect, test } from "vitest";
import type { Tool } from "../../src/core/tool.ts";
import { definitionFingerprint, fieldHash, fingerprintOf, readDefinition } from "../../src/schema/definition-fingerprint.ts";

const TOOL: Tool = {
  name: "read",
  title: "Read",
  description: "Reads a file.",
  documentation: "At length.",
  inputSchema: { type: "object", properties: { path: { type: "string" } } },
  outputSchema: { type: "string" },
  effects: { reads: ["file:/"], writes: [], idempotent: true },
  tags: ["files"],
  metadata: { annotations: { readOnlyHint: true }, http: { method: "GET", path: "/files" }, server: { name: "fs", version: "1.0.0" } },
};

const CHANGES: Readonly<Record<string, Tool>> = {
  name: { ...TOOL, name: "reed" },
  title: { ...TOOL, title: "Read a file" },
  description: { ...TOOL, description: "Reads a file. " },
  documentation: { ...TOOL, documentation: "" },
  "input schema": { ...TOOL, inputSchema: { type: "object", properties: { path: { type: "string", title: "" } } } },
  "output schema": { ...TOOL, outputSchema: { type: ["string"] } },
  "the keys that are read": { ...TOOL, effects: { reads: ["file:/a"], writes: [], idempotent: true } },
  "keys that are computed instead": { ...TOOL, effects: { reads: () => ["file:/"], writes: [], idempotent: true } },
  "whether it may be repeated": { ...TOOL, effects: { reads: ["file:/"], writes: [] } },
  "no effects": without("effects"),
  tags: { ...TOOL, tags: ["files", "safe"] },
  annotations: { ...TOOL, metadata: { ...TOOL.metadata, annotations: { readOnlyHint: false } } },
  "the HTTP operation": { ...TOOL, metadata: { ...TOOL.metadata, http: { method: "DELETE", path: "/files" } } },
};

function without(field: keyof Tool): Tool {
  return Object.fromEntries(Object.entries(TOOL).filter(([name]) => name !== field)) as unknown as Tool;
}

test.each(Object.keys(CHANGES))("D02 the fingerprint changes with: %s", (what) => {
  expect(definitionFingerprint(CHANGES[what] ?? TOOL)).not.toBe(definitionFingerprint(TOOL));
});

test("D02 the fingerprint does not depend on key order, the server's version or empty annotations", () => {
  const fingerprint = definitionFingerprint(TOOL);
  const reversed = Object.fromEntries(Object.entries(TOOL).reverse()) as unknown as Tool;
  const newer = { ...TOOL, metadata: { ...TOOL.metadata, server: { name: "fs", version: "2.0.0" } } };
  const bare: Tool = { name: "x", description: "", inputSchema: true };
  expect({
    reversed: definitionFingerprint(reversed) === fingerprint,
    newer: definitionFingerprint(newer) === fingerprint,
    empty: definitionFingerprint({ ...bare, metadata: { annotations: {} } }) === definitionFingerprint(bare),
  }).toEqual({ reversed: true, newer: true, empty: true });
});

test("D02 the fingerprint can be recomputed from the hashes of its fields", () => {
  const { name, fields } = readDefinition(TOOL);
  const hashes = new Map([...fields].map(([field, value]) => [field, fieldHash(value)]));
  expect(fingerprintOf(name, hashes)).toBe(definitionFingerprint(TOOL));
});

test("D02 a definition that is not plain JSON has a fingerprint, and its faults are reported", () => {
  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;
  const throwing = Object.defineProperty({ name: "x", description: "" }, "inputSchema", {
    get: () => {
      throw new Error("no");
    },
  }) as unknown as Tool;
  const tools: readonly Tool[] = [
    { name: "x", description: "", inputSchema: cyclic },
    { name: "x", description: "", inputSchema: JSON.parse('{"properties": {"__proto__": {}}}') },
    { name: "x", description: "", inputSchema: { maximum: 1n } },
    throwing,
  ];
  expect(tools.map((tool) => [definitionFingerprint(tool).length, readDefinition(tool).faults])).toEqual([
    [64, ["inputSchema cannot be read: $.self: is circular: it contains itself"]],
    [64, ["inputSchema has a key that cannot be kept: $.properties.__proto__"]],
    [64, ["inputSchema cannot be read: $.maximum: a bigint is not JSON"]],
    [64, ["inputSchema cannot be read: no"]],
  ]);
});
