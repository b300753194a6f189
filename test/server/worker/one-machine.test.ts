/** Jobs in a file that one machine uses: the next server continues them, without a request for their session. */
import { createRuntime, defineTool, readOnly, type Tool } from "haft";
import { createServer, createWorker, staticToken } from "haft/server";
import { sqliteStore } from "haft/sqlite";
import { memoryStore } from "haft/store";
import { expect, onTestFinished, test, vi } from "vitest";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { LocalQueue } from "../../../src/server/worker/local-queue.ts";
import { FakeClock, MemoryLog } from "../../../src/testing/fake-ports.ts";
import { temporaryFile } from "../../store/temporary-file.ts";

const auth = staticToken({ token: "a-token-for-the-tests" });
const PATIENCE = { timeout: 20_000 };

class World {
  readonly path = temporaryFile();
  readonly begun: string[] = [];
  readonly log = new MemoryLog();

  /** Does not end in the first process. */
  work(name: string): Tool {
    return defineTool({
      name,
      description: "Works.",
      effects: readOnly("disk"),
      timeoutMs: 0,
      execute: () => (this.begun.push(name) > 2 ? `${name} done` : new Promise<string>(() => {})),
    });
  }

  messages(part: string): readonly string[] {
    return this.log.lines.flatMap(({ message }) => (message.includes(part) ? [message] : []));
  }

  async process(tools: readonly Tool[]) {
    const store = sqliteStore({ path: this.path, synchronous: "normal" });
    const runtime = createRuntime({ tools, store, approval: { approve: "inbox" }, ports: { log: this.log } });
    await runtime.open();
    const server = createServer(runtime, { auth, limits: { graceMs: 10 }, ports: { log: this.log } });
    const stop = async (): Promise<void> => {
      await server.close({ signal: AbortSignal.abort() });
      await runtime.close();
    };
    onTestFinished(stop);
    return { runtime, server, store, stop };
  }

  /** Leaves two sessions with a job each. */
  async leaveJobs(): Promise<void> {
    const { runtime, stop } = await this.process([this.work("mill"), this.work("saw")]);
    for (const name of ["mill", "saw"]) await runtime.session(name).execute({ name }, { background: true });
    await vi.waitFor(() => expect(this.begun).toHaveLength(2), PATIENCE);
    for (const name of ["mill", "saw"]) await runtime.sessions.handOver(name);
    await stop();
  }
}

test("0401 a server on a file continues the jobs that an earlier process left", async () => {
  const world = new World();
  await world.leaveJobs();
  const { server, store } = await world.process([world.work("mill"), world.work("saw")]);
  await server.work({ pollMs: 100 });
  const done = () => store.jobs.list({ states: ["done"] });
  await vi.waitFor(async () => expect((await done()).map(({ sessionId }) => sessionId).toSorted()).toEqual(["mill", "saw"]), PATIENCE);
  expect(world.begun.toSorted()).toEqual(["mill", "mill", "saw", "saw"]);
});

test("0401 a server on a file leaves a session with a job of a tool that it lacks, and says so once", async () => {
  const world = new World();
  await world.leaveJobs();
  const { server, store } = await world.process([world.work("mill")]);
  await server.work({ pollMs: 100 });
  await vi.waitFor(async () => expect(await store.jobs.list({ states: ["done"] })).toHaveLength(1), PATIENCE);
  await vi.waitFor(() => expect(world.messages('"saw" has')).toHaveLength(1), PATIENCE);
  expect(await store.jobs.unattended()).toEqual(["saw"]);
  expect(world.messages('"saw" has')[0]).toContain('The session "saw" has a job of a tool that this process does not have');
});

test.each(["server", "worker"])("C12 a %s continues other sessions while the jobs of one wait for a person", async (kind) => {
  const world = new World();
  const tools = (): readonly Tool[] => [
    world.work("mill"),
    defineTool({ name: "wipe", description: "Wipes.", effects: { writes: ["disk"], destructive: true }, execute: () => "wiped" }),
    {
      name: "clean",
      description: "Wipes in a call of its own.",
      inputSchema: { type: "object" },
      composite: true,
      execute: (_input, context) => context.execute({ name: "wipe" }),
    },
  ];
  const first = await world.process(tools());
  for (const name of ["clean", "mill"]) await first.runtime.session(name).execute({ name }, { background: true });
  await vi.waitFor(() => expect(world.begun).toHaveLength(1), PATIENCE);
  await vi.waitFor(async () => expect(await first.runtime.approvals.pending()).toHaveLength(1), PATIENCE);
  for (const name of ["clean", "mill"]) await first.runtime.sessions.handOver(name);
  await first.stop();
  world.begun.push("again", "again"); // its next run ends
  const { runtime, server, store, stop } = await world.process(tools());
  const done = async () => (await store.jobs.list({ states: ["done"] })).map(({ sessionId }) => sessionId).toSorted();
  if (kind === "server") await server.work({ pollMs: 100, concurrency: 1 });
  else {
    Object.assign(store, { queue: new LocalQueue(systemPorts.clock) });
    const worker = createWorker(runtime, { pollMs: 100, concurrency: 1 });
    await worker.start();
    onTestFinished(() => worker.stop({ signal: AbortSignal.abort() }));
  }
  await vi.waitFor(async () => expect(await done()).toEqual(["mill"]), PATIENCE);
  await vi.waitFor(async () => expect(await runtime.approvals.pending()).toHaveLength(1), PATIENCE);
  for (const { id, digest } of await runtime.approvals.pending()) await runtime.approvals.answer({ id, digest, answer: "allow-once" });
  await vi.waitFor(async () => expect(await done()).toEqual(["clean", "mill"]), PATIENCE);
  await stop();
});

test("0401 work() needs a store that outlives the process, and createWorker() one with a queue", async () => {
  const runtime = createRuntime({ store: memoryStore() });
  const server = createServer(runtime, { auth });
  await expect(server.work()).rejects.toMatchObject({ code: "invalid_argument", message: expect.stringContaining("outlives the process") });
  await server.close();
  await runtime.close();
  const file = await new World().process([]);
  // @ts-expect-error -- a server applies the rules of its own access
  await expect(file.server.work({ allow: { deny: ["*"] } })).rejects.toThrow("allow");
  expect(() => createWorker(file.runtime)).toThrow("a store that several machines share");
  // @ts-expect-error -- a misspelt rule
  expect(() => createWorker(file.runtime, { allow: { allowed: [] } })).toThrow('A layer of rules has no option "allowed"');
});

test("0401 the queue of one process takes as many sessions at a time as it may, each once, and waits longer after each failure", async () => {
  const clock = new FakeClock();
  const queue = new LocalQueue(clock);
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const taken: string[] = [];
  expect(await queue.offer(["a", "b", "c", "a"])).toBe(3);
  const work = (id: string): Promise<void> => {
    taken.push(id);
    const gate = Promise.withResolvers<void>();
    gates.set(id, gate);
    return gate.promise;
  };
  const { stop } = await queue.take(work, { concurrency: 2, onError: () => {} });
  expect([taken, await queue.offer(["a", "c"])]).toEqual([["a", "b"], 0]);
  gates.get("a")?.reject(new Error("broken"));
  await vi.waitFor(() => expect(taken).toEqual(["a", "b", "c"]));
  expect(await queue.offer(["a"])).toBe(0);
  await clock.advance(1_000);
  expect(await queue.offer(["a"])).toBe(1);
  gates.get("b")?.resolve();
  await vi.waitFor(() => expect(taken).toEqual(["a", "b", "c", "a"]));
  gates.get("a")?.reject(new Error("broken"));
  gates.get("c")?.resolve();
  await vi.waitFor(async () => expect(await queue.offer(["c"])).toBe(1));
  await clock.advance(1_000);
  expect(await queue.offer(["a"])).toBe(0);
  await clock.advance(1_000);
  expect(await queue.offer(["a"])).toBe(1);
  const stopped = stop();
  expect(await queue.offer(["d"])).toBe(1);
  for (const id of ["a", "c"]) gates.get(id)?.resolve();
  await stopped;
  expect(taken).not.toContain("d");
});
