/** What a handler reaches beside its input (seed 001): guards, jobs and channels by calls of its own, and what sessions of one runtime share. */
import { expect, onTestFinished, test } from "vitest";
import type { ToolContext } from "../../src/core/context.ts";
import { createRuntime, type Runtime, type RuntimeOptions } from "../../src/runtime/runtime.ts";
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
