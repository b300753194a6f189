/** Issue 20.5: a branch that begins at an earlier point of a session, and the differences of two points. */
import { createRuntime, defineTool } from "haft";
import { diffSessions } from "haft/session";
import { replayEngine } from "haft/recording";
import { expect, test } from "vitest";
import type { SessionEvent } from "../../src/core/event.ts";

/** Three turns that add 1, 10 and 100; `starts` are the positions before them. */
async function played() {
  const real: number[] = [];
  const add = defineTool({
    name: "add",
    description: "Adds to the sum.",
    inputSchema: { type: "object", properties: { by: { type: "integer" } }, required: ["by"] },
    effects: { writes: ["ledger"] },
    execute: ({ by }: { readonly by: number }, { state }) => {
      real.push(by);
      state.update("sum", (sum) => Number(sum ?? 0) + by);
      return { added: by };
    },
  });
  const runtime = createRuntime({ toolsets: [{ name: "sum", tools: [add] }] });
  const session = runtime.session("one");
  for (const by of [1, 10, 100]) await session.execute({ name: "sum::add", input: { by } });
  const events = await eventsOf(session);
  const starts = events.flatMap(({ type }, index) => (type === "call-start" ? [index] : []));
  return { runtime, real, session, events, starts };
}

async function eventsOf(session: { events(): AsyncIterable<SessionEvent> }): Promise<SessionEvent[]> {
  const events: SessionEvent[] = [];
  for await (const event of session.events()) events.push(event);
  return events;
}

test("issue 20.5 a branch from an earlier point starts with its state; it can be discarded, but not committed", async () => {
  const { session, starts, events } = await played();
  const branch = await session.forkAt(starts[1] ?? 0);
  await branch.execute({ name: "sum::add", input: { by: 5 } });
  expect(branch.diff()).toMatchObject({ state: [{ toolset: "sum", key: "sum", before: 1, after: 6 }], calls: [{ input: { by: 5 } }] });
  expect((await eventsOf(branch)).slice(0, starts[1])).toEqual(events.slice(0, starts[1]));
  await expect(branch.commit()).rejects.toMatchObject({ code: "conflict" });
  await branch.discard();
  expect(session.length).toBe(events.length);
});

test("issue 20.5 a branch from the last event can be committed like any other", async () => {
  const { session, events } = await played();
  const branch = await session.forkAt(events.length);
  await branch.execute({ name: "sum::add", input: { by: 5 } });
  await branch.commit();
  expect([...session.stateMap.entries()].map(([, value]) => value)).toEqual([116]);
});

test("issue 20.5 a branch cannot start inside a batch with an idempotency key, not even before its first call", async () => {
  const { session, events: before } = await played();
  const calls = [2, 3].map((by) => ({ name: "sum::add", input: { by } }));
  await session.execute(calls, { idempotencyKey: "k" });
  const { length } = await eventsOf(session);
  for (let at = before.length + 1; at < length; at++)
    await expect(session.forkAt(at)).rejects.toMatchObject({ code: "conflict", message: expect.stringContaining(`after ${at} events`) });
  for (const at of [before.length, length]) await (await session.forkAt(at)).discard();
});

test("issue 20.5 a simulated branch from an earlier point runs nothing", async () => {
  const { session, real, starts, events } = await played();
  const branch = await session.forkAt(starts[1] ?? 0, { simulated: true });
  const { error } = await branch.execute({ name: "sum::add", input: { by: 7 } });
  await branch.discard();
  expect([error?.code, real, session.length]).toEqual(["not_simulatable", [1, 10, 100], events.length]);
});

test.each([
  ["more events than there are", 10_000, "invalid_argument"],
  ["half an event", 1.5, "invalid_argument"],
  ["a call that had not ended", -1, "conflict"],
])("issue 20.5 a branch cannot start after %s", async (_what, length, code) => {
  const { session, starts } = await played();
  await expect(session.forkAt(length < 0 ? (starts[1] ?? 0) + 1 : length)).rejects.toMatchObject({ code });
});

test("issue 20.5 a branch can replay the session's recorded calls, and other calls are not found", async () => {
  const { session, real, events, starts } = await played();
  const branch = await session.forkAt(starts[1] ?? 0);
  const replay = replayEngine(events, { repeatLast: true });
  const results = await branch.execute(
    [10, 11].map((by) => ({ name: "sum::add", input: { by } })),
    { answerFrom: "replay", replay },
  );
  expect(results.map(({ origin, output, error }) => [origin, output ?? error?.code])).toEqual([
    ["replay", { added: 10 }],
    ["replay", "not_found"],
  ]);
  expect(real).toEqual([1, 10, 100]);
});

test("issue 20.5 a diff of two points of a session lists state and calls", async () => {
  const { session, starts } = await played();
  const diff = await diffSessions(session, session, { at: starts[2] ?? 0, otherAt: starts[1] ?? 0 });
  expect(diff).toMatchObject({ state: [{ key: "sum", before: 1, after: 11 }], calls: [{ input: { by: 10 } }] });
  const none = await diffSessions(session, session, { otherAt: 0 });
  expect(none.state.map(({ before, after }) => [before, after])).toEqual([[undefined, 111]]);
  await expect(diffSessions(session, session, { at: -1 })).rejects.toMatchObject({ code: "invalid_argument" });
});
