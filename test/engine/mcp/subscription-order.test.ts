/** Subscriptions that begin and end while their server is slow, or has ended. */
import { readFileSync, writeFileSync } from "node:fs";
import { expect, onTestFinished, test, vi } from "vitest";
import { mcpEngine } from "../../../src/engine/mcp.ts";
import { mcpPeerOf, type McpPeer } from "../../../src/engine/mcp/peer.ts";
import type { Engine } from "../../../src/core/engine.ts";
import { FakeClock } from "../../../src/testing/fake-ports.ts";
import { temporaryFile } from "../../store/temporary-file.ts";
import { engineContext, request, toolContext } from "../engine-contexts.ts";
import { rejection } from "../mcp-engine.ts";
import { legacy, loopbackMcp, openHttp, reply } from "./loopback-mcp.ts";

const URI = "memo://1";
const options = { signal: new AbortController().signal };

function peerOf(engine: Engine): McpPeer {
  const peer = mcpPeerOf(engine);
  if (peer === undefined) throw new Error("the engine has no peer");
  return peer;
}

test("a subscription that is cancelled while it is being created is not created again on the next connection", async () => {
  const answers: (() => void)[] = [];
  const { url, asked } = await loopbackMcp({
    ...legacy({ resources: { subscribe: true } }),
    "resources/subscribe": ({ response, id }) => void answers.push(() => reply(response, { id: Number(id), result: {} })),
    "resources/unsubscribe": () => ({}),
    "resources/list": () => ({ resources: [] }),
  });
  const { engine } = await openHttp({ url, protocol: "legacy" });
  const peer = peerOf(engine);
  const made = peer.subscribe({ uri: URI }, options);
  await vi.waitFor(() => expect(answers).toHaveLength(1));
  const ended = peer.unsubscribe({ uri: URI }, options);
  await peer.listResources({}, options); // so long the end waits
  answers.shift()?.();
  await Promise.all([made, ended]);
  await engine.close?.();
  await engine.open?.(engineContext({ toolset: "far" }));
  await peer.listResources({}, options); // after what is agreed again
  expect(asked.map(({ method }) => method).filter((method) => method.startsWith("resources/"))).toEqual([
    "resources/subscribe",
    "resources/list",
    "resources/unsubscribe",
    "resources/list",
  ]);
});

const SERVER = `
const { appendFileSync } = require("node:fs");
const [file] = process.argv.slice(2);
appendFileSync(file, "start\\n");
const answers = {
  initialize: () => ({
    protocolVersion: "2025-11-25",
    capabilities: { tools: {}, resources: { subscribe: true } },
    serverInfo: { name: "s", version: "1" },
  }),
  "tools/list": () => ({ tools: [{ name: "echo", inputSchema: { type: "object" } }] }),
  "tools/call": () => process.exit(3),
  "resources/subscribe": () => ({}),
  "resources/unsubscribe": () => ({}),
};
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result: answers[method]() }) + "\\n");
}).on("close", () => process.exit());`;

test("a process that has ended is not restarted to cancel a subscription", async () => {
  const program = `${temporaryFile()}.cjs`;
  const file = `${program}.log`;
  writeFileSync(program, SERVER);
  writeFileSync(file, "");
  const engine = mcpEngine({ command: process.execPath, args: [program, file], protocol: "legacy" });
  onTestFinished(() => engine.close?.());
  const clock = new FakeClock();
  await engine.open?.(engineContext({ toolset: "notes", clock }));
  const peer = peerOf(engine);
  await peer.subscribe({ uri: URI }, options);
  expect(await rejection(engine.call(request("echo"), toolContext()))).toMatchObject({ code: "network_error" });
  expect(await peer.unsubscribe({ uri: URI }, options)).toEqual({});
  await clock.advance(120_000);
  expect(readFileSync(file, "utf8")).toBe("start\n");
});
