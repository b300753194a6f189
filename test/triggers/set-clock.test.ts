/** Triggers on a clock that is put forward and back, and on a computer that slept. */
import { describe, expect, test } from "vitest";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { FakeClock, MemoryLog, countingIds } from "../../src/testing/fake-ports.ts";
import { createTriggers } from "../../src/triggers/triggers.ts";
import type { TriggerDefinition } from "../../src/triggers/session-triggers.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A clock on the wall that can be set; the time that elapses goes on. */
class SetClock extends FakeClock {
  aheadMs = 0;

  override wallTime(): number {
    return super.wallTime() + this.aheadMs;
  }
}

/** An agent that hears at once, in a session with one trigger; `ticks` are the times on the wall at which it was woken. */
async function begin(definition: TriggerDefinition) {
  const clock = new SetClock({ wallTime: Date.UTC(2026, 4, 1, 8, 0) });
  const runtime = createRuntime({ ports: { clock, log: new MemoryLog(), ids: countingIds() } });
  const session = runtime.session("s");
  const own = createTriggers().of(session);
  const ticks: string[] = [];
  own.start(() => {
    for (const { message } of session.inbox) void session.addMessage(message);
    ticks.push(new Date(clock.wallTime()).toISOString().slice(0, 16));
  });
  await own.add(definition);
  return { clock, ticks };
}

const timer: TriggerDefinition = { type: "timer", interval: 60, prompt: "tick" };
const daily: TriggerDefinition = { type: "schedule", dailyAt: "09:00", zone: "UTC", prompt: "morning" };
const minutely: TriggerDefinition = { type: "schedule", everyMinutes: 1, zone: "UTC", prompt: "minute" };

describe("F1.59 a timer follows elapsed time", () => {
  test.each([DAY, -DAY, 30_000, -30_000])("when the wall clock is set by %i ms", async (ms) => {
    const { clock, ticks } = await begin(timer);
    await clock.advance(3 * MINUTE);
    clock.aheadMs += ms;
    await clock.advance(3 * MINUTE);
    expect(ticks).toHaveLength(6);
  });
});

describe("F1.60 a schedule follows the wall clock", () => {
  test("a clock set forward over several times sends one message, within a minute", async () => {
    const { clock, ticks } = await begin(minutely);
    await clock.advance(2 * MINUTE);
    clock.aheadMs += 5 * HOUR;
    await clock.advance(MINUTE);
    expect(ticks).toEqual(["2026-05-01T08:01", "2026-05-01T08:02", "2026-05-01T13:03"]);
  });

  test("a clock set forward over the daily time sends its message within a minute", async () => {
    const { clock, ticks } = await begin(daily);
    clock.aheadMs += 2 * HOUR;
    await clock.advance(MINUTE);
    expect(ticks).toEqual(["2026-05-01T10:01"]);
    await clock.advance(DAY - 61 * MINUTE);
    expect(ticks).toEqual(["2026-05-01T10:01", "2026-05-02T09:00"]);
  });

  test.each([false, true])("after a clock was a year ahead for two minutes, later times fire as before (catchUp %s)", async (catchUp) => {
    const { clock, ticks } = await begin({ type: "schedule", everyMinutes: 60, zone: "UTC", prompt: "hour", catchUp });
    await clock.advance(2 * HOUR);
    clock.aheadMs += 365 * DAY;
    await clock.advance(2 * MINUTE);
    clock.aheadMs -= 365 * DAY;
    await clock.advance(3 * HOUR);
    expect(ticks).toEqual([
      "2026-05-01T09:00",
      "2026-05-01T10:00",
      "2027-05-01T10:01",
      "2026-05-01T11:00",
      "2026-05-01T12:00",
      "2026-05-01T13:00",
    ]);
  });

  test("a clock set back does not repeat a time that has fired", async () => {
    const { clock, ticks } = await begin(daily);
    await clock.advance(HOUR);
    clock.aheadMs -= 2 * HOUR;
    await clock.advance(4 * HOUR);
    expect(ticks).toEqual(["2026-05-01T09:00"]);
    await clock.advance(DAY);
    expect(ticks).toEqual(["2026-05-01T09:00", "2026-05-02T09:00"]);
  });
});
