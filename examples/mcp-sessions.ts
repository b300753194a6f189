/** One MCP server, first shared by all sessions, then with a separate connection for each. */
import { createRuntime, defineTool, perSession, resultText } from "haft";
import { mcpEngine, mcpToolset } from "haft/mcp";
import { listenMcp } from "haft/mcp-server";

const next = defineTool({
  name: "next",
  description: "Gives the next number.",
  effects: { writes: ["session:number"] },
  execute: (_input, { state }) => {
    state.update("number", (number) => Number(number ?? 0) + 1);
    return state.get("number");
  },
});
const served = createRuntime({ toolsets: [{ name: "numbers", tools: [next] }] });
await served.open();
const listener = await listenMcp(served, { port: 0 }); // the server has one session for each connection

const server = { url: listener.url, protocol: "legacy" } as const; // over HTTP, the newer protocol has no connections that could keep state
const runtime = createRuntime({
  toolsets: [mcpToolset("shared", server), { name: "own", engine: perSession(() => mcpEngine(server)) }],
});
await runtime.open();

const sessions = [runtime.session("ada"), runtime.session("grace")];
for (const toolset of ["shared", "own"]) {
  for (const session of sessions) {
    const result = await session.execute({ name: `${toolset}::numbers__next`, input: {} });
    console.log(`${toolset}, ${session.id}:`, resultText(result));
  }
}

for (const session of sessions) await session.close();
await runtime.close();
await listener.close();
await served.close();

/* Prints:
shared, ada: 1
shared, grace: 2
own, ada: 1
own, grace: 1
*/
