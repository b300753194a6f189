/** A call that is cancelled while its question is being kept: its one result is its last event, and its caller has it. */
import { expect, onTestFinished, test } from "vitest";
import type { ApprovalStore } from "../../../src/core/store/approval-store.ts";
import type { ToolResult } from "../../../src/core/result.ts";
import { createRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { gate, tool } from "../bench-runtime.ts";
import { FailingStore } from "../session/failing-store.ts";

/** The moments at which the store is waited for before a person can answer. */
const MOMENTS = ["the rules are read", "the question is kept", "its event is written"] as const;
type Moment = (typeof MOMENTS)[number];

/** What ends the call meanwhile. */
const WAYS: Readonly<Record<string, (runtime: Runtime, session: RuntimeSession) => Promise<unknown>>> = {
  discard: (_runtime, session) => session.discard(),
  remove: (runtime, session) => runtime.sessions.forget(session.id),
  "cancel and close": (runtime, session) => {
    for (const { callId } of runtime.running) runtime.cancel(callId);
    return session.close();
  },
};

class Scene {
  readonly store = new FailingStore();
  readonly reached = gate();
  readonly held = gate();
  readonly runtime: Runtime;

  constructor(moment: Moment) {
    const { approvals } = this.store;
    const { put, rules } = approvals;
    const hold = async (at: Moment): Promise<void> => {
      if (at !== moment) return;
      this.reached.open();
      if (moment === "its event is written") this.store.hold();
      else await this.held.promise;
    };
    Object.assign(approvals, {
      rules: async (...query: Parameters<ApprovalStore["rules"]>) => (await hold("the rules are read"), rules.apply(approvals, query)),
      put: async (...asked: Parameters<ApprovalStore["put"]>) => {
        await hold("the question is kept");
        const kept = await put.apply(approvals, asked);
        await hold("its event is written");
        return kept;
      },
    });
    const erase = tool("erase", () => "erased", { effects: { writes: ["notes"], destructive: true } });
    this.runtime = createRuntime({ store: this.store, tools: [erase], approval: { approve: "inbox" } });
    onTestFinished(async () => void (await this.runtime.close()));
  }

  goOn(): void {
    this.held.open();
    this.store.goOn();
  }
}

async function soon(): Promise<void> {
  for (let turns = 0; turns < 10; turns++) await new Promise(setImmediate);
}

const CASES = MOMENTS.flatMap((moment) => Object.keys(WAYS).map((way) => [way, moment] as const));

test.each(CASES)("%s while %s: the caller gets a cancelled result, and the question is withdrawn", async (way, moment) => {
  const scene = new Scene(moment);
  const { runtime } = scene;
  const parent = runtime.session("desk");
  await parent.addMessage({ role: "user", content: "Erase them." });
  const session = parent.fork({ id: "branch" });
  const result: Promise<ToolResult> = session.execute({ name: "erase" });
  await scene.reached.promise;
  await soon();
  const over = WAYS[way]?.(runtime, session) ?? expect.fail(way);
  await soon();
  scene.goOn();
  expect(await result).toMatchObject({ status: "cancelled", error: { outcome: "not_started" } });
  await over;
  await soon();
  expect(await runtime.approvals.pending()).toEqual([]);
  expect(session.ownLog.filter((event) => "callId" in event).at(-1)?.type).toBe("call-end");
  expect(session.broken).toBeUndefined();
});

test.each(MOMENTS)("cancelled while %s: the log has both the question and its end, or neither", async (moment) => {
  const scene = new Scene(moment);
  const { runtime } = scene;
  const session = runtime.session("desk");
  const controller = new AbortController();
  const result = session.execute({ name: "erase" }, { signal: controller.signal });
  await scene.reached.promise;
  await soon();
  controller.abort();
  await soon();
  scene.goOn();
  expect(await result).toMatchObject({ status: "cancelled" });
  await soon();
  const asked = moment === "its event is written" ? ["approval-ask", "approval-answer"] : [];
  expect(session.log.map(({ type }) => type)).toEqual(["session-start", "call-start", ...asked, "call-end"]);
});
