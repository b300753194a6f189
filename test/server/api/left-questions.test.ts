/** Servers that stop while calls wait for a person, or for a lock: the next server of the store continues them. */
import { createRuntime, defineTool, type Ask, type Tool } from "haft";
import { createClient } from "haft/client";
import { createServer, staticToken, type ServerLimits } from "haft/server";
import { sqliteStore } from "haft/sqlite";
import { memoryStore } from "haft/store";
import { expect, onTestFinished, test, vi } from "vitest";
import { sessionWithin } from "../../../src/runtime/session-within.ts";
import { temporaryFile } from "../../store/temporary-file.ts";
import { Gate } from "./api-server.ts";

const TOKEN = "a-token-for-the-tests";

/** What its servers have done, over all of them. */
class World {
  readonly path = temporaryFile();
  readonly done: string[] = [];
  readonly gate = new Gate();

  get tools(): readonly Tool[] {
    const deed = (name: string, effects: Tool["effects"]): Tool =>
      defineTool({
        name,
        description: "Does it.",
        inputSchema: { type: "object", properties: { what: { type: "string" } } },
        ...(effects === undefined ? {} : { effects }),
        execute: ({ what = "" }) => {
          this.done.push(`${name} ${what}`.trim());
          return `${name} done`;
        },
      });
    return [
      deed("remove", { writes: ["files"], destructive: true }),
      deed("write", { writes: ["disk"] }),
      deed("erase", { writes: ["disk"], destructive: true }),
      deed("read", { reads: ["disk"] }),
      defineTool({
        name: "hold",
        description: "Holds the disk until the gate opens or it is cancelled.",
        effects: { writes: ["disk"], idempotent: true },
        execute: async (_input, { signal }) => {
          this.done.push("hold");
          await this.gate.pass(signal);
          return "held";
        },
      }),
      defineTool({
        name: "inquire",
        description: "Asks a person.",
        effects: { reads: [] },
        execute: async (_input, context) => {
          this.done.push("inquire");
          return (await context.ask({ message: "Which?" })).action;
        },
      }),
      {
        name: "clean",
        description: "Removes.",
        inputSchema: { type: "object" },
        composite: true,
        execute: (_input, context) => context.execute({ name: "remove", input: { what: "all" } }),
      },
      {
        name: "relay",
        description: "Writes.",
        inputSchema: { type: "object" },
        composite: true,
        execute: (_input, context) => context.execute({ name: "write", input: { what: "all" } }),
      },
      within("delegate", "remove"),
      within("relayWithin", "write"),
      {
        name: "wrap",
        description: "Removes, and pays.",
        inputSchema: { type: "object" },
        effects: { writes: ["bank"] },
        execute: async (_input, context) => {
          this.done.push("pay");
          return (await context.execute({ name: "remove" }, { signal: context.signal })).status;
        },
      },
    ];
  }

  async server({ graceMs = 600_000, ask, limits }: { readonly graceMs?: number; readonly ask?: Ask; readonly limits?: ServerLimits } = {}) {
    const store = sqliteStore({ path: this.path, synchronous: "normal" });
    const ports = { log: { debug() {}, warn() {} } };
    const runtime = createRuntime({
      tools: this.tools,
      store,
      approval: { approve: "inbox" },
      ports,
      ...(ask === undefined ? {} : { ask }),
    });
    await runtime.open();
    const server = createServer(runtime, { auth: staticToken({ token: TOKEN }), limits: { graceMs, ...limits }, ports });
    const { url } = await server.listen({ port: 0 });
    onTestFinished(async () => {
      await server.close({ signal: AbortSignal.abort() });
      await runtime.close();
    });
    const stop = async (signal?: AbortSignal): Promise<void> => {
      await server.close(signal === undefined ? {} : { signal });
      await runtime.close();
    };
    const client = createClient({ url, token: TOKEN, maxAttempts: 1 });
    const open = () => runtime.approvals.pending();
    const waiting = (count: number) => vi.waitFor(async () => expect(await open()).toHaveLength(count), 20_000);
    const allow = async (): Promise<void> => {
      for (const { id, digest } of await open()) await runtime.approvals.answer({ id, digest, answer: "allow-once" });
    };
    const keyed = (...names: readonly string[]) =>
      client.call("execute", { body: { calls: callsOf(...names) }, idempotencyKey: names.join() });
    const fetchPath = (path: string) =>
      server.fetch(new Request(`http://127.0.0.1${path}`, { headers: { host: "127.0.0.1", authorization: `Bearer ${TOKEN}` } }));
    return { runtime, client, fetch: fetchPath, close: () => server.close(), stop, open, waiting, allow, keyed };
  }
}

/** A tool that calls another one in a session of its own. */
function within(name: string, called: string): Tool {
  return {
    name,
    description: `Calls ${called} in a session of its own.`,
    inputSchema: { type: "object" },
    composite: true,
    async execute(_input, context) {
      const session = await sessionWithin(context);
      try {
        const call = { name: called, input: { what: "all" } };
        return await session.execute(call, { signal: context.signal, idempotencyKey: called }); // run again, it goes on from there
      } finally {
        await session.close();
      }
    },
  };
}

const callsOf = (...names: readonly string[]) => names.map((name, index) => ({ name, input: { what: String(index) } }));
const refusal = (sent: Promise<unknown>) =>
  sent.then(
    () => expect.fail("it was answered"),
    (thrown: { readonly problem?: unknown }) => thrown.problem,
  );

test.each(["/v1/execute", "/v1/sessions/s/execute"])(
  "a stopping server leaves the questions of a keyed request to %s open, and the next server acts on their answers once",
  async (path) => {
    const world = new World();
    const first = await world.server();
    if (path !== "/v1/execute") await first.client.call("createSession", { body: { id: "s" } });
    const send = ({ client }: typeof first) => {
      const request = { body: { calls: callsOf("remove", "remove") }, idempotencyKey: "k" };
      return path === "/v1/execute"
        ? client.call("execute", request)
        : client.call("executeInSession", { ...request, params: { sessionId: "s" } });
    };
    const refused = refusal(send(first));
    await first.waiting(2);
    await first.stop(); // its grace is ten minutes
    expect(await refused).toMatchObject({
      status: 503,
      code: "unavailable",
      retryable: true,
      detail: expect.stringContaining("waits for an answer"),
    });
    const second = await world.server();
    expect(await second.open()).toHaveLength(2);
    await second.allow(); // before any process waits
    const { results } = await send(second);
    expect([results.map(({ output }) => output), world.done]).toEqual([
      ["remove done", "remove done"],
      ["remove 0", "remove 1"],
    ]);
    expect((await send(second)).results).toEqual(results);
  },
);

test("a request without a key gets the id of its waiting call, and is marked as not retryable", async () => {
  const world = new World();
  const first = await world.server();
  await first.client.call("createSession", { body: { id: "s" } });
  const refused = refusal(first.client.call("executeInSession", { params: { sessionId: "s" }, body: { calls: callsOf("remove") } }));
  await first.waiting(1);
  const [{ callId } = expect.fail()] = await first.open();
  await first.stop();
  expect(await refused).toMatchObject({ status: 503, retryable: false, detail: expect.stringContaining(callId) });
  const second = await world.server();
  await second.allow();
  const read = await second.client.call("executeInSession", { params: { sessionId: "s" }, body: { calls: callsOf("read") } });
  expect(read.results[0]?.status).toBe("ok");
  expect(await second.client.call("getCall", { params: { callId }, query: { sessionId: "s" } })).toMatchObject({
    result: { status: "ok" },
  });
  expect(world.done).toEqual(["remove 0", "read 0"]);
});

test("a call that runs beside an open question may finish during the grace period, and its result is stored", async () => {
  const world = new World();
  const first = await world.server();
  const refused = refusal(first.keyed("hold", "remove"));
  await world.gate.entered.promise;
  await first.waiting(1);
  const stopped = first.stop();
  setTimeout(() => world.gate.open(), 50);
  await stopped;
  expect(await refused).toMatchObject({ retryable: true });
  const second = await world.server();
  await second.allow();
  expect((await second.keyed("hold", "remove")).results.map(({ output }) => output)).toEqual(["held", "remove done"]);
  expect(world.done).toEqual(["hold", "remove 1"]);
});

test.each([
  ["its grace is over", 50],
  ["it is told to stop at once", 600_000],
])("a call that does not end is cancelled when %s, and the question beside it stays open", async (_when, graceMs) => {
  const world = new World();
  const first = await world.server({ graceMs });
  const refused = refusal(first.keyed("hold", "remove"));
  await world.gate.entered.promise;
  await first.waiting(1);
  await first.stop(graceMs === 50 ? undefined : AbortSignal.timeout(50));
  expect(await refused).toMatchObject({ retryable: true });
  const second = await world.server();
  await second.allow();
  expect((await second.keyed("hold", "remove")).results.map(({ status }) => status)).toEqual(["cancelled", "ok"]);
  expect(world.done).toEqual(["hold", "remove 1"]);
});

test.each([["write"], ["erase"]])(
  "a call of %s that waits for a lock at the end of the grace period is left to the next process, with its approval",
  async (name) => {
    const world = new World();
    const first = await world.server({ graceMs: 50 });
    const held = first.keyed("hold");
    await world.gate.entered.promise;
    const refused = refusal(first.keyed(name));
    if (name === "erase") {
      await first.waiting(1);
      await first.allow();
    }
    const waits = () => first.runtime.underWay.find((call) => call.name === `default::${name}`)?.waitsFor;
    await vi.waitFor(() => expect(waits()).toBe("start"));
    if (name === "erase") await first.waiting(0);
    await first.stop();
    expect((await held).results[0]?.status).toBe("cancelled");
    expect(await refused).toMatchObject({ status: 503, retryable: true, detail: expect.stringContaining("has not started") });
    const second = await world.server();
    expect((await second.keyed(name)).results[0]?.output).toBe(`${name} done`);
    expect([await second.open(), world.done]).toEqual([[], ["hold", `${name} 0`]]);
  },
);

test.each(["relay", "relayWithin"])(
  "a call inside the composite tool %s that waits for a lock is left to the next process too",
  async (name) => {
    const world = new World();
    const first = await world.server({ graceMs: 50 });
    const held = first.keyed("hold");
    await world.gate.entered.promise;
    const refused = refusal(first.keyed(name));
    const waits = () => first.runtime.underWay.flatMap((call) => (call.name === "default::hold" ? [] : [call.waitsFor]));
    await vi.waitFor(() => expect(waits()).toEqual(["start", "start"]));
    await first.stop();
    expect((await held).results[0]?.status).toBe("cancelled");
    expect(await refused).toMatchObject({ status: 503, retryable: true });
    const second = await world.server();
    expect((await second.keyed(name)).results).toMatchObject([{ output: { status: "ok", output: "write done" } }]);
    expect(world.done).toEqual(["hold", "write all"]);
  },
);

test.each(["clean", "delegate"])("the question of a call inside the composite tool %s stays open", async (name) => {
  const world = new World();
  const first = await world.server();
  const refused = refusal(first.keyed(name));
  await first.waiting(1);
  await first.stop();
  expect(await refused).toMatchObject({ retryable: true });
  const second = await world.server();
  await second.allow();
  expect((await second.keyed(name)).results).toMatchObject([{ output: { status: "ok" } }]);
  expect(world.done).toEqual(["remove all"]);
});

test("the question of a background job stays open, and the job's session continues with its next request", async () => {
  const world = new World();
  const first = await world.server();
  await first.client.call("createSession", { body: { id: "s" } });
  const send = (server: typeof first, name: string, background: boolean) =>
    server.client.call("executeInSession", { params: { sessionId: "s" }, body: { calls: callsOf(name), background } });
  const { results } = await send(first, "clean", true);
  await first.waiting(1);
  await first.stop();
  const second = await world.server();
  await second.allow();
  expect((await send(second, "read", false)).results[0]?.status).toBe("ok");
  const jobId = results[0]?.callId ?? "";
  expect(await second.client.call("waitForJob", { params: { jobId }, query: { timeoutMs: 20_000 } })).toMatchObject({ state: "done" });
  expect(world.done.toSorted()).toEqual(["read 0", "remove all"]);
});

test("a question inside a non-repeatable call is withdrawn, because no other process could continue that call", async () => {
  const world = new World();
  const first = await world.server({ graceMs: 50 });
  const sent = first.keyed("wrap");
  await first.waiting(1);
  await first.stop();
  expect((await sent).results[0]).toMatchObject({ status: "cancelled", error: { outcome: "unknown" } });
  const second = await world.server();
  expect([await second.open(), (await second.keyed("wrap")).results[0]?.status, world.done]).toEqual([[], "cancelled", ["pay"]]);
});

test("a repeatable handler that waits for an answer asks again in the next process", async () => {
  const world = new World();
  const asked = Promise.withResolvers<void>();
  const never: Ask = () => {
    asked.resolve();
    return new Promise(() => {});
  };
  const first = await world.server({ graceMs: 50, ask: never });
  const refused = refusal(first.keyed("inquire"));
  await asked.promise;
  await first.stop();
  expect(await refused).toMatchObject({ retryable: true });
  const second = await world.server({ ask: () => ({ action: "accept" }) });
  expect([(await second.keyed("inquire")).results[0]?.output, world.done]).toEqual(["accept", ["inquire", "inquire"]]);
});

test.each([0, 1, 2, 4, 8, 16, 32])("an answer that arrives %i steps before or while the session is released counts once", async (steps) => {
  const world = new World();
  const first = await world.server();
  const sent = first.keyed("remove").catch(() => undefined);
  await first.waiting(1);
  const allowed = first.allow();
  for (let step = 0; step < steps; step++) await new Promise((resolve) => setImmediate(resolve));
  await first.stop();
  await Promise.all([allowed, sent]);
  const second = await world.server();
  expect((await second.keyed("remove")).results[0]?.output).toBe("remove done");
  expect([await second.open(), world.done]).toEqual([[], ["remove 0"]]);
});

test("a waiting request in a session of the program is rejected after the grace period, and its call keeps waiting in the open runtime", async () => {
  const world = new World();
  const server = await world.server({ graceMs: 50 });
  const session = server.runtime.session("own");
  const refused = refusal(server.client.call("executeInSession", { params: { sessionId: "own" }, body: { calls: callsOf("remove") } }));
  await server.waiting(1);
  await server.close();
  expect(await refused).toMatchObject({
    status: 503,
    outcome: "unknown",
    retryable: false,
    detail: expect.stringContaining("waits for an answer"),
  });
  await server.allow();
  await vi.waitFor(() => expect(session.history[0]?.result?.status).toBe("ok"));
  expect(world.done).toEqual(["remove 0"]);
});

test("a call of the program continues while the server closes its idle session", async () => {
  const world = new World();
  const server = await world.server({ limits: { sessionIdleMs: 20 } });
  await server.client.call("createSession", { body: { id: "s" } });
  const asked = server.runtime.sessions.get("s")?.execute({ name: "remove", input: { what: "it" } });
  await server.waiting(1);
  await vi.waitFor(() => expect(server.runtime.sessions.get("s")).toBeUndefined()); // the server closes it
  await server.allow();
  expect([(await asked)?.status, world.done]).toEqual(["ok", ["remove it"]]);
});

test("releasing many questions does not scan the running calls once per question", async () => {
  const world = new World();
  const server = await world.server();
  const refused = Array.from({ length: 40 }, (_, index) =>
    server.client.call("execute", { body: { calls: callsOf("remove") }, idempotencyKey: `k${index}` }).catch(() => "refused"),
  );
  await server.waiting(40);
  const looks = vi.spyOn(server.runtime, "underWay", "get");
  await server.close();
  expect([new Set(await Promise.all(refused)), looks.mock.calls.length < 40]).toEqual([new Set(["refused"]), true]);
});

test("a released session is not resumed by a read-only request while other calls end", async () => {
  const world = new World();
  const server = await world.server({ graceMs: 2_000 });
  await server.client.call("createSession", { body: { id: "s" } });
  const refused = refusal(server.client.call("executeInSession", { params: { sessionId: "s" }, body: { calls: callsOf("remove") } }));
  await server.waiting(1);
  const held = server.keyed("hold");
  await world.gate.entered.promise;
  const stopped = server.stop();
  await refused;
  const resume = vi.spyOn(server.runtime, "resume");
  expect((await server.fetch("/v1/sessions/s/snapshot")).status).toBe(503);
  expect(resume).not.toHaveBeenCalled();
  world.gate.open();
  expect((await held).results[0]?.output).toBe("held");
  await stopped;
});

test("without a store that outlives the process the question is withdrawn, since no other process could act on its answer", async () => {
  const world = new World();
  const runtime = createRuntime({ tools: world.tools, store: memoryStore(), approval: { approve: "inbox" } });
  onTestFinished(async () => void (await runtime.close()));
  const server = createServer(runtime, { auth: staticToken({ token: TOKEN }), limits: { graceMs: 50 } });
  const { url } = await server.listen({ port: 0 });
  const sent = createClient({ url, token: TOKEN }).call("execute", { body: { calls: callsOf("remove") }, idempotencyKey: "k" });
  await vi.waitFor(async () => expect(await runtime.approvals.pending()).toHaveLength(1));
  await server.close();
  expect((await sent).results[0]?.status).toBe("cancelled");
  expect((await runtime.approvals.list()).map(({ status }) => status)).toEqual(["withdrawn"]);
});

test("a request queued behind a question is rejected as not started and retryable", async () => {
  const world = new World();
  const first = await world.server();
  await first.client.call("createSession", { body: { id: "s" } });
  const send = (name: string, server = first) =>
    server.client.call("executeInSession", { params: { sessionId: "s" }, body: { calls: callsOf(name) } });
  const refused = refusal(send("remove"));
  await first.waiting(1);
  const execute = vi.spyOn(first.runtime.sessions.get("s") ?? expect.fail("it is open"), "execute");
  const behind = refusal(send("write"));
  await vi.waitFor(() => expect(execute).toHaveBeenCalled());
  await first.stop();
  expect(await refused).toMatchObject({ retryable: false, outcome: "unknown" });
  expect(await behind).toMatchObject({ status: 503, retryable: true, outcome: "not_started" });
  const second = await world.server();
  await second.allow();
  expect((await send("write", second)).results[0]?.status).toBe("ok");
  expect(world.done).toEqual(["remove 0", "write 0"]);
});

test("a request that waits for an earlier server's question is rejected at once as retryable, however many servers stop", async () => {
  const world = new World();
  for (let servers = 0; servers < 4; servers++) {
    const server = await world.server();
    const refused = refusal(server.keyed("remove"));
    await vi.waitFor(() => expect(server.runtime.underWay.map(({ waitsFor }) => waitsFor)).toEqual(["answer"]));
    await server.stop(servers % 2 === 0 ? undefined : AbortSignal.abort()); // its grace of ten minutes is not waited for in either case
    expect(await refused).toMatchObject({ status: 503, retryable: true });
  }
  const last = await world.server();
  await last.allow();
  expect((await last.keyed("remove")).results[0]?.output).toBe("remove done");
  expect(world.done).toEqual(["remove 0"]);
});

test("a client that waits for a job gets the job's current state when the server stops and others continue it", async () => {
  const world = new World();
  const first = await world.server();
  await first.client.call("createSession", { body: { id: "s" } });
  await first.client.call("executeInSession", { params: { sessionId: "s" }, body: { calls: callsOf("clean"), background: true } });
  await first.waiting(1);
  const [job] = first.runtime.jobs.list();
  const params = { jobId: job?.id ?? "" };
  const waits = first.client.call("waitForJob", { params, query: { timeoutMs: 60_000 } });
  await vi.waitFor(async () => expect((await first.client.call("getJob", { params })).state).toBe("waiting"));
  await first.stop();
  expect(await waits).toMatchObject({ id: params.jobId, sessionId: "s", state: "waiting" });
});
