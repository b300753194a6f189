/** Processes behind a gateway that end by themselves, as its clients see them. */
import { readFileSync, writeFileSync } from "node:fs";
import { expect, onTestFinished, test, vi } from "vitest";
import { mcpEngine, mcpPeerOf, mcpToolset } from "../../src/engine/mcp.ts";
import { FakeClock, MemoryLog } from "../../src/testing/fake-ports.ts";
import { engineContext, request, toolContext } from "../engine/engine-contexts.ts";
import { rejection } from "../engine/mcp-engine.ts";
import { temporaryFile } from "../store/temporary-file.ts";
import { openRuntime, overStdio } from "./mcp-clients.ts";
import { testInCI } from "../test-in-ci.ts";

/** Says "changed" of its one resource when it was subscribed to, and ends itself when its file says so. */
const SERVER = `
const { appendFileSync, existsSync } = require("node:fs");
const [file] = process.argv.slice(2);
appendFileSync(file, "start\\n");
if (existsSync(file + ".broken")) process.exit(4);
setInterval(() => existsSync(file + ".end") && (require("node:fs").unlinkSync(file + ".end"), process.exit(3)), 10);
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
const answers = {
  initialize: () => ({
    protocolVersion: "2025-11-25",
    capabilities: { tools: {}, resources: { subscribe: true, listChanged: true } },
    serverInfo: { name: "s", version: "1" },
  }),
  "tools/list": () => ({ tools: [{ name: "echo", inputSchema: { type: "object" } }] }),
  "tools/call": () => process.exit(3),
  "resources/list": () => ({ resources: [{ uri: "notes:a", name: "a" }] }),
  "resources/templates/list": () => ({ resourceTemplates: [] }),
  "resources/subscribe": () => (appendFileSync(file, "subscribe\\n"), {}),
};
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (id !== undefined) send({ id, result: answers[method]() });
}).on("close", () => process.exit());`;

function server() {
  const program = `${temporaryFile()}.cjs`;
  writeFileSync(program, SERVER);
  const file = `${program}.log`;
  writeFileSync(file, "");
  return { options: { command: process.execPath, args: [program, file], protocol: "legacy" }, file } as const;
}

function linesOf(file: string): readonly string[] {
  return readFileSync(file, "utf8").split("\n").slice(0, -1);
}

/** A busy machine starts a process in seconds. */
const PATIENT = { timeout: 60_000, interval: 10 };

/** A clock that moves by itself until the test is over, so many times as fast as ours. Limits of requests count by it, too. */
function movingClock(speed: number): FakeClock {
  const clock = new FakeClock();
  const timer = setInterval(() => void clock.advance(10 * speed), 10);
  onTestFinished(() => clearInterval(timer));
  return clock;
}

/** The output of a process may be seen to end before the process does. */
const warnings = (log: MemoryLog): readonly string[] => log.lines.filter(({ level }) => level === "warn").map(({ message }) => message);

test("a process that exited is restarted without a call, and its subscriptions are restored", async () => {
  const { options, file } = server();
  const clock = movingClock(2);
  const { runtime, log } = await openRuntime({ toolsets: [mcpToolset("notes", { ...options, openTimeoutMs: 0 })], ports: { clock } });
  const { client } = await overStdio(runtime, { era: "legacy" });
  const heard: string[] = [];
  client.setNotificationHandler("notifications/resources/list_changed", () => void heard.push("list"));
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => void heard.push(params.uri));
  await client.subscribeResource({ uri: "notes:a" });
  await vi.waitFor(() => expect(linesOf(file)).toEqual(["start", "subscribe"]), PATIENT);

  writeFileSync(`${file}.end`, "");
  await vi.waitFor(() => {
    expect([...new Set(heard)].sort()).toEqual(["list", "notes:a"]);
  }, PATIENT);
  expect(linesOf(file)).toEqual(["start", "subscribe", "start", "subscribe"]);
  expect(warnings(log)).toEqual([
    expect.stringMatching(/^MCP server "notes" is started again: it (?:exited with code 3|closed its output)\.$/u),
  ]);
});

testInCI("a process that exits each time is restarted eight times, and then with the next call", async () => {
  const { options, file } = server();
  const clock = movingClock(100);
  const { runtime, log } = await openRuntime({ toolsets: [mcpToolset("notes", { ...options, openTimeoutMs: 0 })], ports: { clock } });
  await overStdio(runtime, { era: "legacy" });
  writeFileSync(`${file}.broken`, "");
  writeFileSync(`${file}.end`, "");
  await vi.waitFor(() => expect(warnings(log).at(-1)).toContain("with the next call"), PATIENT);
  expect(warnings(log).at(-1)).toMatch(
    /^MCP server "notes" could not be opened: (?:it exited with code 4|it closed its output|its pipe broke \(write EPIPE\))\. After 8 restarts in a row, it is started again with the next call\.$/u,
  );
  await clock.advance(600_000);
  expect(linesOf(file)).toHaveLength(9);
  const result = await runtime.execute({ name: "notes__echo" });
  expect(result.status).toBe("error");
  await vi.waitFor(() => expect(linesOf(file).length).toBeGreaterThan(9), PATIENT); // the time of the call may be over before
});

test("a process without listeners is restarted only by the next call", async () => {
  const { options, file } = server();
  const clock = movingClock(2);
  const engine = mcpEngine(options);
  const log = new MemoryLog();
  await engine.open?.(engineContext({ toolset: "notes", clock, log }));
  expect(await rejection(engine.call(request("echo"), toolContext()))).toMatchObject({ code: "network_error" });
  await clock.advance(600_000);
  expect(linesOf(file)).toEqual(["start"]);
  expect(await rejection(engine.call(request("echo"), toolContext()))).toMatchObject({ code: "network_error" });
  expect(linesOf(file)).toEqual(["start", "start"]);
  await engine.close?.();
});

testInCI("calls in quick succession do not prevent the restart of a process with notification listeners", async () => {
  const { options, file } = server();
  const clock = movingClock(2);
  const engine = mcpEngine(options);
  onTestFinished(() => engine.close?.());
  await engine.open?.(engineContext({ toolset: "notes", clock, openTimeoutMs: 0 }));
  mcpPeerOf(engine)?.onNotification(() => undefined);
  writeFileSync(`${file}.broken`, "");
  const call = async (): Promise<string> => JSON.stringify(await rejection(engine.call(request("echo"), toolContext())));
  await vi.waitFor(async () => expect(await call()).toContain("after 3 restarts"), PATIENT);
  const before = linesOf(file).length;
  await vi.waitFor(
    async () => {
      await call();
      expect(linesOf(file).length).toBeGreaterThan(before);
    },
    { timeout: 10_000, interval: 100 },
  );
});
