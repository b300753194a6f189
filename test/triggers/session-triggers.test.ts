/** Triggers of a session: added, fired, kept through restarts, removed for good, and never in the way of anything else. */
import { describe, expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import type { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import type { FakePorts } from "../../src/testing/fake-ports.ts";
import type { Trigger, TriggerContext } from "../../src/triggers/trigger.ts";
import { runtimeSessionOf } from "../../src/toolsets/runtime-session-of.ts";
import { createTriggers, type TriggersOptions } from "../../src/triggers/triggers.ts";
import type { SessionTriggers, TriggerDefinition } from "../../src/triggers/session-triggers.ts";
import { testRuntime, tool } from "../runtime/bench-runtime.ts";
import { FailingStore } from "../runtime/session/failing-store.ts";
import { testInCI } from "../test-in-ci.ts";

interface Bench {
  readonly session: RuntimeSession;
  readonly own: SessionTriggers;
  readonly ports: FakePorts;
  readonly store: FailingStore;
  /** What the agent was sent, the oldest first. */
  readonly heard: () => Promise<readonly unknown[]>;
}

const triggersOf = (options: TriggersOptions = {}) => createTriggers(options);

/** A session whose agent hears at once. */
async function begin(options: TriggersOptions = {}, store = new FailingStore()): Promise<Bench> {
  const { runtime, ports } = testRuntime({ store });
  const session = runtime.session("s");
  return follow(session, ports, store, options);
}

/** The session in another process, so many milliseconds after the crash of this one. */
async function restart({ store, ports }: Bench, options: TriggersOptions = {}, afterMs = 0): Promise<Bench> {
  const crashed = store.crash();
  const next = testRuntime({ store: crashed });
  await next.ports.clock.advance(ports.clock.now() + afterMs);
  return follow(await next.runtime.resume("s"), next.ports, crashed, options);
}

function follow(session: RuntimeSession, ports: FakePorts, store: FailingStore, options: TriggersOptions): Bench {
  const own = triggersOf(options).of(session);
  const hear = async (): Promise<void> => {
    for (const { message } of session.inbox) await session.addMessage(message);
  };
  own.start(() => void hear());
  const heard = async (): Promise<readonly unknown[]> => {
    await hear();
    return session.messages().map((message) => ("content" in message ? message.content : undefined));
  };
  return { session, own, ports, store, heard };
}

const tick: TriggerDefinition = { type: "timer", name: "tick", interval: 60, prompt: "tick" };

describe("issue 20.2 a paused trigger", () => {
  test("stays paused when the program declares it with other settings", async () => {
    const first = await begin();
    await first.own.add(tick);
    await first.own.pause("tick");
    const { runtime, ports } = testRuntime({ store: first.store.crash() });
    const triggers = createTriggers();
    triggers.declare({ ...tick, name: "tick", interval: 30 });
    const own = triggers.of(await runtime.resume("s"));
    own.start(() => {});
    await ports.clock.advance(60_000);
    expect(own.get("tick")).toMatchObject({ paused: true, running: false, sent: 0, settings: { interval: 30 } });
  });

  const hourly: TriggerDefinition = { type: "schedule", name: "hourly", hourlyAt: 0, zone: "UTC", catchUp: true, prompt: "hour" };
  const minute = 60_000;

  test("sends nothing, also after a restart, until it is resumed; a timer then begins a new interval", async () => {
    const first = await begin();
    await first.own.add(tick);
    expect(await first.own.pause("tick")).toMatchObject({ id: "tick", paused: true, running: false });
    await first.ports.clock.advance(5 * minute);
    const second = await restart(first, {}, 3 * minute);
    await second.ports.clock.advance(5 * minute);
    expect([await second.heard(), second.own.get("tick")]).toEqual([[], expect.objectContaining({ paused: true, running: false })]);
    const resumed = await second.own.resume("tick");
    expect(resumed).toMatchObject({ running: true });
    expect(resumed).not.toHaveProperty("paused");
    await second.ports.clock.advance(minute - 1);
    expect(await second.heard()).toEqual([]);
    await second.ports.clock.advance(1);
    expect(await second.heard()).toEqual(["tick"]);
    const third = await restart(second);
    await third.ports.clock.advance(minute);
    expect(await third.heard()).toEqual(["tick", "tick"]);
  });

  test("has no next time, and does not catch up on times missed during the pause", async () => {
    const { own, ports, heard } = await begin();
    await own.add(hourly);
    await ports.clock.advance(60 * minute);
    expect(await heard()).toEqual(["hour"]);
    await own.pause("hourly");
    expect(own.nextAt("hourly")).toBeUndefined();
    await ports.clock.advance(150 * minute);
    await own.resume("hourly");
    expect(own.nextAt("hourly")).toBeGreaterThan(ports.clock.wallTime());
    await ports.clock.advance(minute);
    expect(await heard()).toEqual(["hour"]);
    await ports.clock.advance(60 * minute);
    expect(await heard()).toEqual(["hour", "hour"]);
  });

  test("logs each pause and resume once, and pausing an unknown trigger returns undefined", async () => {
    const { own, session } = await begin();
    await own.add(tick);
    await own.pause("tick");
    await own.pause("tick");
    await own.resume("tick");
    await own.resume("tick");
    expect([await own.pause("gone"), await own.resume("gone")]).toEqual([undefined, undefined]);
    expect(session.log.map(({ type }) => type).filter((type) => type.startsWith("trigger-"))).toEqual([
      "trigger-add",
      "trigger-pause",
      "trigger-resume",
    ]);
  });

  test("receives nothing when its session was paused directly, and pausing rejects until the pause is stored", async () => {
    const { own, ports, session, store, heard } = await begin();
    await own.add(tick);
    await session.setTriggerPaused("tick", true); // by somebody else than its manager
    await ports.clock.advance(2 * minute);
    expect(await heard()).toEqual([]);
    await own.resume("tick");
    store.durableError = new ToolError("store_failed", "The disk is full.");
    await expect(own.pause("tick")).rejects.toMatchObject({ code: "store_failed" });
    store.durableError = undefined;
    expect(await own.pause("tick")).toMatchObject({ paused: true, running: false });
  });
});

describe("F1.59 timers", () => {
  test("fire repeatedly, the first time after the interval", async () => {
    const { own, ports, heard } = await begin();
    expect(await own.add(tick)).toMatchObject({ id: "tick", type: "timer", running: true, sent: 0 });
    await ports.clock.advance(59_999);
    expect(await heard()).toEqual([]);
    await ports.clock.advance(1);
    expect(await heard()).toEqual(["tick"]);
    await ports.clock.advance(120_000);
    expect(await heard()).toEqual(["tick", "tick", "tick"]);
    expect(own.get("tick")).toMatchObject({ sent: 3 });
  });

  test("fire at once with immediate, and not again after a restart", async () => {
    const first = await begin();
    await first.own.add({ ...tick, immediate: true });
    await first.ports.clock.advance(0);
    expect(await first.heard()).toEqual(["tick"]);
    const second = await restart(first, {}, 3_600_000);
    await second.ports.clock.advance(59_999);
    expect(await second.heard()).toEqual(["tick"]);
    await second.ports.clock.advance(1);
    expect(await second.heard()).toEqual(["tick", "tick"]);
  });

  test("keep their rhythm after a short restart", async () => {
    const first = await begin();
    await first.own.add(tick);
    await first.ports.clock.advance(70_000);
    const second = await restart(first, {}, 20_000);
    await second.ports.clock.advance(29_999);
    expect(await second.heard()).toEqual(["tick"]);
    await second.ports.clock.advance(1);
    expect(await second.heard()).toEqual(["tick", "tick"]);
  });

  test("send one message for many ticks while the agent is too busy to receive them", async () => {
    const { session, own, ports } = await begin();
    own.start(() => {}); // it hears nothing
    await own.add({ ...tick, interval: 0.001 });
    await ports.clock.advance(10_000);
    expect(session.inbox).toHaveLength(1);
  });

  test.each([
    { interval: 0 },
    { interval: -1 },
    { interval: "60" },
    { interval: 1e300 },
    { interval: null },
    { prompt: "" },
    { prompt: undefined },
    { intervall: 5 },
  ])("with %j are rejected", async (wrong) => {
    const { own } = await begin();
    await expect(own.add({ ...tick, ...wrong })).rejects.toMatchObject({ code: "invalid_argument" });
    expect(own.list()).toEqual([]);
  });
});

describe("F1.60 schedules", () => {
  const daily: TriggerDefinition = { type: "schedule", name: "daily", dailyAt: "09:00", zone: "Europe/Berlin", prompt: "morning" };

  testInCI("fire once at each of their times, and not for times that passed while nothing ran", async () => {
    const first = await begin();
    await first.own.add(daily);
    await first.ports.clock.advance(8 * 3_600_000 - 1); // 08:00 UTC
    expect(await first.heard()).toEqual([]);
    await first.ports.clock.advance(1);
    expect(await first.heard()).toEqual(["morning"]);
    const second = await restart(first, {}, 25 * 3_600_000);
    expect(await second.heard()).toEqual(["morning"]);
    await second.ports.clock.advance(22 * 3_600_000);
    expect(await second.heard()).toEqual(["morning"]);
    await second.ports.clock.advance(3_600_000);
    expect(await second.heard()).toEqual(["morning", "morning"]);
  });

  test("send one message for several missed times with catchUp", async () => {
    const first = await begin();
    await first.own.add({ ...daily, catchUp: true });
    const second = await restart(first, {}, 5 * 86_400_000);
    await second.ports.clock.advance(0);
    expect(await second.heard()).toEqual(["morning"]);
    const third = await restart(second);
    await third.ports.clock.advance(0);
    expect(await third.heard()).toEqual(["morning"]);
  });

  test("keep the time zone of the process that they were added in", async () => {
    const { own } = await begin();
    const { zone: _zone, ...local } = daily;
    const { settings } = await own.add(local);
    expect(settings["zone"]).toBe(new Intl.DateTimeFormat().resolvedOptions().timeZone);
  });

  test("with none or two of the rules are rejected", async () => {
    const { own } = await begin();
    await expect(own.add({ type: "schedule", prompt: "x" })).rejects.toMatchObject({ message: expect.stringContaining("exactly one of") });
    await expect(own.add({ ...daily, hourlyAt: 5 })).rejects.toMatchObject({ message: expect.stringContaining("dailyAt and hourlyAt") });
  });
});

describe("F1.61 channel triggers", () => {
  const watch: TriggerDefinition = {
    type: "channel",
    name: "watch",
    channel: "news",
    prompt: "{sender} on {channel}: {content} {metadata.topic}",
  };

  async function beginWith(more: Partial<TriggerDefinition> = {}) {
    const triggers = createTriggers();
    const { channels } = triggers;
    channels.open("news", { kind: "broadcast" });
    const bench = await begin({ channels });
    await bench.own.add({ ...watch, ...more });
    await bench.ports.clock.advance(0);
    return { ...bench, channels };
  }

  test("wake the agent with the filled prompt, except for the agent's own messages", async () => {
    const { channels, ports, heard, session } = await beginWith();
    const news = channels.get("news");
    await news.send("rain", { sender: "Ann", metadata: { topic: "weather" } });
    await news.send("echo", { sender: "me", senderId: session.id });
    await ports.clock.advance(0);
    expect(await heard()).toEqual(["Ann on news: rain weather"]);
    expect(session.log.findLast(({ type }) => type === "inbox-add")).toMatchObject({ sender: "Ann", triggerId: "watch" });
  });

  test("leave a queue's messages from other senders to other receivers", async () => {
    const { channels, ports, heard, own } = await beginWith();
    const tasks = channels.open("tasks");
    await own.add({ type: "channel", channel: "tasks", filterSender: "boss" });
    await ports.clock.advance(0);
    for (const sender of ["Ann", "boss", "Bob"]) await tasks.send(`by ${sender}`, { sender });
    await ports.clock.advance(0);
    expect(await heard()).toEqual(["[tasks] boss: by boss"]);
    expect(tasks.waiting).toBe(2);
  });

  test("reject an unknown channel, listing the existing ones, and an unknown placeholder", async () => {
    const { own } = await beginWith();
    await expect(own.add({ type: "channel", channel: "nwes" })).rejects.toMatchObject({ code: "not_found", hint: "Channels: news." });
    await expect(own.add({ type: "channel", channel: "news", prompt: "{text}" })).rejects.toMatchObject({ code: "invalid_argument" });
  });

  test("find a channel that is opened after a restart, and report its absence until then", async () => {
    const first = await beginWith();
    const channels = createTriggers().channels;
    const second = await restart(first, { channels });
    await second.ports.clock.advance(5_000);
    expect(second.own.get("watch")).toMatchObject({ running: true, error: expect.stringContaining('no channel "news"') });
    expect(second.ports.log.lines.filter(({ level }) => level === "warn")).toHaveLength(1);
    const news = channels.open("news", { kind: "broadcast" });
    await second.ports.clock.advance(1_000);
    await news.send("hi", { sender: "Ann" });
    await second.ports.clock.advance(0);
    expect(await second.heard()).toEqual(["Ann on news: hi "]);
    expect(second.own.get("watch")).not.toHaveProperty("error");
  });

  test("leave a flood in the channel, where its senders wait, instead of filling the inbox", async () => {
    const { channels, own, ports, session, heard } = await beginWith();
    const flood = channels.open("flood", { capacity: 10 });
    await own.add({ type: "channel", channel: "flood", prompt: "{content}" });
    own.start(() => {}); // nothing is heard
    const sends = Array.from({ length: 300 }, (_, n) => flood.send(String(n), { sender: "Ann" }));
    await ports.clock.advance(10_000);
    expect([session.inbox.length, flood.waiting, flood.history.length]).toEqual([100, 10, 110]);
    for (let round = 0; round < 4; round++) {
      await heard();
      await ports.clock.advance(1_000);
    }
    await Promise.all(sends);
    await heard();
    expect(session.log.filter(({ type }) => type === "message-add")).toHaveLength(300);
  });

  test("that are stopped lose no message of a queue and duplicate none", async () => {
    const { channels, own, ports, store, session } = await beginWith();
    const tasks = channels.open("tasks");
    await own.add({ type: "channel", name: "tasks", channel: "tasks", prompt: "{content}" });
    await ports.clock.advance(0);
    store.durableError = new ToolError("store_failed", "The disk is full.");
    await tasks.send("in the inbox, if not durable yet", { sender: "Ann" });
    await tasks.send("waits its turn", { sender: "Ann" });
    await ports.clock.advance(0);
    await own.stop();
    await tasks.send("later", { sender: "Ann" });
    store.durableError = undefined;
    expect([session.inbox.length, tasks.waiting]).toEqual([1, 2]);
    own.start(() => {});
    await ports.clock.advance(0);
    expect(session.inbox.map(({ message }) => message.content)).toEqual(["in the inbox, if not durable yet", "waits its turn", "later"]);
  });

  test("return to a queue a message that the inbox did not accept", async () => {
    const { channels, own, ports, session } = await beginWith();
    const tasks = channels.open("tasks");
    await own.add({ type: "channel", name: "tasks", channel: "tasks" });
    await ports.clock.advance(0);
    await session.removeTrigger("tasks"); // by somebody else than its manager
    await tasks.send("for others", { sender: "Ann" });
    await ports.clock.advance(0);
    expect([session.inbox.length, tasks.subscribe("Bob").poll()?.content]).toEqual([0, "for others"]);
  });

  test("whose session is paused directly leave the messages of a queue in it, and receive them when it is resumed", async () => {
    const { channels, own, ports, session, heard } = await beginWith();
    const tasks = channels.open("tasks");
    await own.add({ type: "channel", name: "tasks", channel: "tasks", prompt: "{content}" });
    await ports.clock.advance(0);
    await session.setTriggerPaused("tasks", true); // by somebody else than its manager
    for (const content of ["first", "second"]) await tasks.send(content, { sender: "Ann" });
    await ports.clock.advance(5_000);
    expect([session.inbox.length, tasks.waiting]).toEqual([0, 2]);
    await session.setTriggerPaused("tasks", false);
    await ports.clock.advance(1_000);
    expect(await heard()).toEqual(["first", "second"]);
  });
});

describe("F1.62 the triggers of a session", () => {
  test("survive a restart, except for removed ones", async () => {
    const first = await begin();
    for (const name of ["one", "two", "three"]) await first.own.add({ ...tick, name });
    expect(await first.own.remove("two")).toBe(true);
    expect(await first.own.remove("two")).toBe(false);
    const before = first.own.list().map(({ running: _running, ...rest }) => rest);
    const second = await restart(first);
    expect(second.own.list().map(({ running: _running, ...rest }) => rest)).toEqual(before);
    expect([second.own.get("one")?.settings, second.own.get("two")]).toEqual([{ interval: 60, prompt: "tick" }, undefined]);
    await second.ports.clock.advance(60_000);
    expect(await second.heard()).toEqual(["tick", "tick"]);
  });

  test("with an id in use are rejected, even while the first is still being added", async () => {
    const { own } = await begin();
    const adds = await Promise.allSettled([own.add(tick), own.add(tick)]);
    expect(adds.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    await expect(own.add(tick)).rejects.toMatchObject({ code: "duplicate" });
    expect(own.list()).toHaveLength(1);
  });

  test("that are added after one of the same name was removed from the session directly run with their own settings", async () => {
    const { own, ports, session, heard } = await begin();
    await own.add(tick);
    await session.removeTrigger("tick"); // by somebody else than its manager
    await own.add({ ...tick, interval: 5 });
    await ports.clock.advance(5_000);
    expect(await heard()).toEqual(["tick"]);
  });

  test.each(["", " x", "x\n", "x".repeat(129), 5, null])("with the name %j are rejected", async (name) => {
    const { own } = await begin();
    const named = { ...tick, name: name as string };
    const refusal = expect.objectContaining({ code: "invalid_argument" });
    await expect(own.add(named)).rejects.toEqual(refusal);
    expect(() => own.check(named)).toThrow(refusal);
    expect(() => triggersOf().declare(named)).toThrow(refusal);
  });

  test("keep firing when their listener throws", async () => {
    const { own, ports, heard } = await begin();
    own.start(() => {
      throw new Error("boom");
    });
    await own.add(tick);
    await ports.clock.advance(60_000);
    expect(await heard()).toEqual(["tick"]);
    await ports.clock.advance(60_000);
    expect(await heard()).toEqual(["tick", "tick"]);
    expect(ports.log.lines.map(({ message }) => message)).toEqual(Array.from({ length: 2 }, () => "A listener of triggers threw: boom"));
  });

  test("of an unknown type are rejected with the known types", async () => {
    const { own } = await begin();
    await expect(own.add({ ...tick, type: "timr" })).rejects.toMatchObject({ code: "invalid_argument", hint: 'Did you mean "timer"?' });
    await expect(own.add({ ...tick, type: "__proto__" })).rejects.toMatchObject({ hint: "Known types: timer, schedule, channel." });
    await expect(own.add(null as unknown as TriggerDefinition)).rejects.toMatchObject({ code: "invalid_argument" });
  });

  test("never exceed maxTriggers, however many are added at once", async () => {
    const { own } = await begin({ maxTriggers: 5 });
    const adds = await Promise.allSettled(Array.from({ length: 100 }, (_, n) => own.add({ ...tick, name: `t${n}` })));
    expect(adds.filter(({ status }) => status === "fulfilled")).toHaveLength(5);
    expect(adds.at(-1)).toMatchObject({ reason: { code: "limit_exceeded" } });
  });

  test("a tick whose process ends before it is acknowledged gives one message", async () => {
    const first = await begin();
    await first.own.add(tick);
    first.store.hold();
    await first.ports.clock.advance(60_000); // the message is on its way
    const lost = await restart(first);
    expect(lost.session.inbox).toEqual([]);
    await lost.ports.clock.advance(60_000);
    expect(await lost.heard()).toEqual(["tick"]);
    const kept = await begin();
    await kept.own.add(tick);
    kept.own.start(() => {}); // it ends before anybody hears it
    await kept.ports.clock.advance(60_000);
    const after = await restart(kept);
    expect(after.session.inbox).toMatchObject([{ triggerId: "tick", message: { content: "tick" } }]);
    expect(await after.heard()).toEqual(["tick"]);
    await after.ports.clock.advance(59_999);
    expect(await after.heard()).toEqual(["tick"]);
  });

  test("a tick is received once, and a tick of a removed trigger is rejected", async () => {
    const { session, own } = await begin();
    await own.add(tick);
    const message = { role: "user", content: "x" } as const;
    for (const at of [5, 5, 4, 6]) await session.receive(message, { triggerId: "tick", tick: at });
    expect(session.inbox).toHaveLength(2);
    await own.remove("tick");
    await expect(session.receive(message, { triggerId: "tick", tick: 7 })).rejects.toMatchObject({ code: "not_found" });
    for (const wrong of [{ tick: 5 }, { triggerId: "tick", tick: NaN }, { triggerId: 5 }, { trigger: "tick" }])
      await expect(session.receive(message, wrong as object)).rejects.toMatchObject({ code: "invalid_argument" });
  });

  test("a failed store write is retried each second, and the message is stored once", async () => {
    const { own, ports, store, session, heard } = await begin();
    await own.add(tick);
    store.durableError = new ToolError("store_failed", "The disk is full.");
    await ports.clock.advance(65_000);
    expect(own.get("tick")).toMatchObject({ error: "The disk is full." });
    expect(ports.log.lines.filter(({ message }) => message.includes("disk is full"))).toHaveLength(1);
    store.durableError = undefined;
    await ports.clock.advance(1_000);
    expect(session.log.filter(({ type }) => type === "inbox-add")).toHaveLength(1);
    expect(await heard()).toEqual(["tick"]);
    expect(own.get("tick")).not.toHaveProperty("error");
  });

  test("end when another process takes over the session, or the session is closed", async () => {
    const { own, ports, store, session } = await begin();
    await own.add(tick);
    await testRuntime({ store: new FailingStore(store.disk) }).runtime.resume("s", { takeOver: true });
    await ports.clock.advance(600_000);
    expect(ports.clock.pending).toBe(0);
    const other = await begin();
    await other.own.add(tick);
    await other.session.close();
    await other.ports.clock.advance(600_000);
    expect([other.ports.clock.pending, session.closed]).toEqual([0, false]);
  });

  test("a stop ends all running triggers, sends nothing more, and leaves no timer pending", async () => {
    const { own, ports, heard } = await begin();
    for (let n = 0; n < 99; n++) await own.add({ ...tick, name: `t${n}`, prompt: `t${n}` });
    await own.add({ type: "schedule", everyMinutes: 1, prompt: "x" });
    expect(ports.clock.pending).toBe(100);
    await own.stop();
    await own.stop();
    expect(ports.clock.pending).toBe(0);
    await ports.clock.advance(600_000);
    expect(await heard()).toEqual([]);
    expect(own.get("t0")).toMatchObject({ running: false });
  });

  test("a branch has its own triggers and none of its parent's", async () => {
    const { session, own } = await begin();
    await own.add(tick);
    const branch = session.fork();
    expect(branch.triggers).toEqual([]);
    await createTriggers()
      .of(branch)
      .add({ ...tick, name: "other" });
    expect([session.triggers.map(({ id }) => id), branch.triggers.map(({ id }) => id)]).toEqual([["tick"], ["other"]]);
    const add = tool("add", (_input, context) => triggersOf().of(runtimeSessionOf(context)).add(tick));
    const { runtime, ports } = testRuntime({ tools: [add] });
    expect((await runtime.execute({ name: "add" })).error).toMatchObject({
      code: "unavailable",
      message: "This tool works only for an agent, within its session.",
    });
    expect(ports.clock.pending).toBe(0);
    expect((await runtime.session().execute({ name: "add" })).status).toBe("ok");
  });

  test("are part of a snapshot", async () => {
    const { session, own } = await begin();
    await own.add(tick);
    const from = await session.snapshot();
    const again = testRuntime().runtime.session("s", { from });
    expect(again.triggers).toEqual(session.triggers);
  });
});

describe("F1.58 F1.62 custom kinds of triggers", () => {
  const schema = { type: "object", properties: { word: { type: "string" } }, additionalProperties: false } as const;
  const kind = (start: Trigger["start"]): Trigger => ({ name: "own", description: "Wakes.", settingsSchema: schema, start });

  test("start with the agent, fire with its context, and are stopped", async () => {
    const log: string[] = [];
    let context: TriggerContext | undefined;
    const bench = await begin({
      kinds: [
        kind((given) => {
          context = given;
          log.push(`start ${String(given.settings["word"])} ${given.isNew}`);
          return () => log.push("stop");
        }),
      ],
    });
    await bench.own.add({ type: "own", name: "o", word: "hey" });
    expect(await context?.fire("hello", { sender: "door" })).toBe(true);
    expect(await bench.heard()).toEqual(["hello"]);
    await bench.own.stop();
    bench.own.start(() => {});
    await bench.ports.clock.advance(0);
    await bench.own.remove("o");
    expect(await context?.fire("late")).toBe(false);
    expect(log).toEqual(["start hey true", "stop", "start hey false", "stop"]);
  });

  test("that fail when they start, later, or when they stop are logged and restarted after a second", async () => {
    let starts = 0;
    const bench = await begin({
      kinds: [
        kind((context) => {
          if (++starts === 1) throw new Error("cannot start");
          if (starts === 2) context.ports.clock.timer(() => context.fail(new Error("lost it")), 500);
          if (starts === 3) void context.fire("works");
          return () => {
            throw new Error("cannot stop");
          };
        }),
      ],
    });
    await bench.own.add({ type: "own", name: "o" });
    await bench.ports.clock.advance(999);
    expect([starts, bench.own.get("o")?.error]).toEqual([1, "cannot start"]);
    await bench.ports.clock.advance(1);
    expect(starts).toBe(2);
    await bench.ports.clock.advance(1_500);
    expect([starts, await bench.heard()]).toEqual([3, ["works"]]);
    await bench.own.remove("o");
    const lines = bench.ports.log.lines.map(({ message }) => message);
    for (const word of ["cannot start", "lost it", "cannot stop"])
      expect(lines.filter((line) => line.includes(word)).length).toBeGreaterThan(0);
  });

  test.each([{ sender: 5 }, { tick: Number.NaN }, { tick: "now" }, { traceparent: "" }])(
    "that fire with %j get an error at once, and run again after a second",
    async (wrong) => {
      let starts = 0;
      const bench = await begin({ kinds: [kind(({ fire }) => void fire("works", ++starts === 1 ? (wrong as object) : {}))] });
      await bench.own.add({ type: "own", name: "o" });
      await bench.ports.clock.advance(999);
      expect([starts, bench.own.get("o")?.error]).toEqual([1, expect.stringContaining("fire(")]);
      await bench.ports.clock.advance(1);
      expect([starts, await bench.heard()]).toEqual([2, ["works"]]);
    },
  );

  test.each(["remove", "pause"] as const)(
    "that have failed, and that a program has to %s within the second before their restart, do not start again",
    async (end) => {
      let starts = 0;
      const broken: Trigger = {
        name: "broken",
        description: "Fails.",
        settingsSchema: { type: "object" },
        start() {
          starts++;
          throw new Error("no connection");
        },
      };
      const { own, ports } = await begin({ kinds: [broken] });
      await own.add({ type: "broken", name: "one" });
      await ports.clock.advance(1_500);
      expect(starts).toBe(2);
      await own[end]("one");
      await ports.clock.advance(10_000);
      expect(starts).toBe(2);
    },
  );

  test("that report a failure send nothing from the time before it after they have started again", async () => {
    const contexts: TriggerContext[] = [];
    const feed: Trigger = {
      name: "feed",
      description: "Follows a feed.",
      settingsSchema: { type: "object" },
      start: (context) => void contexts.push(context),
    };
    const { own, ports, heard } = await begin({ kinds: [feed] });
    await own.add({ type: "feed", name: "one" });
    const [before] = contexts;
    before?.fail(new Error("the connection was lost"));
    await ports.clock.advance(1_000);
    expect(contexts).toHaveLength(2);
    const fired = [await before?.fire("old"), await contexts[1]?.fire("new")];
    expect([before?.signal.aborted, fired, await heard()]).toEqual([true, [false, true], ["new"]]);
  });

  test("that are stopped while a message is being stored have ended when it is stored, not before", async () => {
    let context: TriggerContext | undefined;
    const feed: Trigger = {
      name: "feed",
      description: "Follows a feed.",
      settingsSchema: { type: "object" },
      start: (started) => void (context = started),
    };
    const { own, session } = await begin({ kinds: [feed] });
    await own.add({ type: "feed", name: "one" });
    const order: string[] = [];
    const fired = context?.fire("news").then(() => order.push("sent"));
    const stopped = own.stop().then(() => order.push("stopped"));
    await Promise.all([fired, stopped]);
    expect([order, session.inbox.length <= 1]).toEqual([["sent", "stopped"], true]);
  });

  test("whose kind is missing after a restart stay stored, and do not run", async () => {
    const first = await begin({ kinds: [kind(() => undefined)] });
    await first.own.add({ type: "own", name: "o" });
    const second = await restart(first);
    expect(second.own.get("o")).toMatchObject({ type: "own", running: false });
    expect(second.ports.log.lines.at(-1)?.message).toContain('there is no trigger type "own"');
  });

  test.each([
    [{ name: "timer" }, "duplicate"],
    [{ toolName: "add_timer" }, "duplicate"],
    [{ name: "" }, "invalid_argument"],
    [{ settingsSchema: { type: "string" } }, "invalid_argument"],
    [{ settingsSchema: { type: "object", properties: { name: {} } } }, "invalid_argument"],
    [{ settingsSchema: { type: "object", properties: 5 } }, "invalid_schema"],
    [{ start: undefined }, "invalid_argument"],
    [{ universall: true }, "invalid_argument"],
  ])("with %j are rejected", (wrong, code) => {
    expect(() => createTriggers({ kinds: [{ ...kind(() => undefined), ...wrong } as Trigger] })).toThrow(expect.objectContaining({ code }));
  });

  test.each([{ channels: {} }, { kinds: {} }, { maxTriggers: 0 }, { kind: [] }])("createTriggers rejects %j", (wrong) => {
    expect(() => createTriggers(wrong as object)).toThrow(expect.objectContaining({ code: "invalid_argument" }));
  });
});

test("F1.59 a timer with an unread message ends with its session", async () => {
  const { runtime, ports } = testRuntime({ store: new FailingStore() });
  const session = runtime.session("s");
  const own = triggersOf().of(session);
  own.start(() => {});
  await own.add({ type: "timer", name: "tick", interval: 1, prompt: "tick" });
  await ports.clock.advance(2_500);
  expect([session.inbox.length, ports.clock.pending]).toEqual([1, 1]);
  await session.close();
  await ports.clock.advance(0);
  expect(ports.clock.pending).toBe(0);
  own.start(() => {});
  expect(ports.clock.pending).toBe(0);
});
