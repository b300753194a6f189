import { expect, test } from "vitest";
import { createLoop } from "../../src/compose/loop.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { onAbort } from "../../src/policy/deadline.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";

test.each(["none", "before", "after", "both"])(
  "the listeners of a signal are called once when it aborts, others of the program: %s",
  (others) => {
    const controller = new AbortController();
    const { signal } = controller;
    const called: string[] = [];
    if (others === "before" || others === "both") signal.addEventListener("abort", () => called.push("before"));
    onAbort(signal, () => called.push("first"));
    onAbort(signal, () => called.push("second"));
    onAbort(signal, () => called.push("forgotten"))();
    if (others === "after" || others === "both") signal.addEventListener("abort", () => called.push("after"));
    controller.abort();
    controller.abort();
    expect(called.filter((name) => name !== "before" && name !== "after")).toEqual(["first", "second"]);
    onAbort(signal, () => called.push("late"));
    expect(called.at(-1)).toBe("late");
  },
);

test("a listener that aborts another signal keeps none from being called", () => {
  const [one, other] = [new AbortController(), new AbortController()];
  const called: string[] = [];
  onAbort(one.signal, () => other.abort());
  onAbort(one.signal, () => called.push("one"));
  onAbort(AbortSignal.any([one.signal]), () => called.push("any"));
  onAbort(other.signal, () => called.push("other"));
  one.abort();
  expect(called.toSorted()).toEqual(["any", "one", "other"]);
});

const CANCELLED: readonly (readonly [string, (runtime: Runtime, signal: AbortSignal) => Promise<unknown>])[] = [
  ["runtime.execute", (runtime, signal) => runtime.execute({ name: "never" }, { signal })],
  ["runtime.execute of a list", async (runtime, signal) => (await runtime.execute([{ name: "never" }], { signal }))[0]],
  ["session.execute", (runtime, signal) => runtime.session().execute({ name: "never" }, { signal })],
  ["a loop", async (runtime, signal) => endOf(await loopOf(runtime).run("Go.", { signal }))],
];

test.each(CANCELLED)("F0 %s ends when its signal aborts, whose listeners came before", async (_, run) => {
  const begun = Promise.withResolvers<void>();
  const never = defineTool({
    name: "never",
    description: "Never ends by itself.",
    inputSchema: { type: "object" },
    execute: () => (begun.resolve(), new Promise(() => {})),
  });
  const runtime = createRuntime({ toolsets: [{ name: "desk", tools: [never] }] });
  const controller = new AbortController();
  controller.signal.addEventListener("abort", () => {});
  const ended = run(runtime, controller.signal);
  await begun.promise;
  controller.abort();
  expect(await ended).toMatchObject({ status: "cancelled" });
  await runtime.close();
});

function loopOf(runtime: Runtime) {
  return createLoop({ session: runtime.session(), model: scriptedModel([{ calls: [{ name: "never", input: {} }] }, { text: "Done." }]) });
}

function endOf({ reason }: { readonly reason: string }) {
  return { status: reason };
}
