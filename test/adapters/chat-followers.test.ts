import { createLoop, createRuntime } from "haft";
import { scriptedModel } from "haft/model";
import { memoryStore } from "haft/store";
import { fakePorts } from "haft/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { ChatRuns, type RunUpdate } from "../../src/adapters/chat-runs.ts";
import { gate, tool } from "../runtime/bench-runtime.ts";

test("a second stream of a run continues where the first was, and ends the first", async () => {
  const runtime = createRuntime({ store: memoryStore() });
  const session = runtime.session("a");
  const runs = new ChatRuns(runtime);
  const text = "The answer is forty two.";
  const model = scriptedModel([{ text, pieceChars: 4, delayMs: 20 }]);
  runs.startRun("a", session, () => createLoop({ model, session }).run("Go"));
  const read = async (onText: () => void): Promise<string> => {
    let read = "";
    for await (const news of runs.follow("a")) {
      if (news.type !== "text-delta") continue;
      read += news.delta;
      onText();
    }
    return read;
  };
  const second = Promise.withResolvers<string>();
  const first = await read(() => second.resolve(read(() => {})));
  expect(first + (await second.promise)).toBe(text);
  expect(first).not.toBe(text);
  await runtime.close();
});

/** Chats on a clock that a test moves. */
function chats() {
  const ports = fakePorts();
  const remove = tool("remove", () => "removed", { effects: { writes: ["files"], destructive: true } });
  const approve = () => new Promise<never>(() => {});
  const runtime = createRuntime({ ports, store: memoryStore(), tools: [remove], approval: { approve } });
  onTestFinished(async () => void (await runtime.close()));
  return { clock: ports.clock, runtime, runs: new ChatRuns(runtime) };
}

async function newsOf(stream: AsyncIterable<RunUpdate>): Promise<readonly RunUpdate[]> {
  const all: RunUpdate[] = [];
  for await (const news of stream) all.push(news);
  return all;
}

test("open approvals are polled as often for twenty streams as for one, and each stream gets its own question", async () => {
  const looked: number[] = [];
  for (const count of [1, 20]) {
    const { clock, runtime, runs } = chats();
    const pending = vi.spyOn(runtime.approvals, "pending");
    const go = gate();
    const streams = Array.from({ length: count }, async (_, index) => {
      const session = runtime.session(`chat-${index}`);
      runs.startRun(session.id, session, async () => {
        await go.promise;
        await session.execute({ name: "remove" });
      });
      return (await newsOf(runs.follow(session.id))).at(-1);
    });
    await clock.advance(1_000);
    looked.push(pending.mock.calls.length);
    go.open();
    await clock.advance(1_000);
    const asked = (await Promise.all(streams)).map((last) =>
      last?.type === "approvals" ? last.questions.map((one) => one.sessionId) : last,
    );
    expect(asked).toEqual(streams.map((_, index) => [`chat-${index}`]));
  }
  expect(looked[0]).toBeGreaterThan(5);
  expect(looked[1]).toBe(looked[0]);
});

test("an ended run is retained for ten minutes for a disconnected client, and no longer", async () => {
  const { clock, runtime, runs } = chats();
  const work = async () => undefined;
  for (const id of ["early", "late", "again"]) runs.startRun(id, runtime.session(id), work);
  await clock.advance(599_000);
  expect(await newsOf(runs.follow("early"))).toEqual([{ type: "end", error: undefined, jobs: [] }]);
  const session = runtime.sessions.get("again");
  if (session !== undefined) runs.startRun("again", session, work);
  await clock.advance(2_000);
  await expect(newsOf(runs.follow("late"))).rejects.toThrow("has no run to continue");
  expect(await newsOf(runs.follow("again"))).toEqual([{ type: "end", error: undefined, jobs: [] }]);
});

test("a run is not retained after its end was delivered to a client, or after a newer run replaced it", async () => {
  const { clock, runtime, runs } = chats();
  const work = async () => undefined;
  const before = clock.pending;
  for (let count = 0; count < 3; count++) {
    runs.startRun("a", runtime.sessions.get("a") ?? runtime.session("a"), work);
    await clock.advance(100);
  }
  expect(clock.pending).toBe(before + 1);
  expect(await newsOf(runs.follow("a"))).toEqual([{ type: "end", error: undefined, jobs: [] }]);
  await clock.advance(100);
  expect(clock.pending).toBe(before);
});

test("a stream of an ended run ends without affecting the next run of its conversation", async () => {
  const { clock, runtime, runs } = chats();
  const session = runtime.session("a");
  const second = gate();
  runs.startRun("a", session, () => session.addMessage({ role: "user", content: "Go" }));
  const stream = runs.follow("a");
  const first = stream.next();
  await clock.advance(100);
  expect(await first).toMatchObject({ value: { event: { type: "message-add" } } });
  runs.startRun("a", session, () => second.promise);
  const rest = newsOf(stream);
  await clock.advance(1_000);
  expect(await rest).toEqual([{ type: "end", error: undefined, jobs: [] }]);
  second.open();
  expect(await newsOf(runs.follow("a"))).toEqual([{ type: "end", error: undefined, jobs: [] }]);
});

test("a replaced stream delivers nothing more, however slowly its client reads", async () => {
  const runtime = createRuntime({ store: memoryStore(), tools: [tool("look", () => 1)] });
  const session = runtime.session("a");
  const runs = new ChatRuns(runtime);
  const [more, end] = [gate(), gate()];
  runs.startRun("a", session, async () => {
    for (let call = 0; call < 5; call++) await session.execute({ name: "look" });
    await more.promise;
    await session.execute({ name: "look" });
    await end.promise;
  });
  await vi.waitFor(() => expect(session.messages()).toHaveLength(10));
  const slow = runs.follow("a", undefined, { fromStart: true });
  await slow.next(); // it has read what there is
  more.open();
  await vi.waitFor(() => expect(session.messages()).toHaveLength(12));
  const types: string[] = [];
  const read = (async () => {
    for await (const news of runs.follow("a", undefined, { fromStart: true }))
      types.push(news.type === "event" ? news.event.type : news.type);
  })();
  await vi.waitFor(() => expect(types.filter((type) => type === "call-end")).toHaveLength(6));
  expect(await slow.next()).toEqual({ done: true, value: undefined });
  end.open();
  await read;
  expect(types.at(-1)).toBe("end");
  await runtime.close();
});
