import { createLoop, createRuntime } from "haft";
import { scriptedModel } from "haft/model";
import { memoryStore } from "haft/store";
import { expect, test } from "vitest";
import { ChatRuns } from "../../src/adapters/chat-runs.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";

test("a second stream of a run goes on where the first was, and ends it", async () => {
  const runtime = createRuntime({ store: memoryStore() });
  const session = runtime.session("a");
  const runs = new ChatRuns(runtime);
  const text = "The answer is forty two.";
  const model = scriptedModel([{ text, pieceChars: 4, delayMs: 20 }]);
  runs.begin("a", session, () => createLoop({ model, session }).run("Go"));
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

test("the store is asked for open approvals once for all streams that wait, and they see one that comes", async () => {
  const ports = fakePorts();
  const runtime = createRuntime({
    store: memoryStore(),
    ports,
    tools: [
      {
        name: "remove",
        description: "Removes.",
        inputSchema: { type: "object" },
        effects: { writes: ["files"], destructive: true },
        execute: () => "removed",
      },
    ],
    approval: {
      approve: ({ signal }) => new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("withdrawn")))),
    },
  });
  let looks = 0;
  const pending = runtime.approvals.pending.bind(runtime.approvals);
  runtime.approvals.pending = (...filter) => (looks++, pending(...filter));
  const runs = new ChatRuns(runtime);
  const start = Promise.withResolvers<void>();
  const ids = Array.from({ length: 20 }, (_, index) => `chat ${index}`);
  const asked = ids.map(async (id) => {
    const session = runtime.session(id);
    runs.begin(id, session, () => start.promise.then(() => session.execute({ name: "remove", input: {} })));
    for await (const news of runs.follow(id)) if (news.type === "approvals") return news.questions.length;
    return 0;
  });
  await ports.clock.advance(1_000);
  expect(looks).toBeGreaterThan(0);
  expect(looks).toBeLessThanOrEqual(20);
  start.resolve();
  await ports.clock.advance(200);
  expect(await Promise.all(asked)).toEqual(ids.map(() => 1));
  await runtime.close();
});

test("a run whose client left is forgotten ten minutes after its end, and one that took its place is not", async () => {
  const ports = fakePorts();
  const runtime = createRuntime({ ports });
  const runs = new ChatRuns(runtime);
  const first = async (id: string) => (await runs.follow(id).next()).value;
  for (const id of ["left", "again"]) runs.begin(id, runtime.session(id), () => Promise.resolve());
  await ports.clock.advance(300_000);
  runs.begin("again", runtime.session("later"), () => Promise.resolve());
  await ports.clock.advance(300_000);
  await expect(first("left")).rejects.toMatchObject({ code: "not_found" });
  const followed = first("again");
  await ports.clock.advance(200);
  expect(await followed).toMatchObject({ type: "end" });
  await runtime.close();
});
