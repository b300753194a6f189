/** A task of a server is taken up again by the next process, and not begun a second time. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { RemoteJob } from "../../../src/core/jobs/remote-job.ts";
import { storedEvents } from "../../../src/session/read-events.ts";
import { sqliteStore } from "../../../src/store/sqlite-store.ts";
import { request, toolContext } from "../engine-contexts.ts";
import { rejection } from "../mcp-engine.ts";
import { bundledProgram } from "../../bundled-program.ts";
import { temporaryFile } from "../../store/temporary-file.ts";
import { loopbackMcp, modern, openHttp, text } from "./loopback-mcp.ts";
import { testInCI } from "../../test-in-ci.ts";

const CLIENT = bundledProgram("engine/mcp/task-client-process");

interface Program {
  readonly child: ChildProcess;
  /** Resolves to what it says under the key, in whichever line. */
  said(key: string): Promise<unknown>;
}

function start(file: string, ...args: readonly string[]): Program {
  const child = spawn(process.execPath, [file, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const heard = new Map<string, unknown>();
  return {
    child,
    async said(key) {
      while (!heard.has(key)) {
        const next = await lines.next();
        if (next.done === true) throw new Error(`${file} ended without ${key}.`);
        for (const [name, value] of Object.entries(JSON.parse(next.value) as object)) heard.set(name, value); // both programs write objects
      }
      return heard.get(key);
    },
  };
}

testInCI(
  "after the client of a task is killed, the next process attaches to the task and gets its result; the task began once",
  async () => {
    const path = temporaryFile();
    const server = start(fileURLToPath(new URL("task-server-process.ts", import.meta.url)));
    const url = String(await server.said("url"));
    const first = start(CLIENT, path, url);
    const remote = await first.said("remote");
    const job = await first.said("job");
    first.child.kill("SIGKILL");
    await once(first.child, "exit");

    const second = start(CLIENT, path, url);
    expect(await second.said("job")).toBe(job);
    server.child.stdin?.write("end\n");
    expect(await second.said("end")).toMatchObject({
      id: job,
      state: "done",
      result: { status: "ok", content: [{ type: "text", text: `order 1 of ${String(remote)}` }] },
    });
    await once(second.child, "exit");

    const store = sqliteStore({ path, readOnly: true });
    const types: string[] = [];
    for await (const event of storedEvents(store, "s")) types.push(event.type);
    expect(types.filter((type) => ["call-remote", "call-end", "job-end", "job-run"].includes(type))).toEqual([
      "call-remote",
      "job-run",
      "call-end",
      "job-end",
    ]);
    await store.close();
  },
  60_000,
);

const TASK = { taskId: "t1", status: "working", createdAt: "2026-01-01T00:00:00Z", lastUpdatedAt: "2026-01-01T00:00:00Z", ttlMs: null };

test("attach polls the task at once and follows it to its end", async () => {
  const states = [TASK, { ...TASK, status: "completed", result: text("okay") }];
  const { url, asked } = await loopbackMcp({
    ...modern(),
    "tasks/get": () => ({ resultType: "complete", pollIntervalMs: 1, ...states.shift() }),
  });
  const { engine } = await openHttp({ url });
  const job = await engine.attach?.("t1", request("echo"), toolContext());
  if (!(job instanceof RemoteJob)) throw new Error("no job was returned");
  expect([job.id, await job.result]).toEqual(["t1", expect.objectContaining({ content: [{ type: "text", text: "okay" }] })]);
  expect(asked.filter(({ method }) => method === "tools/call")).toEqual([]);
});

test("I09 a temporary error of the server at attach does not mean that the task is lost: nothing is called again", async () => {
  const { url, asked } = await loopbackMcp({
    ...modern(),
    "tasks/get": ({ id, response }) => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32603, message: "busy" } }));
      return undefined;
    },
  });
  const { engine } = await openHttp({ url });
  expect(await rejection(engine.attach?.("t1", request("echo"), toolContext()))).toMatchObject({
    code: "execution_failed",
    outcome: "unknown",
  });
  expect(asked.filter(({ method }) => method === "tools/call")).toEqual([]);
});

test.each([
  ["says that there is no such task", { error: { code: -32602, message: "Task not found" } }],
  ["knows no tasks", { error: { code: -32601, message: "Method not found" } }],
])("attach to a server that %s is not_found", async (_, { error }) => {
  const { url } = await loopbackMcp({
    ...modern(),
    "tasks/get": ({ id, response }) => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ jsonrpc: "2.0", id, error }));
      return undefined;
    },
  });
  const { engine } = await openHttp({ url });
  expect(await rejection(engine.attach?.("t'1", request("echo"), toolContext()))).toMatchObject({
    code: "not_found",
    message: `MCP server "far" has no task "t'1" any more: ${error.message}`,
  });
});
