import { specTypeSchemas } from "@modelcontextprotocol/client";
import { describe, expect, test } from "vitest";
import { external, pure, readOnly, type Effects } from "../../src/core/resources/effects.ts";
import type { Tool } from "../../src/core/tool.ts";
import { Registry } from "../../src/registry/registry.ts";
import type { RegisteredTool } from "../../src/registry/registered-tool.ts";
import { toolDefinition, toolFromJson, toolToJson } from "../../src/registry/tool-definition.ts";

function registered(tool: Partial<Tool>, namespace?: string): RegisteredTool {
  return new Registry().register({ name: "x", description: "Does x.", inputSchema: {}, ...tool }, namespace);
}

describe("from JSON", () => {
  test("F0.2 rejects a value that is not a tool, and a field of the wrong type", () => {
    expect(() => toolFromJson([])).toThrow('an object with a "name"');
    expect(() => toolFromJson({ description: "x" })).toThrow("needs a name");
    expect(() => toolFromJson({ name: "x", parameters: "none" })).toThrow("inputSchema");
    expect(() => toolFromJson({ name: "x", description: 5 })).toThrow("description");
    expect(() => toolFromJson({ name: "x", namespace: 5 })).toThrow("namespace");
    expect(() => toolFromJson({ name: "x", timeoutMs: "5" })).toThrow("timeoutMs");
    expect(() => toolFromJson({ name: "x", effects: { reads: 5 } })).toThrow("effects.reads");
  });

  test("F0.1 F2.7 requires only a name: everything else is empty by default", () => {
    expect(toolFromJson({ name: "x" })).toEqual({ namespace: "default", tool: { name: "x", description: "", inputSchema: {} } });
    const { tool, namespace } = toolFromJson({ name: "get", namespace: "ns" });
    expect(new Registry().register(tool, namespace).qualifiedName).toBe("ns::get");
  });

  test("F0.2 uses the namespace in the JSON, else the one passed, else default", () => {
    expect([
      toolFromJson({ name: "x", namespace: "own" }, "given").namespace,
      toolFromJson({ name: "x" }, "given").namespace,
      toolFromJson({ name: "x" }).namespace,
    ]).toEqual(["own", "given", "default"]);
  });

  test("F1.16 concurrency_safe lets calls run in parallel but does not make the tool a read", () => {
    const effects = (json: object): unknown => toolFromJson({ name: "hammer", ...json }).tool.effects;
    expect([
      effects({ concurrency_safe: true }),
      effects({ concurrency_safe: false }),
      effects({ concurrency_safe: true, effects: { writes: ["anvil"] } }),
      effects({ concurrency_safe: true, effects: { writes: ["anvil"], commutative: false } }),
    ]).toEqual([{ commutative: true }, undefined, { commutative: true, writes: ["anvil"] }, { commutative: false, writes: ["anvil"] }]);
    const { annotations } = toolDefinition(registered(toolFromJson({ name: "hammer", concurrency_safe: true }).tool));
    expect(annotations).toEqual({ readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true });
    expect(() => toolFromJson({ name: "hammer", concurrency_safe: "yes" })).toThrow("concurrency_safe");
  });

  test("A02 does not let a __proto__ key reach a prototype", () => {
    const { tool } = toolFromJson(JSON.parse('{"name":"x","__proto__":{"tags":["evil"]}}'));
    expect([tool.tags, Reflect.get({}, "tags")]).toEqual([undefined, undefined]);
  });
});

describe("to JSON", () => {
  test("F0.2 F2.7 leaves out empty fields and all functions", () => {
    const full = registered({ execute: () => 1, validate: () => [], outputSchema: {}, metadata: {}, tags: [], title: "" }, "ns");
    expect(toolToJson(full)).toEqual({ name: "x", namespace: "ns", description: "Does x.", parameters: {} });
    expect(JSON.parse(JSON.stringify(toolToJson(full)))).toEqual(toolToJson(full));
  });

  test("F0.2 round-trips every field that is data", () => {
    const tool: Tool = {
      name: "x",
      description: "Does x.",
      inputSchema: { type: "object" },
      outputSchema: { type: "string" },
      title: "X",
      tags: ["a"],
      category: "DANGEROUS",
      effects: { reads: [], writes: ["file:/a"], destructive: true, idempotent: true },
      timeoutMs: 5,
      deadlineMs: 6,
      maxAttempts: 1,
      maxResultBytes: 0,
      maxConcurrent: 2,
      oncePerTurn: true,
      endsTurn: false,
      providerExecuted: false,
      unknownKeys: "refuse",
      requires: ["user"],
      documentation: "Long.",
      enabled: false,
      metadata: { a: 1 },
    };
    const json: unknown = JSON.parse(JSON.stringify(toolToJson(registered(tool, "ns"))));
    expect(toolFromJson(json)).toEqual({ tool, namespace: "ns" });
  });

  test("F0.2 makes a tool with computed writes undeclared, never read-only", () => {
    const json = toolToJson(registered({ effects: { reads: ["a"], writes: () => ["b"], destructive: true, undo: async () => {} } }));
    expect(json.effects).toEqual({ destructive: true });
    expect(toolDefinition(registered(toolFromJson(json).tool)).annotations).toMatchObject({ readOnlyHint: false, destructiveHint: true });
  });
});

describe("the definition", () => {
  test("F2.8 has the shape of an MCP tool, under the qualified name", () => {
    const definition = toolDefinition(
      registered(
        {
          title: "X",
          inputSchema: { type: "object" },
          outputSchema: { type: "object" },
          tags: ["a"],
          effects: readOnly("k"),
          execute: () => 1,
        },
        "ns",
      ),
    );
    expect(definition).toEqual({
      name: "ns::x",
      title: "X",
      description: "Does x.",
      inputSchema: { type: "object" },
      outputSchema: { type: "object" },
      annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
      tags: ["a"],
    });
    expect(Object.keys(toolDefinition(registered({})))).toEqual(["name", "description", "inputSchema", "annotations"]);
  });

  test("F2.8 is valid under the official MCP SDK's schema, whatever the input schema leaves out", () => {
    const schemas: readonly Tool["inputSchema"][] = [
      {},
      true,
      false,
      { type: ["object", "null"] },
      { properties: { ore: { type: "string" } }, required: ["ore"] },
      { type: "object", additionalProperties: false },
    ];
    for (const inputSchema of schemas) {
      const definition = toolDefinition(
        registered({ inputSchema, title: "Mine", outputSchema: { type: "object" }, tags: ["ore"] }, "mine"),
      );
      expect(specTypeSchemas.Tool["~standard"].validate(definition)).not.toHaveProperty("issues");
    }
    expect(toolDefinition(registered({ inputSchema: { required: ["ore"] } })).inputSchema).toEqual({ type: "object", required: ["ore"] });
  });

  const cases: readonly (readonly [what: string, effects: Effects | undefined, hints: string])[] = [
    ["nothing declared: MCP's own cautious defaults", undefined, "destructive openWorld"],
    ["an external tool", external, "destructive openWorld"],
    ["a pure tool", pure, "readOnly idempotent"],
    ["reads alone", { reads: ["a"] }, "readOnly idempotent"],
    ["a write that may be repeated", { writes: ["a"], idempotent: true }, "idempotent"],
    ["a write that destroys", { writes: ["a"], destructive: true }, "destructive"],
    ["computed writes", { reads: [], writes: () => [] }, ""],
  ];
  test.each(cases)("F2.8 annotates %s", (_, effects, hints) => {
    const { annotations } = toolDefinition(registered(effects === undefined ? {} : { effects }));
    const set = Object.entries(annotations).filter(([, value]) => value === true);
    expect(set.map(([name]) => name.replace("Hint", "")).join(" ")).toBe(hints);
  });
});
