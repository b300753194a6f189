/** Answers to questions of calls in jobs, while the process that took up their session has not asked them again. */
import { createRuntime, defineTool, readOnly, type RuntimeOptions, type Tool } from "haft";
import type { ApprovalRecord } from "haft/store";
import { sqliteStore } from "haft/sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { temporaryFile } from "../../store/temporary-file.ts";

/** Jobs that each make two calls which a person is asked about, over a store that several processes have one after the other. */
class World {
  readonly removed: string[] = [];
  readonly #path = temporaryFile();

  async process(options: RuntimeOptions = {}) {
    const store = sqliteStore({ path: this.#path, synchronous: "normal" });
    const runtime = createRuntime({
      tools: this.#tools(),
      store,
      approval: { approve: "inbox" },
      ports: { log: { debug() {}, warn() {} } },
      ...options,
    });
    await runtime.open();
    onTestFinished(async () => void (await runtime.close()));
    const statuses = async () => (await runtime.approvals.list()).map(({ status }) => status);
    const open = (count: number) =>
      vi.waitFor(async () => {
        const pending = await runtime.approvals.pending();
        expect(pending).toHaveLength(count);
        return pending;
      }, 10_000);
    const ended = (count: number) =>
      vi.waitFor(() => expect(runtime.jobs.list().filter(({ state }) => state === "done")).toHaveLength(count), 10_000);
    return { runtime, statuses, open, ended };
  }

  /** The questions of two jobs, which are handed over. */
  async leftQuestions() {
    const { runtime, open } = await this.process();
    const session = runtime.session("s");
    for (const job of ["a", "b"]) await session.execute({ name: "clean", input: { job } });
    const questions = await open(4);
    await runtime.sessions.handOver("s");
    await runtime.close();
    return questions;
  }

  #tools(): readonly Tool[] {
    const inputSchema = {
      type: "object",
      properties: { what: { type: "string" }, job: { type: "string" }, looks: { type: "boolean" } },
    } as const;
    const remove = defineTool({
      name: "remove",
      description: "Removes.",
      inputSchema,
      effects: { writes: ["files"], destructive: true },
      execute: ({ what = "" }) => void this.removed.push(what),
    });
    const look = defineTool({
      name: "look",
      description: "Looks, and never ends.",
      effects: readOnly("files"),
      timeoutMs: 0,
      execute: () => new Promise<string>(() => {}),
    });
    const clean: Tool = {
      name: "clean",
      description: "Removes twice.",
      inputSchema,
      composite: true,
      mode: "background",
      execute: ({ job, looks }, { execute }) =>
        Promise.all([
          ...(looks === true ? [execute({ name: "look" })] : []),
          ...["1", "2"].map((part) => execute({ name: "remove", input: { what: `${String(job)}${part}` } })),
        ]),
    };
    const sweep: Tool = {
      name: "sweep",
      description: "Cleans.",
      inputSchema,
      composite: true,
      execute: ({ job }, { execute }) => execute({ name: "clean", input: { job } }, { background: false }),
    };
    return [remove, look, clean, sweep];
  }
}

test("an answer given before the resuming process asks again is accepted", async () => {
  const world = new World();
  const questions = await world.leftQuestions();
  const { runtime, open, ended } = await world.process({ jobs: { maxRunning: 1 } });
  await runtime.resume("s"); // the second job waits for its place, with its questions
  expect((await open(4)).map(({ id }) => id).toSorted()).toEqual(questions.map(({ id }) => id).toSorted());
  for (const { id, digest } of questions.toReversed())
    expect(await runtime.approvals.answer({ id, digest, answer: "allow-once" })).toBe(true);
  await ended(2);
  expect(world.removed.toSorted()).toEqual(["a1", "a2", "b1", "b2"]);
});

test("jobs that were handed over are listed as waiting while their questions are open, even if they wait for a slot", async () => {
  const world = new World();
  await world.leftQuestions();
  const { runtime, open, ended } = await world.process({ jobs: { maxRunning: 1 } });
  const counts = async () => {
    const lists = [undefined, ["queued"], ["running"], ["waiting"], ["queued", "waiting"], ["queued", "running"]] as const;
    return Promise.all(lists.map(async (states) => (await runtime.jobs.listStored(states === undefined ? {} : { states })).length));
  };
  expect(await counts()).toEqual([2, 0, 0, 2, 2, 0]);
  await runtime.resume("s");
  expect(await counts()).toEqual([2, 0, 0, 2, 2, 0]);
  for (const { id, digest } of await open(4)) await runtime.approvals.answer({ id, digest, answer: "allow-once" });
  await ended(2);
  expect(await counts()).toEqual([2, 0, 0, 0, 0, 0]);
});

test.each(["of a job", "in the foreground"])("a question that is asked again after a restart names its outer calls (%s)", async (how) => {
  const world = new World();
  const first = await world.process();
  const called = first.runtime.session("s").execute({ name: "sweep", input: { job: "a" } }, { background: how === "of a job" });
  called.catch(() => {}); // its session is handed over
  const scenes = (pending: readonly ApprovalRecord[]) => pending.map(({ within = [] }) => within.map(({ toolName }) => toolName));
  const before = scenes(await first.open(2));
  expect(before).toEqual(Array.from({ length: 2 }, () => ["default::clean", "default::sweep"]));
  await first.runtime.sessions.handOver("s");
  const { runtime, open } = await world.process();
  const asked = Promise.withResolvers<void>();
  runtime.subscribe(({ type }) => type === "approval-ask" && asked.resolve());
  runtime.resume("s").catch(() => {}); // waits for the answers, and the runtime is closed before
  await asked.promise;
  await vi.waitFor(() => expect(runtime.running.some(({ name }) => name === "default::remove")).toBe(true));
  expect(scenes(await open(2))).toEqual(before);
  if (how === "in the foreground") return;
  const [job] = runtime.jobs.list();
  expect(job).toMatchObject({ toolName: "default::sweep", state: "waiting" });
  expect(runtime.running.map(({ jobId }) => jobId)).toEqual([job?.id, job?.id]);
  expect(runtime.sessions.get("s")?.awaitingApproval).toBe(1);
});

test.each(["running", "queued"])(
  "questions of a %s job are withdrawn when it is cancelled, and those of other jobs stay",
  async (meant) => {
    const world = new World();
    await world.leftQuestions();
    const { runtime, statuses, open } = await world.process({ jobs: { maxRunning: 1 } });
    await runtime.resume("s");
    await open(4);
    const job = runtime.jobs.list().find(({ state }) => (state === "queued") === (meant === "queued"));
    runtime.jobs.cancel(job?.id ?? "", "Not wanted.");
    const left = await open(2);
    expect(new Set(left.map(({ input }) => String(input["what"]).slice(0, 1))).size).toBe(1);
    expect((await statuses()).toSorted()).toEqual(["open", "open", "withdrawn", "withdrawn"]);
  },
);

test("questions that no approval rule requires any more are withdrawn", async () => {
  const world = new World();
  await world.leftQuestions();
  const { runtime, statuses, ended } = await world.process({ approval: { approve: "inbox", never: ["remove"] } });
  await runtime.resume("s");
  await ended(2);
  await vi.waitFor(async () => expect(await statuses()).toEqual(["withdrawn", "withdrawn", "withdrawn", "withdrawn"]), 10_000);
});

test("questions of jobs that are handed over again before they ask stay open", async () => {
  const world = new World();
  const questions = await world.leftQuestions();
  for (let round = 0; round < 3; round++) {
    const { runtime, open } = await world.process({ jobs: { maxRunning: 1 } });
    await runtime.resume("s");
    await open(4);
    await runtime.sessions.handOver("s");
    await runtime.close();
  }
  const { runtime, open, ended } = await world.process();
  await runtime.resume("s");
  await open(4);
  for (const { id, digest } of questions) expect(await runtime.approvals.answer({ id, digest, answer: "allow-once" })).toBe(true);
  await ended(2);
  expect(world.removed.toSorted()).toEqual(["a1", "a2", "b1", "b2"]);
});

test("a job whose calls wait for approval each time its process is killed is not parked, and its questions stay open", async () => {
  const world = new World();
  const first = await world.process();
  const { callId } = await first.runtime.session("s").execute({ name: "clean", input: { job: "a" } });
  const questions = await first.open(2);
  let last = first;
  for (let kills = 0; kills < 5; kills++) {
    last = await world.process();
    await last.runtime.resume("s", { takeOver: true }); // what the process before writes from now on is refused, as if it were gone
    await vi.waitFor(() => expect(last.runtime.jobs.get(callId)?.state).toBe("waiting"), 10_000);
  }
  for (const { id, digest } of questions) expect(await last.runtime.approvals.answer({ id, digest, answer: "allow-once" })).toBe(true);
  await vi.waitFor(() => expect(last.runtime.jobs.list()).toMatchObject([{ state: "done" }]), 30_000);
  expect(world.removed.toSorted()).toEqual(["a1", "a2"]);
});

test("a job with a question is parked as usual if another of its calls runs each time its process is killed", async () => {
  const world = new World();
  const first = await world.process();
  const { callId } = await first.runtime.session("s").execute({ name: "clean", input: { job: "a", looks: true } });
  await first.open(2);
  let last = first;
  for (let kills = 0; kills < 3; kills++) {
    last = await world.process();
    await last.runtime.resume("s", { takeOver: true });
    if (kills < 2) await vi.waitFor(() => expect(last.runtime.running.some(({ name }) => name === "default::look")).toBe(true), 10_000);
  }
  expect((await last.runtime.jobs.wait(callId)).state).toBe("parked");
});
