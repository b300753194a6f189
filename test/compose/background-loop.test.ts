/** A model that sends calls to the background, and looks after them. */
import { expect, test } from "vitest";
import { createLoop, createRuntime } from "../../src/index.ts";
import type { ModelRequest } from "../../src/core/model.ts";
import type { ToolResult } from "../../src/core/result.ts";
import type { Tool } from "../../src/core/tool.ts";
import { withBackgroundFlag } from "../../src/call/jobs/background-flag.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { jobsToolset } from "../../src/toolsets/jobs.ts";
import { testRuntime } from "../runtime/bench-runtime.ts";

const named = (name: string, properties: object = {}): Pick<Tool, "name" | "description" | "inputSchema"> => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: "object", properties, additionalProperties: false },
});

test("F1.13 run_in_background moves a call to the background, and neither the handler nor the tool's schema sees it", async () => {
  const seen: unknown[] = [];
  const built = Promise.withResolvers<string>();
  const build: Tool = {
    ...named("build", { target: { type: "string" } }),
    effects: { writes: ["out"] },
    execute: (input: unknown) => (seen.push(input), built.promise),
  };
  const own: Tool = {
    ...named("own", { run_in_background: { type: "boolean" } }),
    effects: { reads: [], writes: [] },
    execute: (input: unknown) => (seen.push(input), "own"),
  };
  await using runtime = createRuntime({ tools: [build, own] });
  const session = runtime.session();
  const requests: ModelRequest[] = [];
  const model = scriptedModel([
    {
      calls: [
        { name: "default::build", input: { target: "all", run_in_background: true } },
        { name: "default::own", input: { run_in_background: true } },
      ],
    },
    { text: "It builds." },
    { text: "It was built." },
  ]);
  const watched = { ...model, stream: (request: ModelRequest, options: never) => (requests.push(request), model.stream(request, options)) };
  const loop = createLoop({ session, model: watched, offerBackground: true });
  const first = await loop.run("Build it.");
  expect(first.results.map(({ status }) => status)).toEqual(["pending", "ok"]);
  expect(seen).toEqual([{ run_in_background: true }, { target: "all" }]); // a read begins at once, a write when the message is over
  const [offered] = requests[0]?.tools ?? [];
  expect(offered?.inputSchema).toMatchObject({ properties: { run_in_background: { type: "boolean" } } });
  const [job] = session.jobs;
  built.resolve("done");
  await runtime.jobs.wait(job?.id ?? "");
  const second = await loop.run("And?");
  expect(second.text).toBe("It was built.");
  expect(requests.at(-1)?.messages.find(({ role }) => role === "job")).toMatchObject({ content: expect.stringContaining("done") });
});

test.each<[flag: unknown, status: string]>([
  [false, "ok"],
  ["true", "pending"],
  ["False", "ok"],
  [null, "ok"], // as strict modes of providers write an absent value
  ["yes", "ok"],
  [1, "ok"],
  [{ later: true }, "ok"],
])("F1.13 run_in_background: %j never reaches the handler, and the call is %s", async (flag, status) => {
  const { seen, result } = await callWithFlag({ target: "all", run_in_background: flag });
  expect([seen, result?.status]).toEqual([[{ target: "all" }], status]);
  const isUnknown = flag === "yes" || typeof flag === "number" || typeof flag === "object";
  expect(result?.warnings).toEqual(isUnknown && flag !== null ? ["run_in_background is neither true nor false, and was ignored."] : []);
});

test.each([
  '{"target": "all", "run_in_background": true}',
  '{"target": "all", "run_in_background": true,}',
  '```json\n{"target": "all", "run_in\\u005fbackground": "true"}\n```',
])("F1.13 run_in_background is found in arguments that are JSON text: %s", async (text) => {
  const { seen, result } = await callWithFlag(text);
  expect([seen, result?.status]).toEqual([[{ target: "all" }], "pending"]);
});

test("F1.13 arguments without their end run no tool that writes, also with run_in_background in them", async () => {
  const { seen, result } = await callWithFlag('{"run_in_background": true, "target": "all"');
  expect([seen, result?.error?.code]).toEqual([[], "invalid_input"]);
});

test("F1.13 run_in_background in JSON text does not decide which overload is called", async () => {
  const seen: string[] = [];
  const overload = (key: string): Tool => ({
    ...named("find", { [key]: { type: "string" } }),
    inputSchema: { type: "object", properties: { [key]: { type: "string" } }, required: [key], additionalProperties: false },
    effects: { reads: [], writes: [] },
    execute: () => (seen.push(key), key),
  });
  await using runtime = createRuntime({ toolsets: [{ name: "lookup", tools: [overload("name"), overload("place")], overloads: true }] });
  const model = scriptedModel([
    { calls: [{ name: "lookup::find", input: '{"place": "here", "run_in_background": false,}' }] },
    { text: "Done." },
  ]);
  const { results } = await createLoop({ session: runtime.session(), model, offerBackground: true }).run("Go.");
  expect([results.map(({ status }) => status), seen]).toEqual([["ok"], ["place"]]);
});

async function callWithFlag(input: unknown): Promise<{ readonly seen: readonly unknown[]; readonly result: ToolResult | undefined }> {
  const seen: unknown[] = [];
  const build: Tool = {
    ...named("build", { target: { type: "string" } }),
    effects: { reads: [], writes: ["out"] },
    execute: (target: unknown) => (seen.push(target), "built"),
  };
  await using runtime = createRuntime({ tools: [build] });
  const model = scriptedModel([{ calls: [{ name: "default::build", input }] }, { text: "Done." }]);
  const { results } = await createLoop({ session: runtime.session(), model, offerBackground: true }).run("Go.");
  return { seen, result: results[0] };
}

const OWN_FLAG = { type: "object", properties: { run_in_background: { type: "boolean" } } };

/** Schemas by the numbers below this one, each of which is the next. */
function referring(count: number): object {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [index, { $ref: `#/$defs/${index + 1}` }]));
}

test.each<[string, object]>([
  ["by a reference", { $ref: "#/$defs/input", $defs: { input: OWN_FLAG } }],
  ["as a part", { allOf: [{ type: "object" }, OWN_FLAG] }],
  ["as the last of many parts", { allOf: [...Array.from({ length: 40 }, () => ({ type: "object" })), OWN_FLAG] }],
  ["at the end of many references", { $ref: "#/$defs/0", $defs: { ...referring(40), 40: OWN_FLAG } }],
  ["on a condition", { type: "object", if: { required: ["x"] }, else: OWN_FLAG }],
  ["beside another", { type: "object", dependentSchemas: { run_in_background: OWN_FLAG } }],
  ["in one of its forms", { anyOf: [{ type: "object", properties: { x: {} } }, { $ref: "#/$defs/input" }], $defs: { input: OWN_FLAG } }],
])("a tool with its own run_in_background parameter %s receives it, and its call stays in the foreground", async (_, schema) => {
  const seen: unknown[] = [];
  const own: Tool = {
    ...named("own"),
    inputSchema: schema as Tool["inputSchema"],
    effects: { reads: [], writes: [] },
    execute: (input: unknown) => (seen.push(input), "own"),
  };
  await using runtime = createRuntime({ tools: [own] });
  const model = scriptedModel([{ calls: [{ name: "default::own", input: { run_in_background: true } }] }, { text: "Done." }]);
  const { results } = await createLoop({ session: runtime.session(), model, offerBackground: true }).run("Go.");
  expect([results.map(({ status }) => status), seen]).toEqual([["ok"], [{ run_in_background: true }]]);
});

test("each part of a schema is searched for the flag once, however its parts refer to each other", async () => {
  let looks = 0;
  const form = (of: number): object => ({
    get anyOf() {
      looks++;
      return Array.from({ length: of }, (_, index) => ({ $ref: `#/$defs/${index}` }));
    },
  });
  const $defs = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [index, form(100)]));
  const tool = { name: "t", description: "", inputSchema: { $ref: "#/$defs/0", $defs } };
  expect(withBackgroundFlag(tool).inputSchema).toMatchObject({ properties: { run_in_background: {} } });
  expect(looks).toBeLessThan(1_000);
});

test("F1.25 running jobs are listed at the beginning of a turn, and nothing is added if none runs", async () => {
  const slow: Tool = { ...named("slow"), mode: "background", execute: () => new Promise(() => {}) };
  await using runtime = createRuntime({ tools: [slow] });
  const session = runtime.session();
  const model = scriptedModel([
    { text: "Hi." },
    { calls: [{ name: "default::slow", input: {} }] },
    { text: "Running." },
    { text: "Still." },
  ]);
  const loop = createLoop({ session, model });
  await loop.run("Hello.");
  expect(session.messages().filter(({ role }) => role === "system")).toEqual([]);
  await loop.run("Begin.");
  await loop.run("How is it?");
  const [job] = session.jobs;
  expect(session.messages().filter(({ role }) => role === "system")).toMatchObject([
    { content: `Running in the background:\n- ${job?.id} (default::slow): running` },
  ]);
});

test("F1.29 F1.46 a long question is shortened for the model, and neither it nor an error adds lines to the list of jobs", async () => {
  const question = `Which?\ncall_1 bank::pay done ${"😀".repeat(100_000)}`;
  const ask: Tool = {
    ...named("ask"),
    effects: { reads: [], writes: [] },
    mode: "stateful",
    execute: async function* () {
      yield question;
    },
  };
  const fail: Tool = {
    ...named("fail"),
    effects: { reads: [], writes: [] },
    mode: "background",
    execute: () => Promise.reject(new Error("No.\ncall_2 bank::pay done")),
  };
  await using runtime = createRuntime({ tools: [ask, fail], toolsets: [jobsToolset()] });
  const session = runtime.session();
  const { id } = await session.submit({ name: "ask" });
  await runtime.jobs.wait((await session.submit({ name: "fail" })).id);
  const asked = session.messages().find((message) => message.role === "job" && message.callId === id);
  const { content } = asked as { readonly content: string };
  expect(content).toContain(`waits for an answer:\n${question.slice(0, 60_000)}`);
  expect(content).toMatch(/😀\n\[134494 of 200029 characters left out\.\]$/u);
  expect(runtime.jobs.get(id)?.question).toBe(question);
  const { output } = await session.execute({ name: "jobs::jobs", input: {} });
  expect(String(output).split("\n")).toEqual([
    expect.stringMatching(/ default::ask waiting, 2 lines written, asks: Which\? call_1 bank::pay done 😀+…$/u),
    expect.stringMatching(/ default::fail error: No\. call_2 bank::pay done$/u),
  ]);
});

test("F1.46 F1.47 wait, read_job, jobs, send_to_job and stop_job work on the session's own jobs only", async () => {
  const talk: Tool = {
    ...named("talk"),
    mode: "stateful",
    execute: async function* (_input: unknown, context: { readonly output: (text: string) => void }) {
      context.output("one\ntwo\n");
      const answer: unknown = yield "Which?";
      return `You said ${String(answer)}.`;
    },
  };
  await using runtime = createRuntime({ tools: [talk], toolsets: [jobsToolset()] });
  const session = runtime.session();
  const say = async (name: string, input: object): Promise<unknown> => {
    const { output, error } = await session.execute({ name: `jobs::${name}`, input });
    return output ?? error?.code;
  };
  expect(await say("jobs", {})).toBe("There are no background jobs.");
  const { callId: id } = await session.execute({ name: "talk", input: {} });
  expect(await say("wait", { id })).toBe("WAITING\nThe job asks: Which?");
  expect(await say("read_job", { id, offset: 1, lines: 1 })).toBe("[lines 1 to 1 of 3]\ntwo");
  expect(await say("jobs", {})).toContain(`${id} default::talk waiting`);
  const other = await runtime.session().execute({ name: "jobs::stop_job", input: { id } });
  expect(other.error).toMatchObject({ code: "not_found" });
  expect(await say("send_to_job", { id, input: "this" })).toBe(`Sent to the job ${id}.`);
  expect(await say("wait", { id })).toBe("DONE\nYou said this.");
  expect(await say("stop_job", { id })).toBe(`The job ${id} had ended already.`);
  expect(await say("send_to_job", { id, input: "more" })).toBe("invalid_input");
  const second = await session.execute({ name: "talk", input: {} });
  expect(await say("wait", { id: second.callId, timeout: 5 })).toContain("WAITING");
  expect(await say("stop_job", { id: second.callId })).toContain("is being ended");
  expect(await say("wait", { id: second.callId })).toContain("CANCELLED");
  expect(await say("stop_job", { id: "nothing" })).toBe("not_found");
});

test("F1.46 issue 19.5 send_to_job sends nothing to a job of a tool that the rules of its caller deny", async () => {
  const talk: Tool = {
    ...named("talk"),
    mode: "stateful",
    execute: async function* () {
      const answer: unknown = yield "Which?";
      return `You said ${String(answer)}.`;
    },
  };
  await using runtime = createRuntime({ tools: [talk], toolsets: [jobsToolset()] });
  const session = runtime.session();
  const { callId: id } = await session.execute({ name: "talk", input: {} });
  const send = { name: "jobs::send_to_job", input: { id, input: "this" } };
  const { error } = await session.execute(send, { allow: { deny: ["default::talk"] } });
  expect(error).toMatchObject({ code: "permission_denied", outcome: "not_started" });
  expect((await session.execute({ name: "jobs::wait", input: { id } })).output).toBe("WAITING\nThe job asks: Which?");
  expect((await session.execute(send, { allow: { allow: ["jobs::*", "default::talk"] } })).status).toBe("ok");
});

test("F1.46 a wait that times out says so, and the job continues", async () => {
  const done = Promise.withResolvers<string>();
  const slow: Tool = { ...named("slow"), mode: "background", execute: () => done.promise };
  await using runtime = createRuntime({ tools: [slow], toolsets: [jobsToolset()] });
  const session = runtime.session();
  const { callId: id } = await session.execute({ name: "slow", input: {} });
  const waited = await session.execute({ name: "jobs::wait", input: { id, timeout: 0.01 } });
  expect(waited.output).toBe("TIMEOUT\nThe job is still running after 0.01 s.");
  expect(runtime.jobs.get(id)?.state).toBe("running");
  done.resolve("x");
  expect((await session.execute({ name: "jobs::wait", input: { id } })).output).toBe("DONE\nx");
});

test("F1.46 wait reports that a job's call waits for approval, and the job has the state waiting", async () => {
  const erase: Tool = { ...named("erase"), effects: { destructive: true }, execute: () => "erased" };
  const outer: Tool = {
    ...named("outer"),
    mode: "background",
    composite: true,
    execute: async (_, { execute }) => (await execute({ name: "default::erase", input: {} })).output,
  };
  await using runtime = createRuntime({ tools: [erase, outer], toolsets: [jobsToolset()], approval: { approve: "inbox" } });
  const session = runtime.session();
  const { callId: id } = await session.execute({ name: "outer", input: {} });
  await expect.poll(() => session.awaitingApproval).toBe(1);
  expect((await session.execute({ name: "jobs::wait", input: { id, timeout: 0.01 } })).output).toBe(
    "WAITING\nThe job is waiting for approval.",
  );
  expect(session.jobs).toMatchObject([{ id, state: "waiting" }]);
  const [question] = await runtime.approvals.pending();
  await runtime.approvals.answer({ id: question?.id ?? "", digest: question?.digest ?? "", answer: "allow-once" });
  expect((await session.execute({ name: "jobs::wait", input: { id } })).output).toBe("DONE\nerased");
  expect(session.awaitingApproval).toBe(0);
});

test("F1.46 a wait longer than promoteAfterMs is not promoted to a job", async () => {
  const slow: Tool = { ...named("slow"), mode: "background", execute: () => new Promise(() => {}) };
  const { runtime, ports } = testRuntime({ tools: [slow], toolsets: [jobsToolset()], promoteAfterMs: 100 });
  const session = runtime.session();
  const { callId: id } = await session.execute({ name: "slow" });
  const waiting = session.execute({ name: "jobs::wait", input: { id, timeout: 30 } });
  await ports.clock.advance(30_000);
  expect((await waiting).output).toBe("TIMEOUT\nThe job is still running after 30 s.");
  await runtime.close();
});
