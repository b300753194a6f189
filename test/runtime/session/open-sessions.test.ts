import { expect, test } from "vitest";
import { pure } from "../../../src/core/resources/effects.ts";
import { defineTool } from "../../../src/registry/define-tool.ts";
import { createRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";

const ids = (runtime: Runtime): readonly string[] => runtime.sessions.list().map(({ id }) => id);

test("open sessions and branches are listed in the order of their creation, and found by id", async () => {
  await using runtime = createRuntime();
  const one = runtime.session("one");
  const two = runtime.session();
  const branch = one.fork({ id: "branch" });
  expect(runtime.sessions.list()).toEqual([one, two, branch]);
  expect([one, two, branch].map(({ id }) => runtime.sessions.get(id))).toEqual([one, two, branch]);
  expect(branch.parent).toBe(one);
  expect(runtime.sessions.get("__proto__")).toBeUndefined();
});

test("a session is no longer listed once close is called, a branch once committed, and all once the runtime is closed", async () => {
  const runtime = createRuntime();
  const one = runtime.session("one");
  const branch = one.fork({ id: "branch" });
  await branch.commit();
  expect(ids(runtime)).toEqual(["one"]);
  const closed = one.close();
  expect([runtime.sessions.get("one"), ids(runtime)]).toEqual([undefined, []]);
  expect(() => runtime.session("one")).toThrow('The session "one" is open already');
  await closed;
  runtime.session("one");
  expect(ids(runtime)).toEqual(["one"]);
  await runtime.close();
  expect([runtime.sessions.get("one"), ids(runtime)]).toEqual([undefined, []]);
});

test("a simulated branch is found by id and not listed; those of the runtime's simulate() and execute() are neither", async () => {
  const seen: (readonly string[])[] = [];
  const look = defineTool({ name: "look", description: "", effects: pure, execute: () => void seen.push(ids(runtime)) });
  await using runtime = createRuntime({ tools: [look] });
  const session = runtime.session("one");
  const trial = session.fork({ id: "trial", simulated: true });
  expect([runtime.sessions.get("trial"), trial.simulated, session.simulated]).toEqual([trial, true, false]);
  await runtime.execute({ name: "look" });
  await runtime.simulate({ name: "look" });
  await session.simulate({ name: "look" });
  expect(seen).toEqual([["one"], ["one"], ["one"]]);
  expect(runtime.sessions.get("simulation1")).toBeUndefined();
});

test("a resumed session is listed once resume has resolved", async () => {
  const store = memoryStore();
  await using runtime = createRuntime({ store });
  await runtime.session("one").close();
  const resuming = runtime.resume("one", {});
  expect(runtime.sessions.get("one")).toBeUndefined();
  const resumed = await resuming;
  expect([runtime.sessions.get("one"), ids(runtime)]).toEqual([resumed, ["one"]]);
});
