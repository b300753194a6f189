import { expect, test, vi } from "vitest";
import { listenMcp } from "../../src/server/mcp.ts";
import { openRuntime } from "./mcp-clients.ts";

test("where the official library cannot be loaded no port is opened, and it is named", async () => {
  vi.doMock("@modelcontextprotocol/server", () => {
    throw new Error("Cannot find package");
  });
  const { runtime } = await openRuntime({});
  await expect(listenMcp(runtime, { port: 0 })).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("The package @modelcontextprotocol/server"),
    operatorHint: expect.stringContaining("npm install @modelcontextprotocol/server"),
  });
});
