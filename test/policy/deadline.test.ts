import { expect, test } from "vitest";
import { createChain } from "../../src/compose/chain/chain.ts";
import { delegateTool } from "../../src/compose/delegate/delegate.ts";
import { createLoop } from "../../src/compose/loop.ts";
import { generateConversations, type GenerateOptions } from "../../src/generate/conversations/generate-conversations.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { onAbort } from "../../src/core/base/on-abort.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";

test.each(["none", "before", "after", "both"])(
  "onAbort listeners are called once when the signal aborts; other listeners on it: %s",
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

test("a listener that another listener of the same abort removes is not called", () => {
  const controller = new AbortController();
  const { signal } = controller;
  const called: string[] = [];
  const removals: (() => void)[] = [];
  onAbort(signal, () => {
    called.push("first");
    for (const remove of removals) remove();
  });
  removals.push(onAbort(signal, () => called.push("removed")));
  onAbort(signal, () => called.push("last"));
  controller.abort();
  expect(called).toEqual(["first", "last"]);
});

test("a listener that aborts another signal does not stop other listeners from being called", () => {
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
  ["a chain", async (runtime, signal) => (await createChain([{ tool: "never" }]).run(runtime, {}, { signal })).stepResults[0]],
  ["a delegate", (runtime, signal) => runtime.execute({ name: "helper", input: { task: "Go." } }, { signal })],
  ["the making of conversations", async (runtime, signal) => endOf((await generateConversations(conversationOf(runtime, signal))).stopped)],
];

test.each(CANCELLED)("F0 %s ends when its signal aborts, although the signal already had listeners", async (_, run) => {
  const begun = Promise.withResolvers<void>();
  const never = defineTool({
    name: "never",
    description: "Never ends by itself.",
    inputSchema: { type: "object" },
    execute: () => (begun.resolve(), new Promise(() => {})),
  });
  const helper = delegateTool({ name: "helper", description: "Helps.", model: scriptedModel([{ calls: [{ name: "desk::never" }] }]) });
  const runtime = createRuntime({ toolsets: [{ name: "desk", tools: [never, helper] }] });
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

function conversationOf(runtime: Runtime, signal: AbortSignal): GenerateOptions {
  const messages = [
    { role: "user", content: "Go." },
    { role: "assistant", calls: [{ name: "desk::never" }] },
  ] as const;
  return { runtime, plan: { kind: "scripted", count: 1, templates: [{ messages }] }, out: { write: async () => {} }, signal };
}

function endOf(end: { readonly reason: string } | { readonly code: string } | undefined) {
  return { status: end !== undefined && "reason" in end ? end.reason : end?.code };
}
