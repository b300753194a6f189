/** A task that a server continues is followed over connections that are lost. */
import { writeFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { ToolOutput } from "../../../src/core/content.ts";
import type { JsonObject } from "../../../src/core/base/json.ts";
import { RemoteJob } from "../../../src/core/jobs/remote-job.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { mcpEngine } from "../../../src/engine/mcp.ts";
import { FakeClock } from "../../../src/testing/fake-ports.ts";
import { temporaryFile } from "../../store/temporary-file.ts";
import { engineContext, request, requestOf, toolContext } from "../engine-contexts.ts";
import { rejection } from "../mcp-engine.ts";
import { legacy, loopbackMcp, modern, openHttp, reply, text, type Answers } from "./loopback-mcp.ts";
import { settled } from "./settled.ts";
import { testInCI } from "../../test-in-ci.ts";

const okay = new ToolOutput({ content: [{ type: "text", text: "okay" }] });
const working = {
  taskId: "t1",
  status: "working",
  createdAt: "2026-01-01T00:00:00Z",
  lastUpdatedAt: "2026-01-01T00:00:00Z",
  ttl: null,
  ttlMs: null,
};
const begun = { ...working, pollIntervalMs: 100, pollInterval: 100 };
const tasks = { tools: {}, tasks: { requests: { tools: { call: {} } } } };
const slowTool = { name: "slow", inputSchema: { type: "object" }, execution: { taskSupport: "required" } };

/** A server of the older era whose one tool is a task; what it answers depends on the session that asks. */
function sessions(tasksGet: (session: number) => JsonObject | "forgotten"): Answers {
  let session = 0;
  return {
    ...legacy(tasks),
    initialize: (asked) => {
      const answer = legacy(tasks)["initialize"]?.(asked);
      asked.response.setHeader("mcp-session-id", String(++session));
      return answer;
    },
    "tools/list": () => ({ tools: [slowTool] }),
    "tools/call": () => ({ task: begun }),
    "tasks/get": ({ headers, response, id }) => {
      const answer = headers["mcp-session-id"] === String(session) ? tasksGet(session) : "forgotten";
      if (answer !== "forgotten") return answer;
      session++;
      reply(response, { id: Number(id), error: { code: -32_001, message: "Session not found" } }, 404);
      return undefined;
    },
    "tasks/result": () => text("okay"),
  };
}

async function jobOf(answer: unknown): Promise<RemoteJob> {
  const job = await answer;
  if (!(job instanceof RemoteJob)) throw new Error("no job was returned");
  return job;
}

function first(tools: readonly Tool[]): Tool {
  const [tool] = tools;
  if (tool === undefined) throw new Error("no tool was listed");
  return tool;
}

test("a task is followed while its server is unreachable and once it is back", async () => {
  let state: JsonObject = begun;
  const { url, asked, stop } = await loopbackMcp({
    ...modern(),
    "tools/call": () => ({ ...begun, resultType: "task" }),
    "tasks/get": () => ({ resultType: "complete", ...state }),
  });
  const clock = new FakeClock();
  const { engine } = await openHttp({ url }, { clock });
  const job = await jobOf(engine.call(request("echo"), toolContext()));
  const begin = await stop();
  await clock.advance(10_000);
  state = { ...working, status: "completed", result: text("okay") };
  await begin();
  expect(await settled(clock, job.result)).toEqual(okay);
  expect(asked.filter(({ method }) => method === "tools/call")).toHaveLength(1);
});

testInCI("a server that stays unreachable ends the job with an unknown outcome", async () => {
  const { url, stop } = await loopbackMcp({ ...modern(), "tools/call": () => ({ ...begun, resultType: "task" }) });
  const clock = new FakeClock();
  const { engine } = await openHttp({ url }, { clock });
  const job = await jobOf(engine.call(request("echo"), toolContext()));
  await stop();
  expect(await rejection(settled(clock, job.result))).toMatchObject({ code: "network_error", outcome: "unknown" });
});

test("a task is followed beyond the session in which it began", async () => {
  const { url, asked } = await loopbackMcp(sessions((session) => (session === 1 ? "forgotten" : { ...working, status: "completed" })));
  const clock = new FakeClock();
  const { engine, tools } = await openHttp({ url, protocol: "legacy" }, { clock });
  const job = await jobOf(engine.call(requestOf(first(tools)), toolContext()));
  expect(await settled(clock, job.result)).toEqual(okay);
  expect(asked.filter(({ method }) => method === "tools/call")).toHaveLength(1);
  expect(asked.filter(({ method }) => method === "initialize")).toHaveLength(2);
});

testInCI("a completed task whose result cannot be fetched ends its job with an unknown outcome", async () => {
  let asked = 0;
  const { url } = await loopbackMcp({
    ...sessions(() => ({ ...working, status: "completed" })),
    "tasks/result": ({ response }) => {
      if (++asked > 20) return text("late"); // for a client that never gives up
      response.destroy();
      return undefined;
    },
  });
  const clock = new FakeClock();
  const { engine, tools } = await openHttp({ url, protocol: "legacy" }, { clock });
  const job = await jobOf(engine.call(requestOf(first(tools)), toolContext()));
  expect(await rejection(settled(clock, job.result))).toMatchObject({ code: "network_error", outcome: "unknown" });
  expect(asked).toBe(9);
});

/** Keeps its one task in a file: it ends itself when it is first asked for it, and has its result when it was started again. */
const SERVER = `
const { existsSync, writeFileSync } = require("node:fs");
const [file, keeps] = process.argv.slice(2);
const answers = {
  initialize: () => ({ protocolVersion: "2025-11-25", capabilities: ${JSON.stringify(tasks)}, serverInfo: { name: "s", version: "1" } }),
  "tools/list": () => ({ tools: [${JSON.stringify(slowTool)}] }),
  "tools/call": () => (writeFileSync(file, "begun"), { task: ${JSON.stringify(begun)} }),
  "tasks/get": () => {
    if (existsSync(file + ".crashed")) return keeps === "keeps" ? { ...${JSON.stringify(working)}, status: "completed" } : undefined;
    writeFileSync(file + ".crashed", "");
    process.exit(3);
  },
  "tasks/result": () => ({ content: [{ type: "text", text: "okay" }] }),
};
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const result = answers[method]?.();
  const answer = result === undefined ? { error: { code: -32602, message: "Task not found" } } : { result };
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...answer }) + "\\n");
});`;

async function stdioJob(keeps: "keeps" | "forgets"): Promise<RemoteJob> {
  const program = `${temporaryFile()}.cjs`;
  writeFileSync(program, SERVER);
  const engine = mcpEngine({ command: process.execPath, args: [program, `${program}.task`, keeps], protocol: "legacy" });
  onTestFinished(() => engine.close?.());
  const tools = (await engine.open?.(engineContext({ toolset: "near" }))) ?? [];
  return await jobOf(engine.call(requestOf(first(tools)), toolContext()));
}

test("a task of a process that ended is polled again once the process was restarted", async () => {
  const job = await stdioJob("keeps");
  expect(await job.result).toEqual(okay);
});

testInCI("a task that a restarted process no longer knows ends its call with an unknown outcome", async () => {
  const job = await stdioJob("forgets");
  expect(await rejection(job.result)).toMatchObject({
    code: "execution_failed",
    outcome: "unknown",
    message: 'MCP server "near": it was reconnected and does not report its task: Task not found',
  });
});

test("closing the engine ends the job of a task, with outcome unknown", async () => {
  const { url, asked } = await loopbackMcp({
    ...modern(),
    "tools/call": () => ({ ...begun, resultType: "task" }),
    "tasks/get": () => ({ resultType: "complete", ...begun }),
  });
  const polls = (): number => asked.filter(({ method }) => method === "tasks/get").length;
  const clock = new FakeClock();
  const { engine } = await openHttp({ url }, { clock });
  const job = await jobOf(engine.call(request("echo"), toolContext()));
  while (polls() < 2) await clock.advance(100);
  await engine.close?.();
  const before = polls();
  expect(await rejection(settled(clock, job.result))).toMatchObject({
    code: "unavailable",
    outcome: "unknown",
    message: 'MCP server "far" is not open.',
  });
  await clock.advance(1_000_000);
  expect([polls(), clock.pending]).toEqual([before, 0]);
});

/** A server whose task wants to know a name; it breaks the connection of so many answers, before or after it took them. */
async function asking({ breaks, takes, mostGets = Infinity }: { breaks: number; takes: boolean; mostGets?: number }) {
  let left = breaks;
  let isAnswered = false;
  let gets = 0;
  const schema = { type: "object", properties: { name: { type: "string" } } };
  const who = { method: "elicitation/create", params: { message: "Who?", requestedSchema: schema } };
  const { url, asked } = await loopbackMcp({
    ...modern(),
    "tools/call": () => ({ ...begun, resultType: "task" }),
    "tasks/get": () => {
      if (isAnswered) return { resultType: "complete", ...working, status: "completed", result: text("okay") };
      if (++gets > mostGets) throw new Error("It is asked about without end.");
      return { resultType: "complete", ...begun, status: "input_required", inputRequests: { who } };
    },
    "tasks/update": ({ response }) => {
      if (left > 0) {
        left--;
        isAnswered ||= takes;
        response.destroy();
        return undefined;
      }
      isAnswered = true;
      return { resultType: "complete" };
    },
  });
  const clock = new FakeClock();
  const { engine } = await openHttp({ url }, { clock });
  const questions: string[] = [];
  const ask = ({ message }: { readonly message: string }) => {
    questions.push(message);
    return Promise.resolve({ action: "accept", content: { name: "Ann" } } as const);
  };
  const job = await jobOf(engine.call(request("echo"), toolContext({ ask })));
  const answers = () => asked.filter(({ method }) => method === "tasks/update").map(({ params }) => params["inputResponses"]);
  return { clock, job, questions, answers };
}

test.each([false, true])(
  "an answer that is lost with its connection is sent again as long as the server asks for it: taken before it broke %s",
  async (takes) => {
    const { clock, job, questions, answers } = await asking({ breaks: 2, takes });
    expect(await settled(clock, job.result)).toEqual(okay);
    expect(questions).toEqual(["Who?"]);
    const answer = { who: { action: "accept", content: { name: "Ann" } } };
    expect(answers()).toEqual(takes ? [answer] : [answer, answer, answer]);
  },
);

test("a server that breaks the connection for every answer ends the job after nine answers", async () => {
  const { clock, job, answers } = await asking({ breaks: Infinity, takes: false, mostGets: 50 });
  expect(await rejection(settled(clock, job.result))).toMatchObject({ outcome: "unknown" });
  expect(answers()).toHaveLength(9);
});
