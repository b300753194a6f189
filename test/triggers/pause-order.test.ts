/** Pauses and resumes of a trigger that are asked for at the same time. */
import { expect, test } from "vitest";
import { createTriggers } from "../../src/triggers/triggers.ts";
import { testRuntime } from "../runtime/bench-runtime.ts";

async function paused() {
  const { runtime, ports } = testRuntime();
  const triggers = createTriggers().of(runtime.session("s"));
  triggers.start(() => {});
  await triggers.add({ type: "timer", name: "tick", interval: 60, prompt: "tick" });
  await triggers.pause("tick");
  return { triggers, ports };
}

test("a trigger that is paused while it is being resumed stays paused", async () => {
  const { triggers } = await paused();
  await Promise.all([triggers.resume("tick"), triggers.pause("tick")]);
  expect(triggers.get("tick")).toMatchObject({ paused: true, running: false });
});

test("a trigger that is resumed last runs, however often it was paused meanwhile", async () => {
  const { triggers } = await paused();
  await Promise.all([triggers.resume("tick"), triggers.resume("tick"), triggers.pause("tick"), triggers.resume("tick")]);
  expect(triggers.get("tick")?.paused).toBeUndefined();
  expect(triggers.get("tick")?.running).toBe(true);
});
