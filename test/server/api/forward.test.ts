/** Several servers of one store: requests for a session are answered where it is open. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createAgent, createRuntime, defineTool, type Runtime } from "haft";
import { createClient } from "haft/client";
import { scriptedModel } from "haft/model";
import type { Clock } from "haft/ports";
import { createServer, staticToken } from "haft/server";
import { sqliteStore } from "haft/sqlite";
import { FakeClock } from "haft/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { HAFT } from "../../bundled-program.ts";
import { testInCI } from "../../test-in-ci.ts";

const TOKEN = "a-token-for-the-tests";
const WAIT = { timeout: 30_000 };

interface Node {
  readonly url: string;
  readonly counted: number[];
  readonly runtime: Runtime;
  ask(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<{ readonly status: number; readonly json: any }>; // oxlint-disable-line typescript/no-explicit-any
  stop(): Promise<unknown>;
}

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "haft-forward-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** One server of the store in the folder, with a tool that counts in the session's state. */
async function startNode(folder: string, address: string | boolean = true, token = TOKEN, clock?: Clock): Promise<Node> {
  const counted: number[] = [];
  const count = defineTool({
    name: "count",
    description: "Counts up.",
    inputSchema: { type: "object", properties: { by: { type: "integer" } }, required: ["by"] } as const,
    effects: { writes: ["session:count"] },
    execute({ by }, { state }) {
      state.update("count", (before) => Number(before ?? 0) + by);
      const next = Number(state.get("count"));
      counted.push(next);
      return next;
    },
  });
  const runtime = createRuntime({ store: sqliteStore({ path: join(folder, "haft.db"), synchronous: "normal" }), tools: [count] });
  await runtime.open();
  const server = createServer(runtime, {
    auth: staticToken({ token }),
    limits: { graceMs: 50 },
    ports: clock === undefined ? {} : { clock },
  });
  const { url } = await server.listen({ port: 0, address });
  let stopping: Promise<unknown> | undefined;
  const stop = (): Promise<unknown> => (stopping ??= server.close().then(() => runtime.close()));
  onTestFinished(async () => void (await stop()));
  const ask: Node["ask"] = async (method, path, body, headers = {}) => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${TOKEN}`, ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, json: text === "" ? undefined : JSON.parse(text) };
  };
  return { url, counted, runtime, ask, stop };
}

const counting = (by: number): object => ({ calls: [{ name: "count", input: { by } }] });

test("issue 21.2 calls sent to any server of a store run in the one that has the session open", async () => {
  const folder = await newFolder();
  const [one, two] = [await startNode(folder), await startNode(folder)];
  expect((await one.ask("POST", "/v1/sessions", { id: "shop" })).status).toBe(201);
  for (let n = 0; n < 6; n++) {
    const { status, json } = await (n % 2 === 0 ? one : two).ask("POST", "/v1/sessions/shop/execute", counting(1));
    expect([status, json.results[0].output]).toEqual([200, n + 1]);
  }
  expect([one.counted.length, two.counted.length]).toEqual([6, 0]);
  const { json: snapshot } = await two.ask("GET", "/v1/sessions/shop/snapshot");
  expect(JSON.stringify(snapshot)).toContain('"count":6');
});

test("issue 21.2 sessions that two servers have open are compared, and replayed in one another", async () => {
  const folder = await newFolder();
  const [one, two] = [await startNode(folder), await startNode(folder)];
  for (const [node, id, by] of [
    [one, "shop", 5],
    [two, "desk", 7],
  ] as const) {
    await node.ask("POST", "/v1/sessions", { id });
    await node.ask("POST", `/v1/sessions/${id}/execute`, counting(by));
  }
  const expected = { state: [{ before: 7, after: 5 }], calls: [{ call: { input: { by: 5 } } }], pretended: [] };
  for (const node of [one, two]) {
    expect(await node.ask("GET", "/v1/sessions/shop/diff?with=desk")).toMatchObject({ status: 200, json: expected });
    const { json } = await node.ask("GET", "/v1/sessions/shop/diff?with=desk&withAt=1");
    expect(json.state).toEqual([expect.not.objectContaining({ before: 7 })]);
    expect((await node.ask("GET", "/v1/sessions/shop/diff?with=gone&withAt=0")).status).toBe(404);
  }
  for (const node of [one, two]) {
    const body = { ...counting(7), recording: "desk", answerFrom: ["replay"] };
    const { json: replayed } = await node.ask("POST", "/v1/sessions/shop/execute", body);
    expect(replayed.results).toMatchObject([{ status: "ok", origin: "replay", output: 7 }]);
    expect((await node.ask("POST", "/v1/sessions/shop/execute", { ...body, recording: "gone" })).status).toBe(404);
  }
  expect([one.counted, two.counted]).toEqual([[5], [7]]);
});

test("issue 21.2 a branch can be forked, compared and committed through another server", async () => {
  const folder = await newFolder();
  const [one, two] = [await startNode(folder), await startNode(folder)];
  await one.ask("POST", "/v1/sessions", { id: "shop" });
  expect((await two.ask("POST", "/v1/sessions/shop/fork", { id: "try" })).status).toBe(201);
  expect((await two.ask("POST", "/v1/sessions/try/execute", counting(5))).json.results[0].output).toBe(5);
  expect(JSON.stringify((await two.ask("GET", "/v1/sessions/try/diff")).json)).toContain("count");
  expect((await two.ask("POST", "/v1/sessions/try/commit")).status).toBe(200);
  expect((await one.ask("POST", "/v1/sessions/shop/execute", counting(1))).json.results[0].output).toBe(6);
  expect((await two.ask("POST", "/v1/sessions/shop/fork", { id: "drop" })).status).toBe(201);
  expect((await two.ask("POST", "/v1/sessions/drop/execute", counting(50))).json.results[0].output).toBe(56);
  expect((await two.ask("POST", "/v1/sessions/drop/discard")).status).toBe(204);
  expect((await two.ask("POST", "/v1/sessions/drop/execute", counting(1))).status).toBe(404);
  expect((await one.ask("POST", "/v1/sessions/shop/execute", counting(1))).json.results[0].output).toBe(7);
  expect([one.counted, two.counted]).toEqual([[5, 6, 56, 7], []]);
});

test("issue 21.2 a stopping server hands its sessions over to the server that gets the next request", async () => {
  const folder = await newFolder();
  const [one, two] = [await startNode(folder), await startNode(folder)];
  await one.ask("POST", "/v1/sessions", { id: "shop" });
  await two.ask("POST", "/v1/sessions/shop/execute", counting(1));
  await one.stop();
  expect((await two.ask("POST", "/v1/sessions/shop/execute", counting(1))).json.results[0].output).toBe(2);
  expect(two.counted).toEqual([2]);
});

test("issue 21.2 a server that lost a session forwards requests to the one that took it, and answers them again when that one stops", async () => {
  const folder = await newFolder();
  const [one, two] = [await startNode(folder), await startNode(folder)];
  await one.ask("POST", "/v1/sessions", { id: "shop" });
  expect((await one.ask("POST", "/v1/sessions/shop/execute", counting(1))).json.results[0].output).toBe(1);
  await two.runtime.resume("shop", { takeOver: true });
  const late = await one.ask("POST", "/v1/sessions/shop/execute", counting(1)); // it does not know yet
  expect([late.status, late.json.code]).toEqual([409, "conflict"]);
  expect((await one.ask("POST", "/v1/sessions/shop/execute", counting(1))).json.results[0].output).toBe(2);
  await two.stop();
  expect((await one.ask("POST", "/v1/sessions/shop/execute", counting(1))).json.results[0].output).toBe(3);
  expect(two.counted).toEqual([2]);
});

test("issue 21.2 a request with one key through two servers runs once, and both return its result", async () => {
  const folder = await newFolder();
  const [one, two] = [await startNode(folder), await startNode(folder)];
  await one.ask("POST", "/v1/sessions", { id: "shop" });
  const key = { "idempotency-key": "order-1" };
  const [first, second] = [
    await two.ask("POST", "/v1/sessions/shop/execute", counting(1), key),
    await one.ask("POST", "/v1/sessions/shop/execute", counting(1), key),
  ];
  expect(first.json).toEqual(second.json);
  expect(one.counted).toEqual([1]);
});

test("issue 21.2 the server that has the session open authenticates the sender too", async () => {
  const folder = await newFolder();
  const [one, two] = [await startNode(folder), await startNode(folder, true, "a-token-of-the-second-alone")];
  await one.ask("POST", "/v1/sessions", { id: "shop" });
  for (const token of ["a-token-of-the-second-alone", "a-token-of-nobody-at-all", TOKEN]) {
    const headers = { authorization: `Bearer ${token}` };
    expect((await two.ask("POST", "/v1/sessions/shop/execute", counting(1), headers)).status).toBe(401);
  }
  expect(one.counted).toEqual([]);
});

test("issue 21.2 a request is forwarded only once, so servers with wrong addresses do not loop", async () => {
  const folder = await newFolder();
  const two = await startNode(folder);
  const one = await startNode(folder, two.url); // a wrong address: that of the other
  await one.ask("POST", "/v1/sessions", { id: "shop" });
  const { status, json } = await two.ask("POST", "/v1/sessions/shop/execute", counting(1));
  expect([status, json.code]).toEqual([409, "resource_busy"]);
  // as after a crash, when the next process at the address does not have the session yet
  expect(json.hint).toBe("Send it again in a moment: the sessions of a process that has ended are released.");
});

test("issue 21.2 a session of a server without a reachable address is rejected with what would work", async () => {
  const folder = await newFolder();
  const two = await startNode(folder);
  const silent = await startNode(folder, false);
  await silent.ask("POST", "/v1/sessions", { id: "quiet" });
  expect((await two.ask("POST", "/v1/sessions/quiet/execute", counting(1))).json).toMatchObject({
    code: "resource_busy",
    hint: expect.stringMatching(
      /--address at which the others reach it, or with server\.listen[^.]*: they then forward requests for the session to it\.$/u,
    ),
  });
  const free = await startNode(await newFolder());
  await free.stop();
  const stopped = await startNode(folder, free.url); // nobody listens there any more
  await stopped.ask("POST", "/v1/sessions", { id: "far" });
  const { status, json } = await two.ask("POST", "/v1/sessions/far/execute", counting(1));
  expect([status, json.code, json.retryable, json.outcome]).toEqual([503, "unavailable", true, "not_started"]);
  expect(JSON.stringify(json)).not.toContain(free.url);
});

test("issue 21.2 a request forwarded to a frozen process ends once that process counts as gone", async () => {
  const folder = await newFolder();
  const clock = new FakeClock();
  const two = await startNode(folder, true, TOKEN, clock);
  const taken = Promise.withResolvers<unknown>();
  const frozen = createHttpServer(taken.resolve).listen(0, "127.0.0.1"); // takes requests, and answers none
  onTestFinished(() => {
    frozen.close();
    frozen.closeAllConnections();
  });
  await once(frozen, "listening");
  const address = frozen.address();
  const store = sqliteStore({ path: join(folder, "haft.db") });
  onTestFinished(() => store.close());
  await store.announce({ address: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}` });
  store.create("shop", { at: 1, durability: "sync" });
  await vi.waitUntil(async () => (await two.runtime.store?.list())?.[0]?.openedAt !== undefined);
  let isOver = false;
  const keyed = two.ask("POST", "/v1/sessions/shop/execute", counting(1), { "idempotency-key": "one" });
  const read = two.ask("GET", "/v1/sessions/shop/snapshot");
  const asked = two.ask("POST", "/v1/sessions/shop/execute", counting(1)).finally(() => (isOver = true));
  await taken.promise;
  await clock.advance(20_000);
  expect(isOver).toBe(false); // the process lives
  await store.close();
  await vi.waitFor(async () => {
    await clock.advance(5_000);
    expect(isOver).toBe(true);
  }, WAIT);
  const { status, json } = await asked;
  expect([status, json.code, json.retryable, json.outcome]).toEqual([503, "unavailable", true, "unknown"]);
  const hints = [json, (await keyed).json, (await read).json].map(({ hint }) => hint);
  expect(hints).toEqual([
    expect.stringContaining("Check before you send it again"),
    "Send it again with the same Idempotency-Key.",
    expect.stringContaining("Send it again in a moment"),
  ]);
  expect((await two.ask("POST", "/v1/sessions/shop/execute", counting(1))).json.results[0].output).toBe(1);
});

test.each(["ftp://here", "http://here/path", "http://user@here", "here:80", ""])(
  "issue 21.2 %j is rejected as the address of a server",
  async (address) => {
    await expect(startNode(await newFolder(), address)).rejects.toThrow("is not the origin of a server");
  },
);

const PAY = `
import { appendFileSync, existsSync, readFileSync } from "node:fs";
const done = (id) => existsSync("effects.log") && readFileSync("effects.log", "utf8").split("\\n").includes(id);
export const pay = {
  name: "pay",
  description: "Pays once.",
  inputSchema: { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
  effects: {
    writes: ["account:{id}"],
    external: true,
    reconcile: ({ input }) => (done(input.id) ? { happened: true, output: { paid: input.id } } : { happened: false }),
  },
  execute({ id }) {
    appendFileSync("effects.log", id + "\\n");
    return { paid: id };
  },
};
`;

interface Served {
  readonly url: string;
  readonly child: ChildProcess;
}

async function serve(folder: string, port = "0"): Promise<Served> {
  const child = spawn(process.execPath, [HAFT, "serve", "--config", "haft.toml", "--port", port], {
    cwd: folder,
    env: { ...process.env, HAFT_TOKEN: TOKEN },
    stdio: ["ignore", "ignore", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stderr })) {
    lines.push(line);
    const url = /serving at (\S+)/u.exec(line)?.[1];
    if (url === undefined) continue;
    child.stderr.resume();
    return { url, child };
  }
  throw new Error(`The server did not start: ${lines.join("\n")}`);
}

/** Keyed requests to two servers in turn, while the one that has the session open is killed and started again. */
async function drill(requests: number, kills: number): Promise<void> {
  const folder = await newFolder();
  await writeFile(
    join(folder, "haft.toml"),
    '[store]\npath = "haft.db"\nsynchronous = "normal"\n\n[toolsets.bank]\ntype = "module"\npath = "./tools.mjs"\n',
  );
  await writeFile(join(folder, "tools.mjs"), PAY);
  const nodes = [await serve(folder), await serve(folder)];
  const clients = nodes.map(({ url }) => createClient({ url, token: TOKEN, maxAttempts: 200, retryDelayMs: 50 }));
  await clients[0]?.call("createSession", { body: { id: "shop" } });
  const pay = async (id: string, at: number): Promise<string> => {
    const body = { calls: [{ name: "bank::pay", input: { id } }], concurrent: true };
    const answer = await clients[at % 2]?.call("executeInSession", { params: { sessionId: "shop" }, body, idempotencyKey: id });
    return JSON.stringify(answer?.results);
  };
  const killAt = new Set(Array.from({ length: kills }, (_, index) => Math.floor(((index + 1) * requests) / (kills + 1))));
  const answers = new Map<string, string>();
  let restarting: Promise<void> = Promise.resolve();
  const restart = async (before: Promise<void>, victim: number): Promise<void> => {
    await before;
    const node = nodes[victim];
    if (node === undefined) return;
    const exited = new Promise((resolve) => node.child.once("exit", resolve));
    node.child.kill("SIGKILL");
    await exited;
    nodes[victim] = await serve(folder, new URL(node.url).port);
  };
  let next = 0;
  const work = async (): Promise<void> => {
    for (let n = next++; n < requests; n = next++) {
      answers.set(`p${n}`, await pay(`p${n}`, n));
      if (killAt.delete(answers.size)) restarting = restart(restarting, answers.size % 2);
    }
  };
  await Promise.all(Array.from({ length: 8 }, work));
  await restarting;
  const effects = (await readFile(join(folder, "effects.log"), "utf8")).trim().split("\n");
  expect(effects.sort()).toEqual([...answers.keys()].sort());
  for (const [id, answer] of answers) {
    expect(answer).toContain(`{"paid":"${id}"}`);
    expect(await pay(id, Number(id.slice(1)) + 1)).toBe(answer);
  }
}

testInCI(
  "issue 21.2 100 keyed requests through two servers over 2 kills: each effect happens once, each client gets its first answer",
  { timeout: 900_000 },
  () => drill(100, 2),
);

test("issue 21.2 requests for an agent are forwarded to the server that runs it, even if the agent starts later", async () => {
  const folder = await newFolder();
  const runtime = createRuntime({ store: sqliteStore({ path: join(folder, "haft.db"), synchronous: "normal" }) });
  const agents = new Map();
  const server = createServer(runtime, { auth: staticToken({ token: TOKEN }), agents, limits: { graceMs: 50 } });
  await server.listen({ port: 0, address: true });
  onTestFinished(async () => void (await server.close().then(() => runtime.close())));
  const other = await startNode(folder);
  expect((await other.ask("GET", "/v1/agents/clerk")).status).toBe(404);
  const session = await runtime.resume("clerk", { create: true });
  const agent = createAgent({ session, model: scriptedModel([{ text: "Yes." }]) });
  agent.start();
  agents.set("clerk", agent);
  expect(await other.ask("POST", "/v1/agents/clerk/messages", { content: "Are you there?" })).toMatchObject({
    status: 200,
    json: { sent: true },
  });
  await agent.whenIdle();
  expect(session.messages().map(({ role }) => role)).toEqual(["user", "assistant"]);
  expect((await other.ask("GET", "/v1/agents/clerk")).json).toMatchObject({ name: "clerk", sessionId: "clerk" });
});
