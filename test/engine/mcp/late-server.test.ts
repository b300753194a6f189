/** Servers that do not open in time. */
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { mcpEngine } from "../../../src/engine/mcp.ts";
import { ToolError } from "../../../src/core/error.ts";
import { MemoryLog } from "../../../src/testing/fake-ports.ts";
import { engineContext } from "../engine-contexts.ts";

/** Prints what is no message, refuses the version probe, and tells the test when it is asked the next thing, which it does not answer. */
const CHATTY = `
const { connect } = require("node:net");
let asked = 0;
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id } = JSON.parse(line);
  if (++asked > 1) return connect(Number(process.argv[1])).on("error", () => {});
  console.log("Server started on 3000");
  console.log(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "unknown" } }));
});
`;

test.each([
  ["has timed out", new ToolError("timeout", "it did not open within 500 ms."), 1],
  ["is closed by its program", new ToolError("cancelled", "The runtime is closed."), 0],
])("a server whose opening %s: what it printed is logged if the error cannot have it", async (_, reason, logged) => {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  onTestFinished(() => void listener.close());
  const { port } = listener.address() as AddressInfo;
  const engine = mcpEngine({ command: process.execPath, args: ["-e", CHATTY, String(port)] });
  onTestFinished(() => engine.close?.());
  const log = new MemoryLog();
  const controller = new AbortController();
  const opening = engine.open?.(engineContext({ toolset: "web", log, signal: controller.signal }));
  const failed = expect(opening).rejects.toMatchObject({ details: ["Server started on 3000"] });
  const [socket] = await once(listener, "connection");
  socket.destroy();
  controller.abort(reason);
  await failed;
  const lines = log.lines.filter(({ level }) => level === "warn").map(({ message }) => message);
  const expected =
    'MCP server "web" did not open in time. The last lines that it printed: Server started on 3000. ' +
    "A server writes messages to its standard output, and everything else to its standard error.";
  expect(lines).toEqual(logged === 1 ? [expected] : []);
});
