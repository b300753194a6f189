import { expect, test, vi } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import { PeerError } from "../../src/engine/mcp/peer.ts";
import { FakePeer } from "./fake-peer.ts";
import { ERAS, listening, openRuntime, overHttp, overStdio } from "./mcp-clients.ts";

test.each(ERAS)("updates of a resource that is behind a template reach the %s client that subscribed to it", async (era) => {
  const one = new FakePeer("one", ["one:a"]);
  const other = new FakePeer("other", ["other:a"]);
  const { runtime } = await openRuntime({ toolsets: [one.toolset(), other.toolset()] });
  const { client } = await overStdio(runtime, { era });
  const heard: unknown[] = [];
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => void heard.push(params.uri));
  if (era === "legacy") await client.subscribeResource({ uri: "other:///7" });
  else await client.listen({ resourceSubscriptions: ["other:///7"] });
  await vi.waitFor(() => expect(other.asked).toEqual([{ subscribe: "other:///7" }]));
  other.tell("notifications/resources/updated", { uri: "other:///7" });
  await vi.waitFor(() => expect(heard).toEqual(["other:///7"]));
  expect(one.asked).toEqual([]);
});

test("a client with a higher log level does not reduce the log of another client (2025-11-25)", async () => {
  const one = new FakePeer("one", ["one:a"]);
  const { runtime } = await openRuntime({ toolsets: [one.toolset()] });
  const { url } = await listening(runtime);
  const [first, second] = [await overHttp(url, { era: "legacy" }), await overHttp(url, { era: "legacy" })];
  await first.setLoggingLevel("debug");
  await second.setLoggingLevel("error");
  expect(one.asked.at(-1)).toEqual({ level: "debug" });
  await first.close();
});

test.each([
  ["an error of its own", new PeerError("execution_failed", "Unknown resource", { rpcCode: 0, rpcMessage: "Unknown resource" })],
  ["that it is gone", new ToolError("network_error", "it is gone")],
])("a server that answers an unlisted URI with %s does not prevent reading it from the server that has it", async (_what, error) => {
  const one = new FakePeer("one", ["one:a"]);
  const other = new FakePeer("other", ["other:a"]);
  vi.spyOn(one, "readResource").mockRejectedValue(error);
  const { runtime } = await openRuntime({ toolsets: [one.toolset(), other.toolset()] });
  const { client } = await overStdio(runtime, { era: "legacy" });
  expect((await client.readResource({ uri: "other:///7" })).contents).toMatchObject([{ text: "from other" }]);
  vi.spyOn(other, "listResourceTemplates").mockResolvedValue({ resourceTemplates: [] });
  expect((await client.readResource({ uri: "other:///8" })).contents).toMatchObject([{ text: "from other" }]);
  await expect(client.readResource({ uri: "nobody:z" })).rejects.toMatchObject({ message: expect.stringContaining(error.message) });
});
