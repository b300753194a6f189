/** A configuration with `[findTools]`: what models and clients are shown. */
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, test } from "vitest";
import { calling, chatProject } from "./chat-project.ts";
import { PATIENCE_MS, PROGRAM, folderWith } from "./run-haft.ts";
import { testInCI } from "../test-in-ci.ts";

const TOML = `
[findTools]
pinned = ["shop::look"]
limit = 1

[loop]
earlyDispatch = false
`;

function toolsOf(body: Readonly<Record<string, unknown>> | undefined): readonly string[] {
  return ((body?.["tools"] ?? []) as readonly { readonly function: { readonly name: string } }[]).map((tool) => tool.function.name);
}

describe("haft chat with [findTools]", () => {
  test("shows the model the pinned tools, and found tools from then on", async () => {
    const shop = await chatProject({
      script: [{ calls: [{ name: "catalog__find_tools", input: { query: "order" } }] }, calling("shop__order"), { text: "Ordered." }],
      toml: TOML,
    });
    const { exitCode, stdout } = await shop.haft(["chat", "--no-background", "--yes"], { input: "Order it.\n" });
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining("Ordered.")]);
    const fixed = ["catalog__find_tools", "haft__read_result", "shop__look"];
    expect(shop.server.requests.map(({ body }) => toolsOf(body))).toEqual([fixed, [...fixed, "shop__order"], [...fixed, "shop__order"]]);
  });

  test.each([
    ["pinned = [3]", /findTools\.pinned/u],
    ['pinned = [""]', /findTools\.pinned/u],
    ["limit = 0", /findTools\.limit/u],
    ["limits = 1", /findTools\.limits: unknown key\. Did you mean "limit"\?/u],
  ])("%s is refused with its place", async (line, problem) => {
    const shop = await chatProject({ script: [], toml: `[findTools]\n${line}\n` });
    const { exitCode, stderr } = await shop.haft(["check"]);
    expect([exitCode, stderr]).toEqual([3, expect.stringMatching(problem)]);
  });
});

testInCI(
  "haft mcp with [findTools] lists the pinned tools, find_tools and call_tool, and calls other tools through call_tool",
  async () => {
    const folder = folderWith({
      "haft.toml": '[findTools]\npinned = ["files::list"]\n[toolsets.files]\ntype = "files"\nroot = "."\n',
      "a.txt": "hello\n",
    });
    const client = new Client({ name: "test", version: "1" }, {});
    const args = ["--conditions=haft-source", PROGRAM, "mcp", "--config", "haft.toml"];
    const env = { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? "" };
    await client.connect(new StdioClientTransport({ command: process.execPath, args, cwd: folder, env, stderr: "ignore" }));
    try {
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(["catalog__call_tool", "catalog__find_tools", "files__list", "haft__read_result"]);
      const answer = await client.callTool({ name: "catalog__call_tool", arguments: { name: "files__read", input: { path: "a.txt" } } });
      expect(JSON.stringify(answer.content)).toContain("hello");
    } finally {
      await client.close();
    }
  },
  PATIENCE_MS,
);
