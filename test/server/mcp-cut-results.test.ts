/** Results that are too large for a model: what their note says to clients that can and cannot read the rest, and through two servers. */
import { expect, test } from "vitest";
import type { JsonObject } from "../../src/core/base/json.ts";
import { pure } from "../../src/core/resources/effects.ts";
import type { Tool } from "../../src/core/tool.ts";
import { mcpToolset } from "../../src/engine/mcp.ts";
import { ERAS, listening, openRuntime, overHttp, type Era } from "./mcp-clients.ts";
import { TASKS, raw } from "./mcp-raw.ts";
import { rawSession } from "./mcp-raw-session.ts";

const WHOLE = "line\n".repeat(40_000);
const large: Tool = {
  name: "large",
  description: "Says much.",
  effects: pure,
  inputSchema: { type: "object" },
  execute: async () => WHOLE,
};
const rows: Tool = { ...large, name: "rows", execute: async () => ({ rows: WHOLE.split("\n") }) };
const CAN_READ = /bytes left out\. Read the rest with haft__read_result/u;
const CANNOT_READ = /bytes left out\. ask for less at a time\]/u;

async function callOf(url: string, name: string, era: Era): Promise<string> {
  const client = await overHttp(url, { era });
  return JSON.stringify((await client.callTool({ name, arguments: {} })).content);
}

test.each(["large", "rows"])(
  "the note of %s names the tool for the rest only to a client that has it, and the session of the call",
  async (name) => {
    const { runtime } = await openRuntime({ toolsets: [{ name: "files", tools: [large, rows] }] });
    const { url } = await listening(runtime);
    expect(await callOf(url, `files__${name}`, "legacy")).toMatch(CAN_READ);
    expect(await callOf(url, `files__${name}`, "modern")).toMatch(CANNOT_READ);
    const { result } = await raw(url, "tools/call", { name: `files__${name}`, arguments: {} }, { capabilities: TASKS });
    expect(JSON.stringify(result)).toMatch(CANNOT_READ);
    const { url: narrow } = await listening(runtime, { toolsets: ["files"] });
    expect(await callOf(narrow, `files__${name}`, "legacy")).toMatch(CANNOT_READ);
  },
);

test("the note of a task of 2025-11-25 names no tool for the rest, as the call has a session of its own", async () => {
  const { runtime } = await openRuntime({ tools: [large] });
  const { url } = await listening(runtime, { tasks: { pollIntervalMs: 100 } });
  const session = await rawSession(url, "2025-11-25");
  const ask = async (id: number, method: string, params: JsonObject): Promise<string> =>
    JSON.stringify(await session.messages(session.post({ jsonrpc: "2.0", id, method, params })));
  const taskId = /"taskId":"([^"]+)"/u.exec(await ask(1, "tools/call", { name: "large", arguments: {}, task: {} }))?.[1] ?? "";
  expect(await ask(2, "tasks/result", { taskId })).toMatch(CANNOT_READ);
});

test.each(ERAS)("a server in front of two servers passes on how much the first has left out, %s", async (era) => {
  const { runtime: last } = await openRuntime({ tools: [large, rows] });
  const { url } = await listening(last);
  const { runtime: middle } = await openRuntime({ toolsets: [mcpToolset("b", { url, protocol: era, trustAnnotations: true })] });
  const { url: middleUrl } = await listening(middle);
  const { runtime: first } = await openRuntime({
    toolsets: [mcpToolset("m", { url: middleUrl, protocol: era, trustAnnotations: true })],
  });
  for (const [name, total] of [
    ["large", WHOLE.length],
    ["rows", JSON.stringify({ rows: WHOLE.split("\n") }).length],
  ] as const) {
    const { content } = await first.execute({ name: `m::b__${name}`, input: {} });
    const notes = JSON.stringify(content).match(/\d+ of \d+ bytes left out/gu);
    expect(notes).toEqual([expect.stringMatching(new RegExp(`^\\d{6} of ${total} bytes`, "u"))]);
  }
});
