/** Requests with an `Idempotency-Key`: done once, whatever else the store forgets. */
import { DatabaseSync } from "node:sqlite";
import { setTimeout as wait } from "node:timers/promises";
import { createClient } from "haft/client";
import { createAgent, createRuntime, defineTool, readOnly } from "haft";
import { scriptedModel } from "haft/model";
import { createServer, staticToken } from "haft/server";
import { sqliteStore } from "haft/sqlite";
import { FakeClock } from "haft/testing";
import { createTriggers } from "haft/triggers";
import { expect, onTestFinished, test } from "vitest";
import { useSqliteThreads } from "../../bundled-threads.ts";
import { temporaryFile } from "../../store/temporary-file.ts";
import { TOKEN, startApi, type ApiServer } from "./api-server.ts";

useSqliteThreads();

const MESSAGE = { content: "It rains." };

function send(api: ApiServer, key: string): ReturnType<ApiServer["ask"]> {
  return api.ask("POST", "/v1/channels/news/messages", { body: MESSAGE, headers: { "idempotency-key": key } });
}

async function messages(api: ApiServer): Promise<number> {
  return (await api.ask("GET", "/v1/channels/news/messages")).json.messages.length;
}

test("issue 19.6 E25 a repeated key gets the first response even when the result cache has no room", async () => {
  const api = await startApi({ storeOptions: { maxCacheBytes: 1 } });
  const first = await send(api, "first");
  for (let index = 0; index < 10; index++) await send(api, `other-${index}`);
  const again = await send(api, "first");
  expect({ text: again.text, replayed: again.headers.get("idempotency-replayed") }).toEqual({ text: first.text, replayed: "true" });
  const other = await api.ask("POST", "/v1/channels/news/messages", {
    body: { content: "It snows." },
    headers: { "idempotency-key": "first" },
  });
  expect({ status: other.status, code: other.json.code }).toEqual({ status: 409, code: "conflict" });
  expect(await messages(api)).toBe(11);
});

test("issue 19.6 without a store, a keyed request still runs once", async () => {
  const api = await startApi({ store: "none" });
  const client = createClient({ url: api.url, token: TOKEN });
  const request = { body: { calls: [{ name: "notes::add", input: { text: "Buy milk" } }] }, idempotencyKey: "one" };
  const first = await client.call("execute", request);
  expect(await client.call("execute", request)).toEqual(first);
  expect(api.added).toEqual(["Buy milk"]);
});

test("issue 19.6 a repeated keyed commit or discard gets its first response although the branch is gone", async () => {
  const api = await startApi();
  const [commit, discard] = ["commit", "discard"].map((what) => async (branch: string) => {
    const { status, text } = await api.ask("POST", `/v1/sessions/${branch}/${what}`, { headers: { "idempotency-key": "one" } });
    return { status, text };
  });
  for (const [act, branch, status] of [
    [commit, "kept", 200],
    [discard, "dropped", 204],
  ] as const) {
    await api.ask("POST", "/v1/sessions/desk/fork", { body: { id: branch } });
    const first = await act?.(branch);
    expect(first?.status).toBe(status);
    expect(await act?.(branch)).toEqual(first);
    expect((await api.ask("POST", `/v1/sessions/${branch}/commit`)).status).toBe(404);
  }
});

test("a keyed request in a simulated branch does not wait for the branch's running calls, and its key is forgotten with the branch", async () => {
  const api = await startApi();
  await api.ask("POST", "/v1/sessions", { body: { id: "trip" } });
  const begin = () => api.ask("POST", "/v1/sessions/trip/fork", { body: { id: "what-if", simulated: true } });
  const ask = (what: string, body?: object, key?: string) =>
    api.ask("POST", `/v1/sessions/what-if/${what}`, { body, ...(key === undefined ? {} : { headers: { "idempotency-key": key } }) });
  const add = { calls: [{ name: "notes::add", input: { text: "Buy milk" } }] };
  await begin();
  expect((await ask("execute", add, "one")).headers.get("idempotency-replayed")).toBeNull();
  expect((await ask("execute", add, "one")).headers.get("idempotency-replayed")).toBe("true");
  const running = ask("execute", { calls: [{ name: "notes::wait", input: {} }] });
  await wait(100);
  expect(await Promise.race([ask("fork", {}, "two"), running])).toMatchObject({ status: 201 });
  api.gate.open();
  await running;
  for (const { id } of (await api.ask("GET", "/v1/sessions")).json.sessions)
    if (id.startsWith("what-if~")) await api.ask("DELETE", `/v1/sessions/${id}`);
  await ask("discard");
  await begin();
  const again = await ask("execute", add, "one");
  expect({ status: again.status, replayed: again.headers.get("idempotency-replayed") }).toEqual({ status: 200, replayed: null });
});

test("the first keyed request in a session that the program has just created is replayed", async () => {
  const api = await startApi();
  api.runtime.session("own");
  const body = { calls: [{ name: "notes::add", input: { text: "Buy milk" } }] };
  const add = () => api.ask("POST", "/v1/sessions/own/execute", { body, headers: { "idempotency-key": "one" } });
  const first = await add();
  const again = await add();
  expect([first, again].map(({ status, headers }) => [status, headers.get("idempotency-replayed")])).toEqual([
    [200, null],
    [200, "true"],
  ]);
  expect(again.text).toBe(first.text);
});

for (const store of ["sqlite", "none"] as const)
  test(`the keyed response of a deleted session is never replayed, and the next session with its id runs its own calls (store: ${store})`, async () => {
    const api = await startApi({ store });
    const add = async (text = "Buy milk") => {
      const body = { calls: [{ name: "notes::add", input: { text } }] };
      const { status, headers, json } = await api.ask("POST", "/v1/sessions/trip/execute", { body, headers: { "idempotency-key": "k1" } });
      return { status, replayed: headers.get("idempotency-replayed"), callId: json.results?.[0].callId };
    };
    const begin = () => api.ask("POST", "/v1/sessions", { body: { id: "trip" } });
    await begin();
    const first = await add();
    expect(await add()).toEqual({ ...first, replayed: "true" });
    await api.ask("DELETE", "/v1/sessions/trip");
    expect(await add()).toEqual({ status: 404, replayed: null, callId: undefined });
    await begin();
    const second = await add("Buy bread");
    expect({ ...second, isOther: second.callId !== first.callId }).toMatchObject({ status: 200, replayed: null, isOther: true });
    expect(await add("Buy bread")).toEqual({ ...second, replayed: "true" });
    expect(api.added).toEqual(["Buy milk", "Buy bread"]);
  });

test("a keyed request for a schedule runs again for the next session with the id of a deleted one", async () => {
  const api = await startApi();
  const body = { sessionId: "trip", name: "morning", dailyAt: "07:30", prompt: "Look at the notes." };
  const plan = async () => {
    const { status, headers } = await api.ask("POST", "/v1/schedules", { body, headers: { "idempotency-key": "k1" } });
    return [status, headers.get("idempotency-replayed")];
  };
  const begin = () => api.ask("POST", "/v1/sessions", { body: { id: "trip" } });
  await begin();
  expect([await plan(), await plan()]).toEqual([
    [201, null],
    [201, "true"],
  ]);
  await api.ask("DELETE", "/v1/sessions/trip");
  await begin();
  expect(await plan()).toEqual([201, null]);
});

test("a keyed message runs again for the agent of the next session with the id of a deleted one", async () => {
  await using runtime = createRuntime({ tools: [], store: sqliteStore({ path: temporaryFile("haft.db") }) });
  const model = scriptedModel([]);
  const agents = new Map([["clerk", createAgent({ session: runtime.session("clerk"), model })]]);
  const server = createServer(runtime, { auth: staticToken({ token: TOKEN }), agents });
  await using _ = { [Symbol.asyncDispose]: () => server.close() };
  const client = createClient({ url: (await server.listen({ port: 0 })).url, token: TOKEN });
  const send = () => client.call("sendToAgent", { params: { agentName: "clerk" }, body: { content: "Hello." }, idempotencyKey: "one" });
  const inbox = () => agents.get("clerk")?.session.inbox.length;
  await send();
  await send();
  expect(inbox()).toBe(1);
  await client.call("deleteSession", { params: { sessionId: "clerk" } });
  agents.set("clerk", createAgent({ session: runtime.session("clerk"), model }));
  await send();
  await send();
  expect(inbox()).toBe(1);
});

test("a branch that reuses the id of one committed under the same key is committed as well", async () => {
  const api = await startApi();
  for (const text of ["first", "second"]) {
    await api.ask("POST", "/v1/sessions/desk/fork", { body: { id: "branch" } });
    await api.ask("POST", "/v1/sessions/branch/execute", { body: { calls: [{ name: "notes::add", input: { text } }] } });
    const commit = () => api.ask("POST", "/v1/sessions/branch/commit", { headers: { "idempotency-key": "one" } });
    const [done, again] = [await commit(), await commit()];
    expect([done.status, done.headers.get("idempotency-replayed")]).toEqual([200, null]);
    expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([200, "true"]);
    await api.ask("DELETE", "/v1/sessions/branch");
  }
  expect((await api.ask("GET", "/v1/sessions/desk/snapshot")).text).toContain('"count":2');
});

/** A server with a job that waits for its gate, and a keyed request that begins it. */
function jobServer(clock?: FakeClock) {
  const store = sqliteStore({ path: temporaryFile() });
  const gate = Promise.withResolvers<void>();
  const slow = defineTool({ name: "slow", description: "Waits.", effects: readOnly("time"), execute: () => gate.promise });
  const runtime = createRuntime({ store, tools: [slow] });
  const ports = clock === undefined ? {} : { ports: { clock } };
  const server = createServer(runtime, { auth: staticToken({ token: TOKEN }), mcp: false, ...ports });
  onTestFinished(async () => void (await runtime.close()));
  const ask = async (method: string, path: string, body?: object, more: Readonly<Record<string, string>> = {}) => {
    const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json", ...more };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await server.fetch(new Request(`http://localhost/v1${path}`, { method, headers, ...sent }));
    return { status: response.status, text: await response.text(), replayed: response.headers.get("idempotency-replayed") };
  };
  const body = { calls: [{ name: "slow" }], background: true };
  const begin = () => ask("POST", "/sessions/trip/execute", body, { "idempotency-key": "k1" });
  const endJobs = async () => {
    gate.resolve();
    await Promise.all(runtime.jobs.list().map(({ id }) => runtime.jobs.wait(id)));
  };
  return { runtime, store, ask, begin, endJobs };
}

test("issue 19.6 E25 a keyed request whose session is created by a concurrent request is replayed later, for that session only", async () => {
  const { runtime, store, ask, begin, endJobs } = jobServer();
  await store.open();
  const { beginRequest } = store.access;
  Object.assign(store.access, {
    async beginRequest(...given: Parameters<typeof beginRequest>) {
      if (runtime.sessions.get("trip") === undefined) await ask("POST", "/sessions", { id: "trip" });
      return beginRequest(...given);
    },
  });
  const first = await begin();
  expect([first.status, JSON.parse(first.text).results[0].status]).toEqual([200, "pending"]);
  await endJobs();
  expect(await begin()).toEqual({ ...first, replayed: "true" });
  Object.assign(store.access, { beginRequest });
  await ask("DELETE", "/sessions/trip");
  expect((await begin()).status).toBe(404);
});

test("issue 19.6 E25 when two processes both run a keyed request, each returns the response that was stored first", async () => {
  const { store, ask, begin } = jobServer();
  await ask("POST", "/sessions", { id: "trip" });
  const { answerRequest } = store.access;
  const other = { status: 200, headers: [["content-type", "application/json"]], body: '{"results":[]}' };
  Object.assign(store.access, {
    async answerRequest(given: Parameters<typeof answerRequest>[0]) {
      await answerRequest({ ...given, answer: JSON.stringify(other) });
      return answerRequest(given);
    },
  });
  const first = await begin();
  expect(first).toEqual({ status: 200, text: other.body, replayed: "true" });
  expect(await begin()).toEqual(first);
});

test("issue 19.6 E25 calls whose response cannot be stored get 503 and the stored response later; a fork, which would run twice, is answered", async () => {
  const { store, ask, begin, endJobs } = jobServer();
  await ask("POST", "/sessions", { id: "trip" });
  const { answerRequest } = store.access;
  Object.assign(store.access, { answerRequest: () => Promise.reject(new Error("the disk is full")) });
  const refused = await begin();
  expect([refused.status, JSON.parse(refused.text)]).toMatchObject([
    503,
    { code: "unavailable", detail: expect.stringContaining("disk is full") },
  ]);
  const forked = await ask("POST", "/sessions/trip/fork", { id: "other" }, { "idempotency-key": "k2" });
  expect(forked.status).toBe(201);
  Object.assign(store.access, { answerRequest });
  await endJobs();
  const first = await begin();
  expect([first.status, JSON.parse(first.text).results.length]).toEqual([200, 1]);
  expect(await begin()).toEqual({ ...first, replayed: "true" });
});

/** Two servers, as of two processes, over one file. */
function twoServers() {
  const path = temporaryFile();
  const clock = new FakeClock();
  const opened = [0, 1].map((index) => {
    const store = sqliteStore({ path });
    const triggers = createTriggers();
    triggers.channels.open("news", { kind: "broadcast" });
    const runtime = createRuntime({ store });
    const ids = { next: (kind: string) => `${kind}-${index}-${crypto.randomUUID()}` };
    const server = createServer(runtime, { auth: staticToken({ token: TOKEN }), triggers, ports: { clock, ids }, mcp: false });
    onTestFinished(async () => void (await runtime.close()));
    const send = async (content: string, key = "one") => {
      const response = await server.fetch(
        new Request("http://localhost/v1/channels/news/messages", {
          method: "POST",
          headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json", "idempotency-key": key },
          body: JSON.stringify({ content }),
        }),
      );
      return { status: response.status, text: await response.text(), replayed: response.headers.get("idempotency-replayed") };
    };
    return { store, send, sent: () => triggers.channels.get("news").history.length };
  });
  const [one, other] = opened;
  if (one === undefined || other === undefined) throw new Error("two were opened");
  return { path, clock, one, other };
}

test("issue 19.6 E25 when two processes get the same keyed request at once, one runs it and both return its response", async () => {
  const { clock, one, other } = twoServers();
  await Promise.all([one.store.open(), other.store.open()]);
  const asked = Promise.all([one.send("It rains."), other.send("It rains."), one.send("It rains."), other.send("It rains.")]);
  const answers = await until(asked, clock);
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect(answers.filter(({ replayed }) => replayed === null)).toHaveLength(1);
  expect(one.sent() + other.sent()).toBe(1);
  expect((await other.send("It snows.")).status).toBe(409);
});

test("issue 19.6 E25 a keyed request of a process that ended is run once by another after 15 s of silence", async () => {
  const { path, clock, one, other } = twoServers();
  const first = await one.send("It rains.");
  expect(first.status).toBe(200);
  leaveUnanswered(path);
  const began = clock.now();
  const answers = await until(Promise.all([one.send("It rains."), other.send("It rains.")]), clock);
  expect(clock.now() - began).toBeGreaterThanOrEqual(15_000);
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(answers.filter(({ replayed }) => replayed === null)).toHaveLength(1);
  expect(one.sent() + other.sent()).toBe(2);
});

const refuses = (): Promise<never> => Promise.reject(new Error("the disk is full"));

test("issue 19.6 E25 a keyed request whose record was not completely written runs again at once, whichever store operation failed", async () => {
  const { clock, one, other } = twoServers();
  await Promise.all([one.store.open(), other.store.open()]);
  const { access } = one.store;
  const { beginRequest, answerRequest, releaseRequest } = access;
  const faults: readonly [string, Partial<typeof access>, number][] = [
    ["the answer", { answerRequest: refuses }, 200],
    ["the answer and the end of the hold", { answerRequest: refuses, releaseRequest: refuses }, 200],
    ["the beginning, which was written", { beginRequest: (request) => beginRequest(request).then(refuses) }, 503],
  ];
  for (const [key, fault, status] of faults) {
    Object.assign(access, fault);
    const first = await one.send("It rains.", key);
    Object.assign(access, { beginRequest, answerRequest, releaseRequest });
    expect([key, first.status === 200 ? 200 : 503]).toEqual([key, status]);
    const began = clock.now();
    const again = await until(one.send("It rains.", key), clock);
    expect([key, again.status, again.replayed, clock.now() - began < 15_000]).toEqual([key, 200, null, true]);
    expect((await until(other.send("It rains.", key), clock)).replayed).toBe("true");
  }
});

test("issue 19.6 E25 a claim on a key for a session created meanwhile is released when the response cannot be stored", async () => {
  const clock = new FakeClock();
  const { runtime, store, ask } = jobServer(clock);
  await store.open();
  const { beginRequest, answerRequest } = store.access;
  const fork = () => ask("POST", "/sessions/trip/fork", { id: "other" }, { "idempotency-key": "k1" });
  Object.assign(store.access, {
    answerRequest: refuses,
    async beginRequest(...given: Parameters<typeof beginRequest>) {
      if (runtime.sessions.get("trip") === undefined) await ask("POST", "/sessions", { id: "trip" });
      return beginRequest(...given);
    },
  });
  expect((await fork()).status).toBe(201);
  Object.assign(store.access, { beginRequest, answerRequest });
  const began = clock.now();
  expect((await until(fork(), clock)).status).toBe(409);
  expect(clock.now() - began).toBeLessThan(15_000);
});

test("issue 19.6 E25 a process that works on a keyed request for long is not taken for dead", async () => {
  const { clock, one, other } = twoServers();
  const gate = Promise.withResolvers<void>();
  const { answerRequest } = one.store.access;
  Object.assign(one.store.access, {
    answerRequest: async (...given: Parameters<typeof answerRequest>) => gate.promise.then(() => answerRequest(...given)),
  });
  const begun = one.send("It rains.");
  while (one.sent() === 0) await tick(clock, 1);
  const asked = Promise.all([begun, other.send("It rains.")]);
  for (let second = 0; second < 60; second++) {
    await tick(clock, 1_000);
    for (const { store } of [one, other]) await store.access.refusals(); // behind the beats that the store was given
  }
  expect(one.sent() + other.sent()).toBe(1);
  gate.resolve();
  const [first, second] = await until(asked, clock);
  expect([first.replayed, second.replayed, second.text]).toEqual([null, "true", first.text]);
});

/** Lets real work, such as that of the store, go on between steps of the clock. */
async function until<T>(work: Promise<T>, clock: FakeClock): Promise<T> {
  let isOver = false;
  const ended = work.finally(() => (isOver = true));
  while (!isOver) await tick(clock, 100);
  return ended;
}

async function tick(clock: FakeClock, ms: number): Promise<void> {
  await wait(2);
  await clock.advance(ms);
}

/** As a process leaves it that ends between the effect and the answer. */
function leaveUnanswered(path: string): void {
  const file = new DatabaseSync(path, { timeout: 10_000 });
  file.exec("update haft_request set answer = null, holder = 'dead'");
  file.close();
}

test("issue 19.6 a keyed request that continues after 202 has a Retry-After header too", async () => {
  const api = await startApi();
  const body = { calls: [{ name: "notes::wait", input: {} }], waitMs: 1 };
  const [plain, keyed] = [
    await api.ask("POST", "/v1/execute", { body }),
    await api.ask("POST", "/v1/execute", { body, headers: { "idempotency-key": "a" } }),
  ];
  expect([plain.status, plain.headers.get("retry-after")]).toEqual([202, "1"]);
  expect([keyed.status, keyed.headers.get("retry-after")]).toEqual([202, "1"]);
});
