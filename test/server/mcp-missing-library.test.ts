import { expect, test, vi } from "vitest";
import { listenMcp } from "../../src/server/mcp.ts";
import { openRuntime } from "./mcp-clients.ts";

test("without the official library no port is opened, and it is named", async () => {
  vi.doMock("@modelcontextprotocol/server", () => {
    throw new Error("Cannot find package");
  });
  const { runtime } = await openRuntime({});
  await expect(listenMcp(runtime, { port: 0 })).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("@modelcontextprotocol/server is not installed"),
    operatorHint: "Run npm install @modelcontextprotocol/server.",
  });
});
