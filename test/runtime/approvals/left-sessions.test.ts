/** How a program leaves the questions of its calls: by a hand-over they stay open, by the end of its runtime they are withdrawn. */
import { createRuntime, defineTool } from "haft";
import { sqliteStore } from "haft/sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { temporaryFile } from "../../store/temporary-file.ts";

function program(path: string) {
  let removed = 0;
  const remove = defineTool({
    name: "remove",
    description: "Removes.",
    effects: { writes: ["files"], destructive: true },
    execute: () => `removed ${++removed}`,
  });
  const tidy = defineTool({
    name: "tidy",
    description: "Removes what is old.",
    effects: { reads: [], writes: [] },
    execute: async (_, context) => (await context.execute({ name: "remove" })).output,
  });
  const runtime = createRuntime({
    tools: [remove, tidy],
    store: sqliteStore({ path, synchronous: "normal" }),
    approval: { approve: "inbox" },
  });
  onTestFinished(async () => void (await runtime.close()));
  const asked = async (): Promise<void> => vi.waitFor(async () => expect(await runtime.approvals.pending()).toHaveLength(1));
  return { runtime, asked };
}

test("a session that is handed over while its call waits is continued by the next program, once", async () => {
  const path = temporaryFile();
  const first = program(path);
  const refused = expect(first.runtime.session("s").execute({ name: "remove" })).rejects.toMatchObject({ code: "conflict" });
  await first.asked();
  const [call] = first.runtime.underWay;
  expect(first.runtime.underWay).toMatchObject([{ sessionId: "s", name: "default::remove", waitsFor: "answer" }]);
  await first.runtime.sessions.handOver("s");
  await refused;
  await first.runtime.close();
  const second = program(path);
  const [open] = await second.runtime.approvals.pending();
  expect(open).toMatchObject({ callId: call?.callId, status: "open" });
  await second.runtime.approvals.answer({ id: open?.id ?? "", digest: open?.digest ?? "", answer: "allow-once" });
  const session = await second.runtime.resume("s");
  expect(session.history.map(({ result }) => result?.output)).toEqual(["removed 1"]);
});

test("the earlier question of a call is withdrawn as soon as the handler that made it makes it again, which asks again", async () => {
  const path = temporaryFile();
  const first = program(path);
  const refused = expect(first.runtime.session("s").execute({ name: "tidy" })).rejects.toMatchObject({ code: "conflict" });
  await first.asked();
  await first.runtime.sessions.handOver("s");
  await refused;
  await first.runtime.close();
  const { runtime: second } = program(path);
  const { approvals } = second;
  const [earlier] = await approvals.pending();
  const resuming = second.resume("s");
  const ids = async (): Promise<readonly string[]> => (await approvals.pending()).map(({ id }) => id);
  await vi.waitFor(async () => expect([(await ids()).length, (await ids()).includes(earlier?.id ?? "")]).toEqual([1, false]));
  expect(await approvals.answer({ id: earlier?.id ?? "", digest: earlier?.digest ?? "", answer: "allow-once" })).toBe(false);
  const [open] = await approvals.pending();
  await approvals.answer({ id: open?.id ?? "", digest: open?.digest ?? "", answer: "allow-once" });
  const { history } = await resuming;
  expect(history.map(({ result }) => result?.output)).toEqual(["removed 1", undefined, "removed 1"]);
});

test("closing a runtime withdraws the questions of its calls, which get a result", async () => {
  const path = temporaryFile();
  const { runtime, asked } = program(path);
  const ended = runtime.session("s").execute({ name: "remove" });
  await asked();
  await runtime.close();
  expect(await ended).toMatchObject({ status: "cancelled", error: { outcome: "not_started" } });
  expect((await program(path).runtime.approvals.list()).map(({ status }) => status)).toEqual(["withdrawn"]);
});
