import { describe, expect, test } from "vitest";
import { pure, readOnly } from "../../../src/core/resources/effects.ts";
import type { JsonObject } from "../../../src/core/base/json.ts";
import { mcpEngine, type McpUrlOptions } from "../../../src/engine/mcp.ts";
import { toolContext } from "../engine-contexts.ts";
import { legacy, loopbackMcp, openHttp } from "./loopback-mcp.ts";

const hint = (name: string, annotations: JsonObject): JsonObject => ({
  name,
  description: "",
  inputSchema: { type: "object" },
  annotations,
});
const LISTED = [hint("read_a", { readOnlyHint: true }), hint("read_b", {}), hint("wipe", { destructiveHint: true })];

async function open(choice: Partial<McpUrlOptions>) {
  const { url } = await loopbackMcp({ ...legacy(), "tools/list": () => ({ tools: LISTED }) });
  const { tools, warnings } = await openHttp({ url, ...choice });
  return { effects: Object.fromEntries(tools.map((tool) => [tool.name, tool.effects])), warnings: warnings() };
}

describe("the tools taken from a server", () => {
  test("are those that match include and not exclude, in the order of the server", async () => {
    expect(await open({ include: ["read_*", "wipe"], exclude: ["*_b"] })).toEqual({
      effects: { read_a: undefined, wipe: { destructive: true } },
      warnings: [],
    });
  });

  test("are all without either, and none if include is empty", async () => {
    expect(Object.keys((await open({})).effects)).toEqual(["read_a", "read_b", "wipe"]);
    expect(Object.keys((await open({ include: [] })).effects)).toEqual([]);
  });

  test("have the configured effects of the first matching pattern, else those of their hints", async () => {
    const effects = { read_a: pure, "read_*": readOnly("srv:all") };
    expect((await open({ effects })).effects).toEqual({ read_a: pure, read_b: readOnly("srv:all"), wipe: { destructive: true } });
    expect((await open({ effects: { "*": pure } })).effects["wipe"]).toEqual(pure);
  });

  test("have the names of rename, applied after include, exclude and effects, and are called on the server by their own names", async () => {
    const called: unknown[] = [];
    const { url } = await loopbackMcp({
      ...legacy(),
      "tools/list": () => ({ tools: LISTED }),
      "tools/call": ({ params }) => {
        called.push(params["name"]);
        return { content: [{ type: "text", text: "done" }] };
      },
    });
    const rename = { read_a: "wipe", wipe: "read_a" };
    const { engine, tools } = await openHttp({ url, exclude: ["read_b"], effects: { read_a: pure }, rename });
    expect(tools.map(({ name, effects }) => [name, effects])).toEqual([
      ["wipe", pure],
      ["read_a", { destructive: true }],
    ]);
    for (const tool of tools) await engine.call({ tool, input: {}, parsed: {} }, toolContext());
    expect(called).toEqual(["read_a", "wipe"]);
  });

  test.each([
    [{ rename: { raed_a: "a" } }, 'MCP server "far": rename has "raed_a", which is not one of the included tools. Did you mean "read_a"?'],
    [{ rename: { wipe: "gone" }, exclude: ["wipe"] }, 'MCP server "far": rename has "wipe", which is not one of the included tools.'],
    [{ rename: { read_a: "read_b" } }, 'MCP server "far": rename: "read_a" and "read_b" would both be "read_b".'],
  ])("F0.19 cannot be opened with %j", async (choice, message) => {
    await expect(open(choice)).rejects.toMatchObject({ code: "invalid_config", message });
  });

  test("cause a warning for each pattern that matches no tool", async () => {
    expect((await open({ include: ["*", "gone"], exclude: ["lost_*"], effects: { "x*": pure } })).warnings).toEqual([
      'MCP server "far": include has "gone", which matches no tool.',
      'MCP server "far": exclude has "lost_*", which matches no tool.',
      'MCP server "far": effects has "x*", which matches no tool.',
    ]);
  });

  test.each([
    [{ include: "read_*" }, "include must be an array of names of tools"],
    [{ exclude: [""] }, "exclude must be an array of names of tools"],
    [{ effects: { a: "readOnly" } }, "effects must be an object of effects by tool name"],
    [{ rename: "a" }, "rename must be an object of new names by name"],
    [{ rename: { a: "" } }, 'rename: "a" must be the new name of a tool. A tool needs a name'],
    [{ rename: { a: "c", b: "c" } }, 'rename: "b" gives the name "c", as "a" does.'],
  ])("cannot be configured with %j", (choice, message) => {
    expect(() => mcpEngine({ url: "http://localhost/mcp", ...(choice as object) })).toThrow(message);
  });
});
