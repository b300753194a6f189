/** What a simulation leaves outside itself: the whole store, the whole folder and all that lives in memory are compared before and after. */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { ToolCall } from "../../../src/core/call.ts";
import type { JsonObject } from "../../../src/core/base/json.ts";
import { ToolOutput } from "../../../src/core/content.ts";
import { readOnly } from "../../../src/core/resources/effects.ts";
import type { ApprovalVerdict } from "../../../src/core/approvals/approvals.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { programToolset } from "../../../src/compose/program/program-toolset.ts";
import { StoredApprovals } from "../../../src/policy/approval/stored-approvals.ts";
import { createRuntime, type Runtime, type RuntimeOptions } from "../../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { sessionWithin } from "../../../src/runtime/session-within.ts";
import { sqliteStore } from "../../../src/store/sqlite-store.ts";
import { askToolset } from "../../../src/toolsets/ask.ts";
import { channelsToolset } from "../../../src/toolsets/channels.ts";
import { filesToolset } from "../../../src/toolsets/files.ts";
import { findToolsToolset } from "../../../src/toolsets/find-tools.ts";
import { infoToolset } from "../../../src/toolsets/info.ts";
import { jobsToolset } from "../../../src/toolsets/jobs.ts";
import { mcpAccessToolset } from "../../../src/toolsets/mcp-access.ts";
import { memoryToolset } from "../../../src/toolsets/memory.ts";
import { notebookToolset } from "../../../src/toolsets/notebook.ts";
import { scratchpadToolset } from "../../../src/toolsets/scratchpad.ts";
import { shellToolset } from "../../../src/toolsets/shell.ts";
import { skillsToolset } from "../../../src/toolsets/skills.ts";
import { triggersToolset } from "../../../src/toolsets/triggers.ts";
import { createTriggers } from "../../../src/triggers/triggers.ts";
import { temporaryFile } from "../../store/temporary-file.ts";
import { tool } from "../bench-runtime.ts";
import { inCI } from "../../ci.ts";

/** Nothing here waits for a clock: after so long, it never comes. */
const PATIENT = { timeout: 30_000 };
const IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const CELL = { cell_type: "code", id: "a", source: "1", metadata: {}, outputs: [], execution_count: null };
const NOTEBOOK = JSON.stringify({ nbformat: 4, nbformat_minor: 5, metadata: {}, cells: [CELL] });
const SKILL = "---\nname: skill\ndescription: Does it.\n---\nDo it.\n";

/** Each kind of tool that a program can define. */
const KINDS: readonly Tool[] = [
  tool("kept", () => "read", { effects: readOnly("a"), cache: "persistent" }),
  tool("draw", () => new ToolOutput({ content: [{ type: "image", mediaType: "image/png", data: IMAGE }] }), {
    effects: readOnly("b"),
    cache: "persistent",
  }),
  tool("long", () => "x".repeat(300_000), { effects: readOnly("c") }),
  tool("job", () => "done", { mode: "background" }),
  tool("agent", () => "done", { mode: "stateful" }),
  tool("note", (_input, { state, toolState }) => {
    state.update("k", () => 1);
    toolState.update("k", () => 1);
    return "noted";
  }),
  tool("burn", () => "burnt", { effects: { writes: ["world"], destructive: true } }),
  tool("any", () => "did", { effects: undefined as never }),
  tool(
    "within",
    async (_input, context) => {
      const session = await sessionWithin(context);
      const results = await session.execute([{ name: "kept" }, { name: "burn" }, { name: "note" }]);
      await session.close();
      return results.map(({ status }) => status);
    },
    { composite: true, effects: undefined as never },
  ),
  tool("nested", async (_input, context) => (await context.execute({ name: "burn" })).status, {
    composite: true,
    effects: undefined as never,
  }),
];

/** An input for every tool there is: one that has none here fails the test. */
const inputsWith = (jobId: string): Readonly<Record<string, JsonObject>> => ({
  ...Object.fromEntries(KINDS.map(({ name }) => [`default::${name}`, {}])),
  "ask::ask_user": { question: "Which?" },
  "ask::show_card": { title: "Card" },
  "catalog::call_tool": { name: "default::burn", input: {} },
  "catalog::find_tools": { query: "burn" },
  "channels::list_channels": {},
  "channels::send_message": { channel: "news", message: "x" },
  "files::edit": { path: "a.txt", old: "one", new: "two" },
  "files::glob": { pattern: "*" },
  "files::grep": { pattern: "one" },
  "files::json_read": { path: "a.json" },
  "files::json_write": { path: "a.json", at: "a", value: 2 },
  "files::list": {},
  "files::multi_edit": { path: "a.txt", edits: [{ old: "one", new: "two" }] },
  "files::read": { path: "a.txt" },
  "files::write": { path: "new.txt", content: "x" },
  "haft::read_result": { handle: jobId },
  "jobs::jobs": {},
  "jobs::read_job": { id: jobId },
  "jobs::send_to_job": { id: jobId, input: "x" },
  "jobs::stop_job": { id: jobId },
  "jobs::wait": { id: jobId, timeout: 0 },
  "manual::info": { name: "default::burn" },
  "mcp::mcp_call": { server: "far", tool: "look" },
  "mcp::mcp_get_prompt": { server: "far", prompt: "greet" },
  "mcp::mcp_list": {},
  "mcp::mcp_read_resource": { server: "far", uri: "a://b" },
  "memory::search_memory": { query: "note" },
  "notebook::notebook_edit": { path: "a.ipynb", cell: 0, source: "2" },
  "notebook::notebook_read": { path: "a.ipynb" },
  "program::run_program": { code: "return await tools.default.burn({});" },
  "scratchpad::scratchpad": { action: "set", key: "k", value: "v" },
  "shell::bash": { command: "echo x > made.txt" },
  "skills::skill": { name: "skill" },
  "triggers::add_schedule": { everyMinutes: 1, prompt: "x" },
  "triggers::add_timer": { interval: 1, prompt: "x" },
  "triggers::list_triggers": {},
  "triggers::remove_trigger": { trigger_id: "mine" },
  "triggers::watch_channel": { channel: "news" },
});

function textOf(path: string): string {
  return statSync(path).isDirectory()
    ? readdirSync(path)
        .sort()
        .map((name) => `${name}:${textOf(join(path, name))}`)
        .join("\n")
    : readFileSync(path, "latin1");
}

/** Every row of every table. */
function rowsOf(path: string): Readonly<Record<string, readonly unknown[]>> {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const tables = database.prepare("select name from sqlite_schema where type = 'table' order by name").all();
    return Object.fromEntries(tables.map(({ name }) => [String(name), database.prepare(`select * from "${String(name)}"`).all()]));
  } finally {
    database.close();
  }
}

interface World {
  readonly runtime: Runtime;
  readonly session: RuntimeSession;
  readonly store: string;
  readonly written: unknown[];
  everything(): Promise<Everything>;
}

interface Everything {
  readonly rows: Readonly<Record<string, readonly unknown[]>>;
  readonly files: string;
  readonly memory: readonly unknown[];
  readonly written: number;
}

async function world(options: RuntimeOptions = {}): Promise<World> {
  const path = temporaryFile();
  const root = join(dirname(path), "work");
  mkdirSync(join(root, "skill"), { recursive: true });
  writeFileSync(join(root, "a.txt"), "one\n");
  writeFileSync(join(root, "a.ipynb"), NOTEBOOK);
  writeFileSync(join(root, "a.json"), '{"a": 1}');
  writeFileSync(join(root, "skill", "SKILL.md"), SKILL);
  const triggers = createTriggers();
  const { channels } = triggers;
  channels.open("news");
  const store = sqliteStore({ path });
  const written: unknown[] = [];
  const runtime = createRuntime({
    store,
    artifacts: store.artifacts,
    tools: KINDS,
    timeoutMs: 0,
    answers: { rules: [{ tools: "default::kept", from: ["record"] }], onRecord: (...all: unknown[]) => void written.push(all) },
    onEvent: (event) => void written.push(event),
    toolsets: [
      filesToolset({ root }),
      notebookToolset({ root }),
      scratchpadToolset(),
      memoryToolset({ store }),
      skillsToolset({ folder: root }),
      shellToolset({ root, sandbox: "none" }),
      infoToolset(),
      findToolsToolset({ callTool: true }),
      askToolset(),
      mcpAccessToolset(),
      channelsToolset({ channels }),
      triggersToolset({ triggers }),
      jobsToolset({ triggers }),
      programToolset(),
    ],
    ...options,
  });
  onTestFinished(async () => void (await runtime.close()));
  await runtime.open();
  const session = runtime.session("s");
  await session.execute([{ name: "note" }, { name: "files::read", input: { path: "a.txt" } }]);
  const everything = async (): Promise<Everything> => ({
    rows: rowsOf(path),
    files: textOf(root),
    memory: [
      runtime.counters,
      await runtime.approvals.rules(),
      channels.list("s").map(({ name, waiting }) => [name, waiting]),
      session.triggers,
      session.history,
      [...session.stateMap.entries()],
      runtime.sessions.list().map(({ id }) => id),
    ],
    written: written.length,
  });
  return { runtime, session, store: path, written, everything };
}

/** Each way to simulate calls. */
const WAYS: readonly (readonly [string, (world: World, calls: readonly ToolCall[]) => Promise<unknown>])[] = [
  ["simulate() of a session", ({ session }, calls) => session.simulate(calls)],
  ["simulate() of a runtime", ({ runtime }, calls) => runtime.simulate(calls)],
  [
    "a turn at a time in a branch that is closed",
    async ({ session }, calls) => {
      const branch = session.fork({ simulated: true });
      await branch.addMessage({ role: "user", content: "Try it." });
      for (const call of calls) await branch.execute(call);
      await branch.fork().execute(calls);
      await branch.close();
    },
  ],
  [
    "a branch of a given id that is discarded",
    async ({ session }, calls) => {
      const branch = session.fork({ simulated: true, id: "tried" });
      await branch.execute(calls);
      await branch.discard();
    },
  ],
];

test.each(WAYS)("F0.34 %s leaves store, folder and memory unchanged, for every tool", async (_way, simulate) => {
  const made = await world();
  const { id } = await made.session.submit({ name: "job" });
  await vi.waitFor(() => expect(made.session.jobs).toEqual([]), PATIENT);
  const inputs = inputsWith(id);
  const names = made.runtime.registry.list().map(({ qualifiedName }) => qualifiedName);
  expect(Object.keys(inputs).toSorted()).toEqual(names.toSorted());
  const before = await made.everything();
  const calls = names.map((name) => ({ name, input: inputs[name] ?? {} }));
  await simulate(made, calls);
  expect(await made.everything()).toEqual(before);
  await made.session.execute(calls);
  const { rows, files, memory, written } = await made.everything();
  for (const [key, after] of Object.entries({ rows, files, memory, written }))
    expect([key, after]).not.toEqual([key, before[key as keyof Everything]]);
});

type Verdict = Omit<ApprovalVerdict, "by">;

const FURTHER_VERDICTS: readonly [Verdict, readonly string[]][] = [
  [{ answer: "allow", scope: "tool" }, ["ok", "ok"]],
  [{ answer: "allow-once" }, ["asked", "asked"]],
];

describe.each<[string, boolean]>([
  ["the process that asks", false],
  ["another process", true],
])("F0.34 an answer from %s to a question of a simulation", (_who, isElsewhere) => {
  async function asking(): Promise<World & { answer(verdict: Verdict): Promise<unknown> }> {
    const made = await world({ approval: { approve: "inbox" } });
    const other = sqliteStore({ path: made.store });
    onTestFinished(() => other.close());
    await other.open();
    const answering = isElsewhere ? new StoredApprovals({ store: other.approvals }) : made.runtime.approvals;
    const answer = async (verdict: Verdict): Promise<unknown> => {
      const [question] = await vi.waitFor(async () => {
        const open = await made.runtime.approvals.pending();
        expect(open).toHaveLength(1);
        return open;
      }, PATIENT);
      const { id = "", digest = "" } = question ?? {};
      return answering.answer({ id, digest, ...verdict });
    };
    return { ...made, answer };
  }

  test.each<[Verdict, readonly string[]]>([
    [{ answer: "allow-always" }, ["ok", "ok"]],
    [{ answer: "allow-input" }, ["ok", "asked"]],
    ...(inCI ? FURTHER_VERDICTS : []),
  ])("%j applies within that simulation, and creates no rule", async (verdict, reached) => {
    const { session, runtime, store, answer } = await asking();
    const before = rowsOf(store)["haft_approval_rule"];
    const branch = session.fork({ simulated: true, allowSideEffects: true });
    const [first] = await Promise.all([branch.execute({ name: "burn", input: { a: 1 } }), answer(verdict)]);
    expect(first.status).toBe("ok");
    const again = async (input: JsonObject, where = branch): Promise<string> => {
      let end: string | undefined;
      const result = where.execute({ name: "burn", input }).then(({ status }) => (end ??= status));
      while (end === undefined) {
        if ((await runtime.approvals.pending()).length === 0) continue;
        end = "asked";
        await answer({ answer: "deny" });
      }
      await result;
      return end;
    };
    expect([await again({ a: 1 }), await again({ a: 2 })]).toEqual(reached);
    await branch.close();
    expect([rowsOf(store)["haft_approval_rule"], await runtime.approvals.rules()]).toEqual([before, []]);
    const next = session.fork({ simulated: true, allowSideEffects: true });
    expect([await again({ a: 1 }, next), await again({ a: 1 }, session)]).toEqual(["asked", "asked"]);
    await next.close();
  });

  test("cannot create a rule for other sessions: it is rejected, and the question stays open", async () => {
    const { session, runtime, answer } = await asking();
    const result = session.simulate({ name: "burn" }, { allowSideEffects: true });
    await expect(answer({ answer: "allow", scope: "rule" })).rejects.toMatchObject({
      code: "invalid_argument",
      message: "A simulation asks about default::burn: its answer cannot be a rule for other sessions.",
    });
    expect(await runtime.approvals.rules()).toEqual([]);
    await answer({ answer: "deny" });
    expect((await result).results.map(({ error }) => error?.code)).toEqual(["approval_denied"]);
  });
});
