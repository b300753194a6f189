/** Servers that read nothing until the client has taken their silence for that of an older server. */
import { describe, expect, onTestFinished } from "vitest";
import { mcpEngine, type McpCommandOptions } from "../../../src/engine/mcp.ts";
import { engineContext } from "../engine-contexts.ts";
import { testInCI } from "../../test-in-ci.ts";

/**
 * A server that reads its input once it holds `lines` messages, as one does that is slow to load. It is of the newer era as soon as it
 * has read the version probe, as servers on the official Python library 2.3 are; `refuses` says when it answers the older greeting.
 */
const SLOW = `
const [lines, refuses, readsAfterMs] = process.argv.slice(1);
const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
const refusal = { code: -32022, message: "connection is serving the 2026-07-28 protocol; the initialize handshake is not accepted" };
const found = {
  resultType: "complete", supportedVersions: ["2026-07-28"], capabilities: { tools: {} },
  serverInfo: { name: "slow", version: "1" }, ttlMs: 0, cacheScope: "private",
};
const tools = [{ name: "echo", inputSchema: { type: "object" } }];
const answer = ({ id, method }) => {
  if (method === "server/discover") write({ id, result: found });
  else if (method === "initialize") write({ id, error: refusal });
  else if (method === "tools/list") write({ id, result: { resultType: "complete", tools, ttlMs: 0, cacheScope: "private" } });
};
let waiting = [];
const read = () => require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  if (waiting === undefined) return answer(JSON.parse(line));
  waiting.push(JSON.parse(line));
  if (waiting.length < Number(lines)) return;
  const held = refuses === "first" ? waiting.reverse() : waiting;
  waiting = undefined;
  held.forEach(answer);
});
setTimeout(read, Number(readsAfterMs ?? 0));
`;

async function toolsOf(args: readonly string[], protocol: McpCommandOptions["protocol"] = "auto"): Promise<readonly string[]> {
  const engine = mcpEngine({ command: process.execPath, args: ["-e", SLOW, ...args], protocol });
  onTestFinished(() => engine.close?.());
  const tools = (await engine.open?.(engineContext({ toolset: "slow" }))) ?? [];
  return tools.map(({ name }) => name);
}

describe.concurrent("a server of the newer era that reads the version probe late", () => {
  testInCI("is used with the newer protocol if it rejects initialize after it answered the probe", async () => {
    expect(await toolsOf(["2", "last"])).toEqual(["echo"]);
  });

  testInCI("is used with the newer protocol if it rejects initialize before it answers the probe", async () => {
    expect(await toolsOf(["2", "first"])).toEqual(["echo"]);
  });

  testInCI("is awaited if no other protocol is allowed", async () => {
    expect(await toolsOf(["1", "last", "3500"], "modern")).toEqual(["echo"]); // 3,000 ms is when it would be taken for an older one
  });
});
