/** A background delegate whose process ended while a call of it waited for approval. */
import { expect, test } from "vitest";
import type { SessionEvent } from "../../../src/core/event.ts";
import { delegateTool } from "../../../src/compose/delegate/delegate.ts";
import { scriptedModel } from "../../../src/model/scripted-model.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { testRuntime, tool } from "../../runtime/bench-runtime.ts";

const EPHEMERAL: ReadonlySet<string> = new Set(["call-wait", "call-attempt", "call-retry", "call-progress", "job-output"]);

function bench() {
  const model = scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === "result") ? { text: "Done." } : { calls: [{ name: "default::erase", input: {} }] },
  );
  const erase = tool("erase", () => "erased", { effects: { writes: ["disk"], destructive: true } });
  const help = delegateTool({ name: "help", description: "Erases for others.", model, mode: "background" });
  const store = memoryStore();
  return { store, ...testRuntime({ store, tools: [erase, help], approval: { approve: "inbox" } }) };
}

test("a delegate job that is resumed after a crash is waiting only while a call of its delegate waits for approval", async () => {
  const before = bench();
  const { id } = await before.runtime.session("s").submit({ name: "help", input: { task: "Erase it." } });
  await expect.poll(() => before.runtime.jobs.get(id)?.state).toBe("waiting");
  const events = before.events.filter((event): event is SessionEvent => "sessionId" in event && !EPHEMERAL.has(event.type));
  const { store, runtime } = bench();
  for (const sessionId of ["s", `s/${id}`])
    store.create(sessionId, { at: 0, durability: "sync" }).append(events.filter((event) => event.sessionId === sessionId));
  const session = await runtime.resume("s", { takeOver: true });
  await expect.poll(async () => (await runtime.approvals.list()).length).toBe(1);
  expect([runtime.jobs.get(id)?.state, session.awaitingApproval]).toEqual(["waiting", 1]);
  const [question] = await runtime.approvals.list();
  const { id: questionId = "", digest = "" } = question ?? {};
  await runtime.approvals.answer({ id: questionId, digest, answer: "allow-once" });
  await expect.poll(() => runtime.jobs.get(id)?.state).toBe("done");
  expect(session.awaitingApproval).toBe(0);
  await runtime.close();
  await before.runtime.close();
});
