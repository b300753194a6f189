/** Issue 19.5: `haft audit` tells who called what from the events of the store, and what was refused. */
import { writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { tool } from "../runtime/bench-runtime.ts";
import { SessionProject } from "./session-project.ts";

/** A project whose store has calls of two principals, a message, and a refused request. */
async function auditedProject(): Promise<SessionProject> {
  const project = new SessionProject();
  const store = sqliteStore({ path: project.path("haft.db"), synchronous: "normal" });
  const fail = tool("fail", () => Promise.reject(new Error("no")), { maxAttempts: 1 });
  const outer = tool("outer", async (_, context) => (await context.execute({ name: "look", input: {} })).output);
  const runtime = createRuntime({ store, tools: [tool("look", () => 1), fail, outer] });
  const session = runtime.session("trip");
  await session.addMessage({ role: "user", content: "hello" }, { principal: "key:ada" });
  await session.execute({ name: "outer", input: {} }, { principal: "key:ada" });
  await session.execute({ name: "fail", input: {} }, { principal: "token:https://a#bob\u001b[31m" });
  await session.execute({ name: "look", input: {} });
  const branch = session.fork();
  await branch.execute({ name: "look", input: {} }, { principal: "key:ada" });
  await branch.commit();
  await store.access.addRefusals([
    { at: Date.now() + 5, status: 401, reason: "The request has no credentials.", method: "GET", path: "/v1/tools", from: "10.0.0.9" },
  ]);
  await runtime.close();
  return project;
}

async function audit(project: SessionProject, ...args: readonly string[]): Promise<readonly Record<string, unknown>[]> {
  const { stdout } = await project.haft(["audit", "--json", ...args]);
  return stdout
    .split("\n")
    .filter(Boolean)
    .map((line): Record<string, unknown> => JSON.parse(line));
}

test("issue 19.5 MCP08 the audit lists each call once, with principal, tool, outcome, time and session, and refused requests too", async () => {
  const project = await auditedProject();
  const entries = await audit(project);
  expect(entries[0]).toMatchObject({ type: "refusal", status: 401, path: "/v1/tools", from: "10.0.0.9" });
  const calls = entries
    .filter(({ type }) => type === "call")
    .map(({ principal, toolName, outcome, errorCode }) => [principal, toolName, outcome, errorCode]);
  expect(calls).toHaveLength(5);
  expect(calls).toEqual(
    expect.arrayContaining([
      ["key:ada", "default::outer", "ok", undefined],
      ["key:ada", "default::look", "ok", undefined],
      ["token:https://a#bob\u001b[31m", "default::fail", "error", "execution_failed"],
      [undefined, "default::look", "ok", undefined],
    ]),
  );
  expect(entries.find(({ toolName, parentCallId }) => toolName === "default::look" && parentCallId !== undefined)).toMatchObject({
    principal: "key:ada",
  });
  expect(entries.find(({ type }) => type === "message")).toMatchObject({ principal: "key:ada", sessionId: "trip" });
  const { stdout, exitCode } = await project.haft(["audit"]);
  expect([exitCode, stdout.split("\n").length - 1]).toEqual([0, 7]);
  expect(stdout).toMatch(/key:ada called default::outer: ok, .*, session trip/u);
  expect(stdout).not.toContain("\u001b");
});

test("the audit reports a cancelled call as cancelled only once", async () => {
  const project = new SessionProject();
  const store = sqliteStore({ path: project.path("haft.db"), synchronous: "normal" });
  const runtime = createRuntime({ store, tools: [tool("wait", () => new Promise(() => {}))] });
  const stop = new AbortController();
  const ended = runtime.session("trip").execute({ name: "wait", input: {} }, { signal: stop.signal });
  stop.abort();
  await ended;
  await runtime.close();
  expect((await project.haft(["audit"])).stdout).toMatch(/called wait: cancelled, (?!cancelled)/u);
});

test("issue 19.5 the audit lists an approval request and the principal that answered it", async () => {
  const project = new SessionProject();
  const store = sqliteStore({ path: project.path("haft.db"), synchronous: "normal" });
  const erase = tool("erase", () => 1, { effects: { writes: ["all"], destructive: true } });
  const approve = async (): Promise<never> => new Promise(() => {});
  const runtime = createRuntime({ store, tools: [erase], approval: { approve } });
  const running = runtime.session("trip").execute({ name: "erase", input: {} }, { principal: "key:ada" });
  await expect.poll(async () => (await runtime.approvals.pending()).length, { timeout: 10_000 }).toBe(1);
  const [asked] = await runtime.approvals.pending();
  await runtime.approvals.answer({ id: asked?.id ?? "", digest: asked?.digest ?? "", answer: "allow-once", by: "key:bob" });
  await running;
  await runtime.close();
  const entries = await audit(project, "--tool", "default::erase");
  expect(entries.map(({ type, principal }) => [type, principal])).toEqual(
    expect.arrayContaining([
      ["call", "key:ada"],
      ["approval-ask", undefined],
      ["approval-answer", "key:bob"],
    ]),
  );
  expect((await audit(project, "--principal", "key:bob")).map(({ type }) => type)).toEqual(["approval-answer"]);
  expect((await project.haft(["audit"])).stdout).toMatch(/key:bob answered default::erase: /u);
});

test("issue 19.5 the audit can be filtered by principal, tool and time, and limited in number", async () => {
  const project = await auditedProject();
  expect(new Set((await audit(project, "--principal", "key:*")).map(({ principal }) => principal))).toEqual(new Set(["key:ada"]));
  expect((await audit(project, "--tool", "default::fail")).map(({ toolName }) => toolName)).toEqual(["default::fail"]);
  expect(await audit(project, "--since", "2999-01-01")).toEqual([]);
  expect(await audit(project, "--since", "24h")).toHaveLength(7);
  expect(await audit(project, "--limit", "2")).toHaveLength(2);
  for (const since of ["2999-01-01 10:30", "2999-01-01T10:30Z", "2999-01-01T10:30:15.250+02:00"])
    expect(await audit(project, "--since", since)).toEqual([]);
  for (const since of ["yesterday", "2026-02-30", "2026-11-27 junk", "2026-11", "2026-13-01", "2026-01-01T25:00Z"]) {
    const { stderr, exitCode } = await project.haft(["audit", "--since", since]);
    expect([since, exitCode === 0, stderr]).toEqual([since, false, expect.stringContaining("--since takes a time or a span")]);
  }
});

test("calls outside any session are listed with the others, and filtered by outcome and time", async () => {
  const project = await auditedProject();
  const store = sqliteStore({ path: project.path("haft.db"), synchronous: "normal" });
  const at = Date.UTC(2026, 0, 2, 12);
  const call = { at, callId: "c", toolName: "notes::erase", via: "api", outcome: "ok", durationMs: 2, principal: "key:ada" } as const;
  const denied = {
    at: at + 1,
    toolName: "notes::\u001b[31m",
    via: "mcp",
    outcome: "error",
    errorCode: "permission_denied",
    missed: 3,
  } as const;
  const pretended = { ...call, at: at + 2, callId: "d", simulated: true } as const;
  await store.access.addCalls({ calls: [{ ...call, approvedBy: "key:bob" }, denied, pretended], keep: 10 });
  await store.close();
  const { stdout } = await project.haft(["audit", "--until", "2026-01-03T00:00Z"]);
  expect(stdout.split("\n").map((line) => line.replace(/^\S+ \S+ {2}/u, ""))).toEqual([
    "key:ada called notes::erase: ok, 2.0 ms, simulated, over HTTP",
    expect.stringMatching(/^- called notes::.*: error, permission_denied, over MCP, and 3 more before it that were not kept$/u),
    "key:ada called notes::erase: ok, 2.0 ms, over HTTP, approved by key:bob",
    "",
  ]);
  expect(stdout).not.toContain("\u001b");
  expect(await audit(project, "--outcome", "permission_denied")).toEqual([{ type: "call", ...denied }]);
  expect((await audit(project, "--outcome", "error")).map(({ toolName }) => toolName)).toEqual(["default::fail", denied.toolName]);
  const wrong = await project.haft(["audit", "--outcome", "late"]);
  expect([wrong.exitCode, wrong.stderr]).toEqual([2, expect.stringContaining('"late" is not an outcome of a call.')]);
  expect((await project.haft(["audit", "--until", "soon"])).stderr).toContain("--until takes a time or a span");
  const empty = await project.haft(["audit", "--since", "1h", "--until", "24h"]);
  expect([empty.exitCode, empty.stderr]).toEqual([2, expect.stringContaining("--since 1h is not before --until 24h")]);
});

test("issue 19.5 a log that was tampered with is listed up to the change and reported as damaged", async () => {
  const project = await auditedProject();
  const file = new DatabaseSync(project.path("haft.db"));
  file.exec(`update haft_event set body = replace(body, 'default::fail', 'default::fine') where type = 'call-end'`);
  file.close();
  const { stdout, stderr, exitCode } = await project.haft(["audit"]);
  expect(exitCode).toBe(1);
  expect(stderr).toContain("not read to its end: session trip");
  expect(stdout).toContain("default::outer");
  expect(stdout).not.toContain("default::fine");
});

const NEEDS_VARIABLES = `[model]
name = "openai-compatible/m"
baseUrl = "http://127.0.0.1:9/v1"
apiKey = "env:HAFT_UNSET"

[store]
path = "haft.db"

[[webhooks]]
url = "https://hooks.example/haft"
secret = "env:HAFT_UNSET"

[toolsets.crm]
type = "mcp"
url = "https://\${HAFT_UNSET}/mcp"
auth = { type = "bearer", token = "env:HAFT_UNSET" }

[toolsets.books]
type = "openapi"
document = "books.json"
baseUrl = "env:HAFT_UNSET"

[toolsets.notes]
type = "files"
root = "\${HAFT_UNSET}"
`;

test("commands that use only the store need no variables of toolsets, servers or models", async () => {
  const project = await auditedProject();
  writeFileSync(project.path("haft.toml"), NEEDS_VARIABLES);
  for (const args of [
    ["audit"],
    ["sessions", "list"],
    ["sessions", "show", "trip"],
    ["approvals", "list"],
    ["keys", "list"],
    ["store", "check"],
  ])
    expect([args, (await project.haft(args)).exitCode]).toEqual([args, 0]);

  const refused = await project.haft(["list"]);
  expect(refused.stderr).toContain("toolsets.crm.auth.token: the environment variable HAFT_UNSET is not set.");

  writeFileSync(project.path("haft.toml"), NEEDS_VARIABLES.replace('"haft.db"', '"${HAFT_UNSET}.db"'));
  expect((await project.haft(["audit"])).stderr).toContain("store.path: the environment variable HAFT_UNSET is not set.");
});
