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
  const runtime = createRuntime({ tools: [remove], store: sqliteStore({ path, synchronous: "normal" }), approval: { approve: "inbox" } });
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

test("closing a runtime withdraws the questions of its calls, which get a result", async () => {
  const path = temporaryFile();
  const { runtime, asked } = program(path);
  const ended = runtime.session("s").execute({ name: "remove" });
  await asked();
  await runtime.close();
  expect(await ended).toMatchObject({ status: "cancelled", error: { outcome: "not_started" } });
  expect((await program(path).runtime.approvals.list()).map(({ status }) => status)).toEqual(["withdrawn"]);
});
