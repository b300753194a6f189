import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Engine } from "../../../src/core/engine.ts";
import { collectReply } from "../../../src/core/model.ts";
import { scriptedModel } from "../../../src/model/scripted-model.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { generateConversations } from "../../../src/generate/conversations/generate-conversations.ts";
import { virtualClock } from "../../../src/generate/conversations/virtual-clock.ts";
import { linesOf, plainAnswer, shop } from "./shop.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const HOUR_MS = 3_600_000;

test("issue 6.7 during fastForward timers fire at once and in order, and the clock advances", async () => {
  const clock = virtualClock();
  const fired: string[] = [];
  const before = clock.now();
  await clock.fastForward(
    () =>
      new Promise<void>((resolve) => {
        clock.timer(() => (fired.push("late"), resolve()), 2 * HOUR_MS);
        const cancel = clock.timer(() => fired.push("cancelled"), HOUR_MS / 2);
        clock.timer(() => fired.push("early"), HOUR_MS);
        cancel();
      }),
  );
  expect(fired).toEqual(["early", "late"]);
  expect(clock.now() - before).toBeGreaterThanOrEqual(2 * HOUR_MS);
});

test("issue 6.7 outside of fastForward, and in the background, a timer takes real time", async () => {
  const clock = virtualClock();
  const fired: string[] = [];
  const before = clock.timer(() => fired.push("before"), HOUR_MS);
  let left = (): void => {};
  let background = (): void => {};
  await clock.fastForward(async () => {
    background = clock.timer(() => fired.push("background"), HOUR_MS, { background: true });
    left = clock.timer(() => fired.push("left"), HOUR_MS);
  });
  for (let turns = 0; turns < 20; turns++) await turn();
  expect(fired).toEqual([]);
  for (const cancel of [before, left, background]) cancel(); // else the process would wait for them
});

test("issue 6.7 slow faults and retries take no real time, and are the same at any concurrency", async () => {
  const faults = {
    seed: 1,
    rules: [
      { type: "network_error", probability: 0.1, attempts: 2 },
      { type: "timeout", probability: 0.05 },
      { type: "latency", probability: 0.2, delayMs: HOUR_MS / 10 },
    ],
  };
  const texts: string[] = [];
  for (const concurrency of [1, 16]) {
    const clock = virtualClock();
    const runtime = shop(plainAnswer, { faults, timeoutMs: HOUR_MS, ports: { clock, log: { debug() {}, warn() {} } } });
    const path = `${temporaryFolder()}/train.jsonl`;
    const plan = { kind: "sampled", count: 20, calls: 5 } as const;
    const { calls, faults: hit } = await clock.fastForward(() => generateConversations({ runtime, plan, out: path, concurrency }));
    expect(calls).toBe(100);
    expect(Object.keys(hit).toSorted()).toEqual(["latency", "network_error", "timeout"]);
    texts.push(JSON.stringify(linesOf(path)));
    await runtime.close();
  }
  expect(texts[0]).toBe(texts[1]);
});

test("issue 16.3 no time is skipped during a model request; before and after it is", async () => {
  const clock = virtualClock();
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  const model = clock.attend(scriptedModel(async () => (await answered, { text: "Yes." })));
  const fired: string[] = [];
  await clock.fastForward(async () => {
    await new Promise<void>((resolve) => clock.timer(() => (fired.push("before"), resolve()), HOUR_MS));
    const reply = collectReply(model.stream({ messages: [] }));
    const after = new Promise<void>((resolve) => clock.timer(() => (fired.push("after"), resolve()), HOUR_MS));
    for (let turns = 0; turns < 50; turns++) await turn();
    expect(fired).toEqual(["before"]);
    answer();
    expect((await reply)?.text).toBe("Yes.");
    await after;
  });
  expect(fired).toEqual(["before", "after"]);
});

test("issue 16.3 a timer due during a model request fires then, and an abandoned request does not block the clock", async () => {
  const clock = virtualClock();
  const model = clock.attend(scriptedModel([{ text: "One two." }]));
  await clock.fastForward(async () => {
    for await (const event of model.stream({ messages: [] })) {
      await new Promise<void>((resolve) => clock.timer(resolve, 1));
      if (event.type === "text-delta") break;
    }
    await new Promise<void>((resolve) => clock.timer(resolve, HOUR_MS));
  });
  expect([model.name, model.toolNameOf]).toEqual(["scripted", undefined]);
});

test("issue 6.7 a toolset that lists its tools again in the middle of a generation has real time for that", async () => {
  const clock = virtualClock();
  const warnings: string[] = [];
  const tool = { name: "ring", description: "Rings a bell.", inputSchema: { type: "object", properties: { times: { type: "integer" } } } };
  let change = (): void => {};
  let listed = (): void => {};
  const isListed = new Promise<void>((resolve) => (listed = resolve));
  const engine: Engine = {
    kind: "tower",
    async open({ changed }) {
      change = changed;
      return [tool];
    },
    async list() {
      for (let turns = 0; turns < 50; turns++) await turn();
      listed();
      return [tool, { ...tool, name: "toll" }];
    },
    call: async () => ({ value: "rung" }),
  };
  const log = { debug() {}, warn: (message: string) => void warnings.push(message) };
  const runtime = createRuntime({ toolsets: [{ name: "tower", engine, openTimeoutMs: 1_000 }], ports: { clock, log } });
  await runtime.open();
  await clock.fastForward(async () => {
    const stop = clock.timer(() => {}, HOUR_MS); // a call that is answered late
    change();
    await isListed;
    for (let turns = 0; turns < 3; turns++) await turn();
    stop();
  });
  expect(runtime.registry.list().map(({ qualifiedName }) => qualifiedName)).toEqual(expect.arrayContaining(["tower::ring", "tower::toll"]));
  expect(warnings).toEqual([]);
  await runtime.close();
});
