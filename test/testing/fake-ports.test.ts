import { describe, expect, test } from "vitest";
import { pure } from "../../src/core/resources/effects.ts";
import { ToolError } from "../../src/core/error.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { FakeClock, fakePorts } from "../../src/testing/fake-ports.ts";
import { testInCI } from "../test-in-ci.ts";

const after = (clock: FakeClock, ms: number): Promise<void> => new Promise((resolve) => void clock.timer(resolve, ms));

describe("FakeClock.run() runs work to its end", () => {
  test("time advances from timer to timer, and no further", async () => {
    const clock = new FakeClock();
    const seen: number[] = [];
    const work = async (): Promise<string> => {
      for (const ms of [1_000, 60_000, 3_600_000]) {
        await after(clock, ms);
        seen.push(clock.now());
      }
      return "done";
    };
    void after(clock, 1e12);
    expect([await clock.run(work), seen, clock.now()]).toEqual(["done", [1_000, 61_000, 3_661_000], 3_661_000]);
  });
  test("work that needs no time advances no time", async () => {
    const clock = new FakeClock();
    void after(clock, 10);
    expect([await clock.run(Promise.resolve(1)), clock.now()]).toEqual([1, 0]);
  });
  test("a whole call with its waits and retries takes no real time", async () => {
    const ports = fakePorts();
    const away = new ToolError("unavailable", "Away.", { retryable: true });
    const answers = [away, away, "here"];
    const inputSchema = { type: "object" } as const;
    const execute = async (): Promise<string> => {
      await after(ports.clock, 5_000);
      const answer = answers.shift();
      if (typeof answer === "string") return answer;
      throw answer;
    };
    const tools = [{ name: "ask", description: "", inputSchema, effects: pure, execute }];
    const runtime = createRuntime({ tools, ports });
    const { status, attempts } = await ports.clock.run(runtime.execute({ name: "ask", input: {} }));
    expect([status, attempts, ports.clock.now() > 15_000]).toEqual(["ok", 3, true]);
    await runtime.close();
  });
  test("an error of the work is rethrown, whether it is immediate or later", async () => {
    const clock = new FakeClock();
    const wrong = (): never => {
      throw new Error("at once");
    };
    await expect(clock.run(wrong)).rejects.toThrow("at once");
    await expect(clock.run(after(clock, 5).then(wrong))).rejects.toThrow("at once");
  });
  test("work that waits for something other than time is reported as such", async () => {
    const clock = new FakeClock();
    const hanging = after(clock, 500).then(() => new Promise(() => undefined));
    await expect(clock.run(hanging)).rejects.toMatchObject({
      code: "timeout",
      message: "The work is not over after 500 ms of the fake clock, and waits for nothing that time could bring: no timer is set.",
    });
  });
  testInCI("a timer that is set again forever is reported as a hang, too", async () => {
    const clock = new FakeClock();
    const again = (): void => void clock.timer(again, 1);
    again();
    await expect(clock.run(new Promise(() => undefined))).rejects.toMatchObject({ code: "timeout" });
  });
  test("a model with delays streams without real time passing", async () => {
    const clock = new FakeClock();
    const model = scriptedModel([{ text: "Hello", pieceChars: 1, delayMs: 60_000 }], { clock });
    const text = await clock.run(async () => {
      let said = "";
      for await (const event of model.stream({ messages: [] })) if (event.type === "text-delta") said += event.text;
      return said;
    });
    expect([text, clock.now()]).toEqual(["Hello", 6 * 60_000]);
  });
});

test("time does not go back when a longer advance overlaps a shorter one", async () => {
  const clock = new FakeClock();
  clock.timer(() => {}, 5);
  const near = clock.advance(10);
  const far = clock.advance(1_000);
  await Promise.all([near, far]);
  expect(clock.now()).toBe(1_000);
  clock.timer(() => void clock.advance(1_000), 0);
  await clock.advance(1);
  expect(clock.now()).toBeGreaterThanOrEqual(1_001);
});
