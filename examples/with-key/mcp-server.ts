/** An MCP server that npm downloads, used by a provider's model. Needs network access and an API key. */
import { createRuntime } from "haft";
import { mcpToolset } from "haft/mcp";

const files = mcpToolset("files", {
  command: "npx",
  args: ["-y", "@modelcontextprotocol/server-filesystem@2026.8.31", "."],
  openTimeoutMs: 60_000,
});
const runtime = createRuntime({ toolsets: [files] });
const { failed } = await runtime.open();
if (failed.length > 0) console.error(failed);

const loop = runtime.loop({ model: "anthropic/claude-sonnet-5" });
console.log((await loop.run("Which files are in this folder?")).text);
await runtime.close();
