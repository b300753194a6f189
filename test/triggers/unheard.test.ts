/** Messages of triggers that a run has left behind, and ticks that are no message. */
import { expect, test } from "vitest";
import { createAgent } from "../../src/compose/agent.ts";
import { createRuntime } from "../../src/compose/loop-runtime.ts";
import type { Model } from "../../src/core/model.ts";
import { scriptedModel } from "../../src/model/models.ts";
import { FakeClock, MemoryLog, countingIds } from "../../src/testing/fake-ports.ts";
import { createTriggers, type Triggers } from "../../src/triggers/triggers.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;

class SetClock extends FakeClock {
  aheadMs = 0;

  override wallTime(): number {
    return super.wallTime() + this.aheadMs;
  }
}

function begin(triggers: Triggers = createTriggers(), first: Promise<unknown> = Promise.resolve()) {
  const clock = new SetClock({ wallTime: Date.UTC(2026, 4, 1, 8, 0) });
  const session = createRuntime({ ports: { clock, log: new MemoryLog(), ids: countingIds() } }).session("s");
  const answers = scriptedModel(Array.from({ length: 50 }, () => ({ text: "ok" })));
  let requests = 0;
  const model: Model = {
    name: answers.name,
    async *stream(request, options) {
      if (requests++ === 0) await Promise.race([first, new Promise((resolve) => options?.signal?.addEventListener("abort", resolve))]);
      yield* answers.stream(request, options);
    },
  };
  const agent = createAgent({ session, model, triggers });
  agent.start();
  return { clock, session, agent, own: triggers.of(session), requests: () => requests };
}

test.each([
  ["cancelled", { type: "timer", interval: 60 }],
  ["cancelled", { type: "schedule", everyMinutes: 1, zone: "UTC" }],
  ["failed", { type: "timer", interval: 60 }],
  ["failed", { type: "schedule", everyMinutes: 1, zone: "UTC" }],
])("F1.59 F1.60 the unread message of a run that was %s is received with the next tick of %j", async (end, rule) => {
  const { promise, reject } = Promise.withResolvers();
  promise.catch(() => {});
  const { clock, agent, own } = begin(createTriggers(), promise);
  await own.add({ ...rule, name: "t", prompt: "look" });
  await clock.advance(MINUTE);
  await expect.poll(() => agent.state).toBe("running");
  await clock.advance(MINUTE);
  if (end === "cancelled") agent.cancel();
  else reject(new Error("The provider is down."));
  await agent.whenIdle();
  for (let minute = 0; minute < 3; minute++) {
    await clock.advance(MINUTE);
    await agent.whenIdle();
  }
  expect(own.get("t")?.sent).toBe(4);
  await agent.stop();
});

test("F1.62 a tick that was already received does not wake the agent", async () => {
  let fire = (): Promise<boolean> => Promise.resolve(false);
  const feed = {
    name: "feed",
    description: "",
    settingsSchema: { type: "object" },
    start: (context: { fire: (message: string, options: { tick: number }) => Promise<boolean> }) => {
      fire = () => context.fire("entry 5", { tick: 5 });
    },
  };
  const { agent, own, requests } = begin(createTriggers({ kinds: [feed] }));
  await own.add({ type: "feed" });
  await expect.poll(fire).toBe(true);
  await agent.whenIdle();
  expect(await fire()).toBe(true);
  await agent.whenIdle();
  expect(requests()).toBe(1);
  await agent.stop();
});

test("F1.60 a schedule keeps firing after its clock was a year ahead", async () => {
  const { clock, agent, own } = begin();
  await own.add({ type: "schedule", everyMinutes: 60, zone: "UTC", name: "t", prompt: "hour" });
  const pass = async (minutes: number): Promise<void> => {
    for (let minute = 0; minute < minutes; minute++) {
      await clock.advance(MINUTE);
      await agent.whenIdle();
    }
  };
  await pass(60);
  clock.aheadMs += 365 * DAY;
  await pass(2);
  clock.aheadMs -= 365 * DAY;
  await pass(180);
  expect(own.get("t")?.sent).toBe(5);
  await agent.stop();
});

test("F1.61 channel messages sent while the agent was disabled are received afterwards, however many", async () => {
  const clock = new FakeClock({ wallTime: Date.UTC(2026, 4, 1, 8, 0) });
  const session = createRuntime({ ports: { clock, log: new MemoryLog(), ids: countingIds() } }).session("s");
  const triggers = createTriggers();
  const news = triggers.channels.open("news");
  let enabled = false;
  const model = scriptedModel(Array.from({ length: 50 }, () => ({ text: "ok" })));
  const agent = createAgent({ session, model, triggers, enabled: () => enabled });
  agent.start();
  await triggers.of(session).add({ type: "channel", channel: "news" });
  for (let index = 0; index < 120; index++) await news.send(`${index}`, { sender: "station" });
  await clock.advance(MINUTE);
  await agent.whenIdle();
  expect([session.inbox.length, news.waiting]).toEqual([100, 20]);
  enabled = true;
  for (let minute = 0; minute < 3; minute++) {
    await clock.advance(MINUTE);
    await agent.whenIdle();
  }
  expect([session.inbox.length, news.waiting]).toEqual([0, 0]);
  await agent.stop();
});
