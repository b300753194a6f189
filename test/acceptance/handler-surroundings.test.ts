/** What a handler reaches beside its input (seed 001): guards, jobs and channels by calls of its own, and what sessions of one runtime share. */
import { resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { ToolContext } from "../../src/core/context.ts";
import { createRuntime, type Runtime, type RuntimeOptions } from "../../src/runtime/runtime.ts";
import type { SessionStart } from "../../src/runtime/session-start.ts";
import { sessionWithin } from "../../src/runtime/session-within.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";
import { channelsToolset } from "../../src/toolsets/channels.ts";
import { filesToolset } from "../../src/toolsets/files.ts";
import { jobsToolset } from "../../src/toolsets/jobs.ts";
import { createChannels } from "../../src/triggers/channels.ts";
import { TemporaryWorkspace } from "../toolsets/temporary-workspace.ts";

/** Makes the calls that it is given, one after the other, as part of its own. */
const relay = {
  name: "relay",
  description: "Makes calls.",
  inputSchema: { type: "object", properties: { calls: { type: "array" } }, required: ["calls"] },
  composite: true,
  execute: async ({ calls }: { readonly calls: readonly { readonly name: string }[] }, { execute }: ToolContext) => {
    const answers: unknown[] = [];
    for (const call of calls) {
      const { output, content, error } = await execute(call);
      answers.push(error?.message ?? output ?? content);
    }
    return answers;
  },
} as const;

async function opened(options: RuntimeOptions): Promise<Runtime> {
  const runtime = createRuntime({ ports: fakePorts(), ...options });
  onTestFinished(async () => void (await runtime.close()));
  await runtime.open();
  return runtime;
}

test("F1.31 F1.33 a handler reaches files by calls, under the guard that holds for models: what was not read is not overwritten", async () => {
  const workspace = new TemporaryWorkspace({ "log.md": "kept" });
  const runtime = await opened({ tools: [relay], toolsets: [filesToolset({ root: workspace.root })] });
  const session = runtime.session("s");
  const write = { name: "files::write", input: { path: "log.md", content: "new" } };
  const outside = { name: "files::read", input: { path: "../secret.md" } };
  const [unread, beyond, read, written] = (
    await session.execute({ name: "relay", input: { calls: [write, outside, { name: "files::read", input: { path: "log.md" } }, write] } })
  ).output as readonly string[];

  expect(unread).toContain("was not read in this session");
  expect(beyond).toContain("outside");
  expect([read !== undefined, JSON.stringify(written).includes("log.md"), workspace.text("log.md")]).toEqual([true, true, "new"]);
});

test("F1.31 a handler finds the jobs of its session by the tools for them, and those of no other", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const dig = { name: "dig", description: "Digs.", inputSchema: {}, mode: "background", execute: async () => await promise } as const;
  const runtime = await opened({ tools: [relay, dig], toolsets: [jobsToolset()] });
  const [mine, other] = [runtime.session("mine"), runtime.session("other")];
  const { id } = await mine.submit({ name: "dig" });
  const look = { name: "relay", input: { calls: [{ name: "jobs::jobs" }] } };
  const seen = async (session: typeof mine): Promise<string> => JSON.stringify((await session.execute(look)).output);

  expect([(await seen(mine)).includes(id), (await seen(other)).includes(id)]).toEqual([true, false]);
  resolve();
  await runtime.jobs.wait(id);
});

test("F1.32 sessions of one runtime share channels and data, have state and channels of their own, and are got or made by their keys", async () => {
  const channels = createChannels({ ports: fakePorts() });
  channels.open("yard");
  channels.open("desk", { sessionId: "ann" });
  const count = {
    name: "count",
    description: "Counts.",
    inputSchema: {},
    execute: (_input: never, { state, data }: ToolContext) => {
      state.update("n", (n) => Number(n ?? 0) + 1);
      const register = data["register"];
      if (register instanceof Map) register.set("all", Number(register.get("all") ?? 0) + 1);
      return [state.get("n") ?? null, register instanceof Map ? Number(register.get("all")) : null];
    },
  };
  const runtime = await opened({ tools: [count], toolsets: [channelsToolset({ channels })], data: { register: new Map() } });
  const sessionOf = (key: string) => runtime.sessions.get(key) ?? runtime.session(key);
  const output = async (key: string, name: string, input = {}) => {
    const result = await sessionOf(key).execute({ name, input });
    return result.error?.code ?? result.output;
  };

  expect(sessionOf("ann")).toBe(sessionOf("ann"));
  expect([await output("ann", "count"), await output("ann", "count"), await output("bob", "count")]).toEqual([
    [1, 1],
    [2, 2],
    [1, 3],
  ]);
  expect([await output("ann", "channels::list_channels"), await output("bob", "channels::list_channels")]).toEqual([
    "desk queue\nyard queue",
    "yard queue",
  ]);
  const say = { channel: "desk", message: "Closed." };
  expect([typeof (await output("ann", "channels::send_message", say)), await output("bob", "channels::send_message", say)]).toEqual([
    "object",
    "not_found",
  ]);
});

const around = {
  name: "around",
  description: "Says what is around it.",
  inputSchema: {},
  effects: { reads: [] },
  execute: (_input: never, { agentName, sessionId, workingFolder, resolvePath, environment, data }: ToolContext) => ({
    agentName: agentName ?? null,
    sessionId,
    workingFolder,
    file: resolvePath("notes.md"),
    environment,
    user: data["user"] ?? null,
  }),
} as const;

test("F1.31 a handler sees every context member: agent, session, working folder, resolved paths, variables, data, tool, ids, and what it can do", async () => {
  let seen: ToolContext | undefined;
  const keep = { ...around, name: "keep", execute: (_input: never, context: ToolContext) => void (seen = context) };
  const runtime = await opened({ tools: [keep], agentName: "ann", workingFolder: "/work", data: { user: "u1" } });
  await runtime.session("s", { environment: { LEVEL: "1" } }).execute({ name: "keep" });

  expect(seen).toMatchObject({
    agentName: "ann",
    sessionId: "s",
    toolName: "default::keep",
    tool: { name: "keep", description: "Says what is around it." },
    workingFolder: resolve("/work"),
    environment: { LEVEL: "1" },
    data: { user: "u1" },
    attempt: 1,
    simulated: false,
    history: [],
    callId: expect.any(String),
    turnId: expect.any(String),
    idempotencyKey: expect.any(String),
    deadline: expect.any(Number),
    signal: expect.any(AbortSignal),
  });
  const able = ["resolvePath", "isShown", "ask", "execute", "progress", "output", "partial", "log"] as const;
  expect(able.map((name) => typeof seen?.[name])).toEqual(able.map(() => "function"));
  expect([typeof seen?.state.get, typeof seen?.toolState.update]).toEqual(["function", "function"]);
});

test("F1.31 F1.32 sessions of one runtime have folders and variables of their own, which branches, sub-agents and a resume have as well", async () => {
  const { effects: _effects, ...rest } = around;
  const child = {
    ...rest,
    name: "child",
    composite: true,
    execute: async (_input: never, context: ToolContext) => {
      const session = await sessionWithin(context);
      const { output } = await session.execute({ name: "around" });
      await session.close();
      return output;
    },
  } as const;
  const own = { ...around, name: "own", workingFolder: "logs", environment: { LEVEL: "tool", MORE: "2" } };
  const store = memoryStore();
  const runtime = await opened({ tools: [around, child, own], workingFolder: "/work", store });
  const ann = runtime.session("ann", { workingFolder: "ann", environment: { LEVEL: "session", NAME: "ann" } });
  const bob = runtime.session("bob", { workingFolder: "/else" });
  const look = async (session: Pick<typeof ann, "execute">, name = "around") => {
    const { workingFolder, file, environment } = (await session.execute({ name })).output as Record<string, unknown>;
    return [workingFolder, file, environment];
  };

  const ofAnn = [resolve("/work/ann"), resolve("/work/ann/notes.md"), { LEVEL: "session", NAME: "ann" }];
  expect(await look(ann)).toEqual(ofAnn);
  expect(await look(bob)).toEqual([resolve("/else"), resolve("/else/notes.md"), {}]);
  expect(await look(ann, "own")).toEqual([
    resolve("/work/ann/logs"),
    resolve("/work/ann/logs/notes.md"),
    { LEVEL: "tool", NAME: "ann", MORE: "2" },
  ]);
  expect([await look(ann.fork()), await look(ann, "child")]).toEqual([ofAnn, ofAnn]);
  const { results } = await ann.simulate([{ name: "around" }]);
  expect(results[0]?.output).toMatchObject({ workingFolder: resolve("/work/ann") });
  await ann.close();
  expect(await look(await runtime.resume("ann", { workingFolder: "moved" }))).toEqual([
    resolve("/work/moved"),
    resolve("/work/moved/notes.md"),
    {},
  ]);
});

test.each([
  [{ workingFolder: "" }, 'The option "workingFolder" of session() is a string that is not empty.'],
  [{ workingFolder: 5 }, 'The option "workingFolder" of session() is a string that is not empty.'],
  [{ environment: "A=1" }, 'The option "environment" of session() is an object of strings.'],
  [{ environment: { A: "1", B: 2 } }, 'The option "environment" of session() is an object of strings; "B" is none.'],
])("F1.31 a session that is begun with %j is refused", async (wrong, message) => {
  const runtime = await opened({});
  expect(() => runtime.session("s", wrong as SessionStart)).toThrow(message);
  await expect(runtime.resume("s", { ...(wrong as SessionStart) })).rejects.toThrow(message.replace("session()", "resume()"));
});

test("F1.32 a group of sessions has channels that no other session sees, and a register that all of it writes", async () => {
  const ports = fakePorts();
  const channels = createChannels({ ports });
  const register = new Map<string, unknown>();
  const note = {
    name: "note",
    description: "Notes a value in the register of the group.",
    inputSchema: {},
    execute: (_input: never, { data, sessionId }: ToolContext) => {
      const shared = data["register"];
      if (!(shared instanceof Map)) return null;
      shared.set(sessionId, shared.size);
      return [...shared.keys()];
    },
  };
  const runtime = await opened({ tools: [note], toolsets: [channelsToolset({ channels })] });
  const [ann, bob, eve] = ["ann", "bob", "eve"].map((id) => runtime.session(id));
  if (ann === undefined || bob === undefined || eve === undefined) return;
  const desk = channels.open("desk", { sessionId: "ann" });
  channels.give(desk, "bob");

  for (const session of [ann, bob]) await session.execute({ name: "note" }, { data: { register } });
  expect([...register]).toEqual([
    ["ann", 0],
    ["bob", 1],
  ]);
  expect((await eve.execute({ name: "note" })).output).toBeNull();
  const listed = async (session: typeof ann) => (await session.execute({ name: "channels::list_channels" })).output;
  expect([await listed(ann), await listed(bob), await listed(eve)]).toEqual(["desk queue", "desk queue", "There are no channels."]);
  const say = { name: "channels::send_message", input: { channel: "desk", message: "Here." } };
  expect([(await bob.execute(say)).status, (await eve.execute(say)).error?.code]).toEqual(["ok", "not_found"]);
  channels.open("desk", { sessionId: "eve" });
  expect(() => channels.give(desk, "eve")).toThrow('The session "eve" has another channel "desk".');
});
