import { expect, test, vi } from "vitest";
import { listenMcp } from "../../src/server/mcp.ts";
import { openRuntime } from "./mcp-clients.ts";

test("without the official library no port is opened, and the error names the library", async () => {
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
