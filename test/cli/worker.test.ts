/** `haft worker` and `haft serve --no-worker` as processes over one PostgreSQL server. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createClient } from "haft/client";
import { IN_CI, inCI } from "../ci.ts";
import { postgresStore } from "../../src/store/postgres-store.ts";
import { postgresPrograms, startPostgres, type PostgresServer } from "../store/postgres/server.ts";
import { chatProject, CANARY } from "./chat-project.ts";
import { PATIENCE_MS, folderWith, haft, type Control, type Finished } from "./run-haft.ts";

const SKIPPED = postgresPrograms === undefined || !inCI;
const TOKEN = "a-token-for-the-tests";

const FILES = {
  "haft.toml": '[toolsets.shop]\ntype = "module"\npath = "./shop.mjs"\n\n[worker]\npollMs = 300\n',
  "shop.mjs": `
const after = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export const build = {
  name: "build",
  description: "Builds.",
  inputSchema: { type: "object" },
  effects: { writes: ["out"], idempotent: true },
  execute: async () => (await after(500), "built by " + process.pid),
};
export const long = {
  name: "long",
  description: "Takes long, and ends.",
  inputSchema: { type: "object" },
  effects: { writes: ["out"], idempotent: true },
  execute: async () => (await after(3000), "done"),
};
export const breaks = {
  name: "breaks",
  description: "Breaks the process a while after it has answered.",
  inputSchema: { type: "object" },
  effects: { writes: ["pool"], idempotent: true },
  execute: () => (setTimeout(() => { throw new Error("lost connection pool"); }, 200), "answered"),
};
export const wait = {
  name: "wait",
  description: "Waits.",
  inputSchema: { type: "object" },
  effects: { writes: ["out"], idempotent: true },
  execute: (_, { signal }) => new Promise((resolve) => {
    const timer = setTimeout(resolve, 600_000);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve("stopped")));
  }),
};
`,
};

interface Running {
  readonly control: Control;
  readonly ended: Promise<Finished>;
  /** The first group of what it says on standard error. */
  readonly said: string;
}

/** Resolves when it has said so. */
function start(args: readonly string[], folder: string, says: RegExp): Promise<Running> {
  return new Promise((resolve, reject) => {
    const ended = haft(args, {
      folder,
      environment: { HAFT_TOKEN: TOKEN, MODEL_KEY: CANARY },
      onStart: (control) => onTestFinished(() => control.signal("SIGKILL")),
      onOutput({ stderr }, control) {
        const found = says.exec(stderr);
        if (found !== null) resolve({ control, ended, said: found[1] ?? "" });
      },
    });
    void ended.then(({ stderr }) => reject(new Error(`haft ${args.join(" ")} ended: ${stderr}`)));
  });
}

async function endOf(url: string, sessionId: string, callId: string): Promise<unknown> {
  const client = createClient({ url, token: TOKEN });
  for await (const { event } of client.follow(sessionId, { after: 0 }))
    if (event.type === "call-end" && event.callId === callId) return event.result.output;
  return undefined;
}

describe.skipIf(SKIPPED)(`issue 21.6 haft worker, over a PostgreSQL server ${IN_CI}:`, { timeout: 2 * PATIENCE_MS }, () => {
  let running: PostgresServer | undefined;
  beforeAll(async () => {
    running = await startPostgres({}, "trust");
  }, PATIENCE_MS);
  afterAll(() => running?.remove());

  function url(): string {
    return running?.url ?? expect.fail("the server did not start");
  }

  test("a job sent to a server that runs no jobs is run by a worker, which answers health checks on its own port", async () => {
    const folder = folderWith(FILES);
    const server = await start(["serve", "--port", "0", "--store", url(), "--no-worker"], folder, /serving at (\S+)/u);
    const worker = await start(
      ["worker", "--store", url(), "--health-port", "0"],
      folder,
      /health at (\S+)\/readyz[^]*working, 10 sessions/u,
    );
    const client = createClient({ url: server.said, token: TOKEN });
    const sessionId = "monday";
    await client.call("createSession", { body: { id: sessionId } });
    const body = { calls: [{ name: "shop::build", input: {} }], background: true };
    const { results } = await client.call("executeInSession", { params: { sessionId }, body });
    expect(results).toMatchObject([{ status: "pending" }]);
    const callId = String(results?.[0]?.callId);
    expect(await endOf(server.said, sessionId, callId)).toMatch(/^built by \d+$/u);
    for (const path of ["/healthz", "/readyz", "/metrics"]) {
      const { status: answered } = await fetch(`${worker.said}${path}`, { headers: { authorization: `Bearer ${TOKEN}` } });
      expect(answered).toBe(200);
    }
    worker.control.signal("SIGTERM");
    server.control.signal("SIGTERM");
    expect(await worker.ended).toMatchObject({ exitCode: 0, stderr: expect.stringContaining("haft: stopping") });
    expect((await server.ended).exitCode).toBe(0);
  });

  const HEALTH = ["--health-port", "0"];

  /** A worker, and a server that has sent it a job, which runs. */
  async function workerWithJob(tool: string, sessionId: string, options: readonly string[]) {
    const folder = folderWith({ ...FILES, "haft.toml": `${FILES["haft.toml"]}graceMs = 600000\n[serve.limits]\ngraceMs = 600000\n` });
    const server = await start(["serve", "--port", "0", "--store", url(), "--no-worker"], folder, /serving at (\S+)/u);
    const worker = await start(["worker", "--store", url(), ...options], folder, /working, 10 sessions/u);
    const client = createClient({ url: server.said, token: TOKEN });
    await client.call("createSession", { body: { id: sessionId } });
    await client.call("executeInSession", {
      params: { sessionId },
      body: { calls: [{ name: `shop::${tool}`, input: {} }], background: true },
    });
    const job = async () => (await client.call("listJobs", { query: { sessionId } })).jobs[0];
    while (!["running", "done"].includes(String((await job())?.state))) await new Promise((resolve) => setTimeout(resolve, 100));
    return { server, worker, job };
  }

  test.each([
    ["Ctrl-C", "SIGINT", []],
    ["SIGTERM", "SIGTERM", []],
    ["SIGTERM with a health port", "SIGTERM", HEALTH],
  ] as const)("%s lets running jobs finish", async (what, signal, options) => {
    const { server, worker, job } = await workerWithJob("long", `ends after ${what}`, options);
    worker.control.signal(signal);
    expect((await worker.ended).exitCode).toBe(0);
    expect(await job()).toMatchObject({ state: "done" });
    server.control.signal("SIGTERM");
    await server.ended;
  });

  test.each([
    ["", []],
    [" with a health port", HEALTH],
  ])("a second Ctrl-C%s hands over running jobs", async (what, options) => {
    const { server, worker, job } = await workerWithJob("wait", `handed over${what}`, options);
    worker.control.signal("SIGINT");
    await new Promise((resolve) => setTimeout(resolve, 500));
    worker.control.signal("SIGINT");
    expect((await worker.ended).exitCode).toBe(0);
    expect(await job()).toMatchObject({ state: expect.stringMatching(/queued|running/u) });
    expect(await job()).not.toMatchObject({ openedBy: expect.anything() });
    server.control.signal("SIGTERM");
    await server.ended;
  });

  test.each([
    ["", []],
    [" with a health port", HEALTH],
  ])("a worker%s stops with an error if something throws outside any call", async (what, options) => {
    const { server, worker } = await workerWithJob("breaks", `broken${what}`, options);
    expect(await worker.ended).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("lost connection pool") });
    server.control.signal("SIGTERM");
    await server.ended;
  });

  test("a health port in use is an error that names the option", async () => {
    const folder = folderWith(FILES);
    const server = await start(["serve", "--port", "0", "--store", url(), "--no-worker"], folder, /serving at (\S+)/u);
    const worker = ["worker", "--store", url(), "--health-port", new URL(server.said).port];
    expect(await haft(worker, { folder, environment: { HAFT_TOKEN: TOKEN } })).toMatchObject({
      exitCode: expect.toSatisfy((code) => code > 0),
      stderr: expect.stringContaining("--health-port 0"),
    });
    server.control.signal("SIGTERM");
    await server.ended;
  });

  test("an agent runs in one of two processes that name it, and continues in the other if the first is killed", async () => {
    const project = await chatProject({
      script: [{ text: "Good morning." }, { text: "Good evening." }],
      toml: `[store]\nurl = "${url()}"\n`,
    });
    const args = ["serve", "--port", "0", "--agent", "clerk"];
    const first = await start(args, project.folder, /serving at (\S+)/u);
    const second = await start(args, project.folder, /serving at (\S+)/u);
    const agentsOf = async ({ said }: Running) => (await createClient({ url: said, token: TOKEN }).call("listAgents")).agents.length;
    expect([await agentsOf(first), await agentsOf(second)]).toEqual([1, 0]);
    first.control.signal("SIGKILL");
    while ((await agentsOf(second)) === 0) await new Promise((resolve) => setTimeout(resolve, 100));
    second.control.signal("SIGTERM");
    expect((await second.ended).exitCode).toBe(0);
  });

  test.each([
    ["worker", "SIGTERM", 300],
    ["worker --health-port 0", "a second Ctrl-C", 600_000],
    ["serve --port 0", "SIGTERM", 300],
  ])("haft %s leaves a session it took over that waits for an approval to the next process: %s", async (command, how, graceMs) => {
    const sessionId = `asks ${command} ${how}`;
    const approval = '[approval]\ninbox = true\nalways = ["shop::build"]\n';
    const toml = `${FILES["haft.toml"]}graceMs = ${graceMs}\n[serve.limits]\ngraceMs = ${graceMs}\n${approval}`;
    const folder = folderWith({ ...FILES, "haft.toml": toml });
    const server = await start(["serve", "--port", "0", "--store", url()], folder, /serving at (\S+)/u);
    const client = createClient({ url: server.said, token: TOKEN });
    await client.call("createSession", { body: { id: sessionId } });
    const execute = (name: string, background: boolean) =>
      client.call("executeInSession", { params: { sessionId }, body: { calls: [{ name, input: {} }], background } });
    await execute("shop::wait", true);
    void execute("shop::build", false).catch(() => {}); // its server is killed
    const store = postgresStore({ url: url() });
    onTestFinished(() => store.close());
    const types = async () => (await store.read(sessionId, { limit: 1_000 })).events.map(({ type }) => type);
    const asked = async (times: number): Promise<void> => {
      while ((await types()).filter((type) => type === "approval-ask").length < times)
        await new Promise((resolve) => setTimeout(resolve, 100));
    };
    await asked(1);
    server.control.signal("SIGKILL");
    const taker = await start([...command.split(" "), "--store", url()], folder, /(working|serving)/u);
    await asked(2);
    if (how === "SIGTERM") taker.control.signal("SIGTERM");
    else {
      taker.control.signal("SIGINT");
      await new Promise((resolve) => setTimeout(resolve, 500));
      taker.control.signal("SIGINT");
    }
    expect(await taker.ended).toMatchObject({ exitCode: 0, stderr: expect.stringContaining("haft: stopping") });
    expect((await types()).filter((type) => /-end$|^approval-answer$/u.test(type))).toEqual([]);
    const [stored] = await store.list({ sessionId });
    expect(stored).not.toHaveProperty("openedBy");
    expect(await store.approvals.list({ now: 0, sessionId, first: "oldest", limit: 9 })).toMatchObject([{ status: "open" }]);
    expect(await store.jobs.list({ sessionId })).toMatchObject([{ state: "queued" }]);
    const next = await start(["worker", "--store", url()], folder, /working/u);
    await asked(3);
    next.control.signal("SIGKILL");
  });
});

test.each([
  ["a store of one machine", ["worker", "--store", "haft.db"], "PostgreSQL", 2],
  ["a port that is none", ["worker", "--store", "postgres://haft@127.0.0.1:1/haft", "--health-port", "x"], "--health-port takes a port", 2],
  ["no server at the address", ["worker", "--store", "postgres://haft@127.0.0.1:1/haft"], "ECONNREFUSED", 7],
  ["a server whose jobs nobody else can run", ["serve", "--port", "0", "--store", "haft.db", "--no-worker"], "PostgreSQL", 2],
])("issue 21.6 %s starts nothing", { timeout: PATIENCE_MS }, async (_what, args, message, exitCode) => {
  const folder = folderWith(FILES);
  expect(await haft(args, { folder, environment: { HAFT_TOKEN: TOKEN } })).toMatchObject({
    exitCode,
    stderr: expect.stringContaining(message),
  });
});
