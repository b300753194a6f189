/** Triggers that programs declare, as a configuration does, where the next program declares others. */
import { expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import type { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import type { FakePorts } from "../../src/testing/fake-ports.ts";
import type { NamedTrigger, SessionTriggers } from "../../src/triggers/session-triggers.ts";
import { createTriggers } from "../../src/triggers/triggers.ts";
import { testRuntime } from "../runtime/bench-runtime.ts";
import { FailingStore } from "../runtime/session/failing-store.ts";

const MINUTE_MS = 60_000;

interface Program {
  readonly session: RuntimeSession;
  readonly own: SessionTriggers;
  readonly ports: FakePorts;
  readonly store: FailingStore;
  /** How often each trigger has sent a message, in all programs. */
  sent(): Readonly<Record<string, number>>;
  /** What this program has logged. */
  warnings(): readonly string[];
}

/** The program that has the session next, with triggers of its own configuration. */
async function start(declared: readonly NamedTrigger[], before?: Program, storeError?: ToolError): Promise<Program> {
  const store = before?.store.crash() ?? new FailingStore();
  const { runtime, ports } = testRuntime({ store });
  await ports.clock.advance(before?.ports.clock.now() ?? 0);
  const triggers = createTriggers();
  for (const one of declared) triggers.declare(one);
  const session = before === undefined ? runtime.session("s") : await runtime.resume("s");
  const own = triggers.of(session);
  store.durableError = storeError;
  own.start(() => {
    for (const { message } of session.inbox) void session.addMessage(message);
  });
  await ports.clock.advance(0);
  const sent = () => Object.fromEntries(own.list().map(({ id, sent: count }) => [id, count]));
  return { session, own, ports, store, sent, warnings: () => ports.log.lines.map(({ message }) => message) };
}

const timer = (name: string, more: Partial<NamedTrigger> = {}): NamedTrigger => ({
  type: "timer",
  name,
  interval: 60,
  prompt: name,
  ...more,
});
const changes = ({ session }: Program) =>
  session.log.flatMap((event) => (event.type === "trigger-add" || event.type === "trigger-remove" ? [`${event.type} ${event.id}`] : []));
const STOPPED = (name: string) =>
  `The trigger "${name}" of the session "s" was stopped: it is no longer in the configuration. Remove it from the session, or declare it again.`;

test("a declared trigger that the next program does not declare is stopped with a warning, and can be removed", async () => {
  const first = await start([timer("old"), timer("kept")]);
  await first.ports.clock.advance(2 * MINUTE_MS);
  expect(first.sent()).toEqual({ old: 2, kept: 2 });
  const second = await start([timer("kept")], first);
  await second.ports.clock.advance(2 * MINUTE_MS);
  expect(second.sent()).toEqual({ old: 2, kept: 4 });
  expect(second.own.get("old")).toMatchObject({ running: false, error: "It is no longer in the configuration of this program." });
  expect(second.own.nextAt("old")).toBeUndefined();
  expect(second.warnings()).toEqual([STOPPED("old")]);
  expect(await second.own.remove("old")).toBe(true);
  expect((await start([timer("kept")], second)).warnings()).toEqual([]);
});

test("a renamed declared trigger runs only under its new name", async () => {
  const first = await start([timer("old")]);
  const second = await start([timer("new")], first);
  await second.ports.clock.advance(3 * MINUTE_MS);
  expect([second.sent(), second.warnings()]).toEqual([{ old: 0, new: 3 }, [STOPPED("old")]]);
});

test("programs with different configurations that take turns with a session do not change each other's triggers", async () => {
  let program = await start([timer("a"), timer("b")]);
  await program.own.pause("b");
  for (let turn = 0; turn < 6; turn++) {
    program = await start(turn % 2 === 0 ? [timer("a"), timer("c")] : [timer("a"), timer("b")], program);
    await program.ports.clock.advance(MINUTE_MS);
  }
  expect(changes(program)).toEqual(["trigger-add a", "trigger-add b", "trigger-add c"]);
  expect([program.sent(), program.own.get("b")?.paused]).toEqual([{ a: 6, b: 0, c: 3 }, true]);
});

test("a trigger that a model or a person has added keeps running in every program", async () => {
  const first = await start([]);
  await first.own.add(timer("added"));
  const second = await start([timer("other")], first);
  await second.ports.clock.advance(MINUTE_MS);
  expect([second.sent(), second.warnings()]).toEqual([{ added: 1, other: 1 }, []]);
});

test("a declared trigger with new settings stays paused even if replacing it failed in the store", async () => {
  const first = await start([timer("tick")]);
  await first.own.pause("tick");
  const changed = [timer("tick", { interval: 30 })];
  const second = await start(changed, first, new ToolError("store_failed", "The disk is full."));
  expect(second.warnings()).toEqual(['The trigger "tick" could not be added: The disk is full.']);
  second.store.durableError = undefined;
  await second.session.addMessage({ role: "user", content: "The disk has room again." });
  expect(second.own.get("tick")).toMatchObject({ paused: true, settings: { interval: 30 } });
  const third = await start(changed, second);
  await third.ports.clock.advance(2 * MINUTE_MS);
  expect(third.own.get("tick")).toMatchObject({ paused: true, settings: { interval: 30 }, sent: 0 });
  expect(changes(third)).toEqual(["trigger-add tick", "trigger-remove tick", "trigger-add tick"]);
});

const texts = ({ session }: Program) => session.log.flatMap((event) => (event.type === "inbox-add" ? [event.message.content] : []));

test("a declared timer with only a new prompt keeps its rhythm, and does not fire when its agent starts", async () => {
  const first = await start([timer("tick", { immediate: true, prompt: "old" })]);
  await first.ports.clock.advance(MINUTE_MS / 2);
  const second = await start([timer("tick", { immediate: true, prompt: "new" })], first);
  await second.ports.clock.advance(MINUTE_MS / 2 - 1);
  expect(texts(second)).toEqual(["old"]);
  await second.ports.clock.advance(1);
  expect(texts(second)).toEqual(["old", "new"]);
});

test("a declared schedule with only a new prompt catches up on a missed time, with the new prompt", async () => {
  const hourly = (prompt: string): NamedTrigger => ({ type: "schedule", name: "tick", hourlyAt: 0, zone: "UTC", catchUp: true, prompt });
  const first = await start([hourly("old")]);
  await first.own.stop();
  await first.ports.clock.advance(150 * MINUTE_MS);
  const second = await start([hourly("new")], first);
  expect(texts(second)).toEqual(["new"]);
});

test("replacing a trigger with a waiting message does not count that message as sent by the new one", async () => {
  const { runtime } = testRuntime();
  const session = runtime.session("s");
  const tick = { id: "tick", kind: "timer", settings: {} };
  await session.addTrigger(tick);
  await session.receive({ role: "user", content: "tick" }, { triggerId: "tick" });
  await session.replaceTrigger(tick);
  expect(session.trigger("tick")).toMatchObject({ waiting: 1, sent: 0 });
  for (const { message } of session.inbox) await session.addMessage(message);
  expect(session.trigger("tick")).toMatchObject({ waiting: 0, sent: 0 });
});

test("a declared trigger is added once, without a warning, when its agent is stopped and started meanwhile", async () => {
  const { runtime, ports } = testRuntime();
  const triggers = createTriggers();
  triggers.declare(timer("tick"));
  const session = runtime.session("s");
  const own = triggers.of(session);
  own.start(() => {});
  void own.stop();
  own.start(() => {});
  await ports.clock.advance(0);
  expect([session.log.map(({ type }) => type), ports.log.lines, own.get("tick")?.running]).toEqual([["trigger-add"], [], true]);
});
