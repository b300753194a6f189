/** Every way in which a signal reaches a call tells in the call's result who cancelled it. */
import { expect, onTestFinished, test } from "vitest";
import { createLoop, createRuntime, ToolError, type Runtime, type Tool } from "haft";
import { createChain } from "haft/chain";
import { delegateTool } from "haft/delegate";
import { scriptedModel } from "haft/model";
import { programToolset } from "haft/program";
import { runSequence } from "haft/sequence";
import { FakeClock, fakePorts } from "haft/testing";
import type { CallTools } from "haft/tools";
import { tool } from "./bench-runtime.ts";

const slow = (): Promise<never> => new Promise(() => {});
const SLOW = { name: "slow", input: {} };
const toModel = (): { model: ReturnType<typeof scriptedModel> } => ({ model: scriptedModel([{ text: "", calls: [SLOW] }, { text: "" }]) });
const delegate = (): Tool => delegateTool({ name: "helper", description: "Helps.", ...toModel() });
const within = (name: string, nested: (execute: CallTools) => Promise<unknown>): Tool =>
  tool(name, async (_, { execute }) => void (await nested(execute)));

/** Each runs `slow`. */
const WAYS: Readonly<Record<string, (runtime: Runtime, signal: AbortSignal) => unknown>> = {
  execute: (runtime, signal) => runtime.execute(SLOW, { signal }),
  "a batch": (runtime, signal) => runtime.execute([{ name: "quick" }, SLOW], { signal }),
  "a session": (runtime, signal) => runtime.session().execute(SLOW, { signal }),
  "a submission": (runtime, signal) => runtime.session("s").execute([SLOW], { signal, idempotencyKey: "k" }),
  "a round": (runtime, signal) =>
    runtime.session().turn(async (turn) => {
      const round = turn.round({ signal });
      round.add(SLOW);
      await round.end({ content: "", finish: "stop", usage: { inputTokens: 0, outputTokens: 0 } });
    }),
  "a loop": (runtime, signal) => createLoop({ session: runtime.session(), ...toModel() }).run("go", { signal }),
  "a chain": (runtime, signal) => createChain([{ tool: "slow" }]).run(runtime, {}, { signal }),
  "the tool of a chain": (runtime, signal) => runtime.execute({ name: "chained" }, { signal }),
  "a sequence": (runtime, signal) =>
    runSequence(runtime.session(), [{ name: "default::slow", arguments: {} }], { signal, validate: false }),
  "a call in a call": (runtime, signal) => runtime.execute({ name: "outer" }, { signal }),
  "a signal of a handler": (runtime, signal) => {
    runtime.registry.register(within("own", (execute) => execute(SLOW, { signal })));
    return runtime.execute({ name: "own" });
  },
  "a program": (runtime, signal) => runtime.execute({ name: "run_program", input: { code: "await tools.default.slow()" } }, { signal }),
  "a delegate": (runtime, signal) => runtime.session().execute({ name: "helper", input: { task: "go" } }, { signal }),
};

async function cancelMessageOf(
  way: (runtime: Runtime, signal: AbortSignal) => unknown,
  cancel: (stop: AbortController, runtime: Runtime) => unknown,
  clock = new FakeClock(),
) {
  const begun = Promise.withResolvers<void>();
  const messages = new Map<string, string | undefined>();
  const runtime = createRuntime({
    ports: { ...fakePorts(), clock },
    tools: [
      tool("slow", () => (begun.resolve(), slow()), { timeoutMs: 0 }),
      tool("quick", () => "done"),
      within("outer", (execute) => execute(SLOW)),
      createChain([{ tool: "slow" }]).toTool({ name: "chained", description: "A chain." }),
      delegate(),
    ],
    toolsets: [programToolset()],
    onEvent: (event) => {
      if (event.type === "call-end") messages.set(event.result.name.replace(/^.*::/u, ""), event.result.error?.message);
    },
  });
  onTestFinished(async () => void (await runtime.close()));
  const stop = new AbortController();
  const running = Promise.resolve(way(runtime, stop.signal)).catch(() => undefined);
  await begun.promise;
  await cancel(stop, runtime);
  await running;
  return messages.get("slow");
}

test.each(Object.entries(WAYS))("by %s", async (_, way) => {
  const why = await cancelMessageOf(way, (stop) => stop.abort(new Error("the user closed\nthe tab")));
  expect(why).toMatch(/^default::slow was cancelled: (?:.* was cancelled: )?the caller aborted: the user closed the tab$/u);
  expect(await cancelMessageOf(way, (stop) => stop.abort())).toMatch(/: the caller aborted$/u);
  expect(await cancelMessageOf(way, (stop) => stop.abort(new DOMException("late", "TimeoutError")))).toMatch(
    /: the time limit of its caller was reached$/u,
  );
  expect(await cancelMessageOf(way, (stop) => stop.abort(new ToolError("cancelled", "Stopped by Ctrl-C.")))).toMatch(
    /: Stopped by Ctrl-C$/u,
  );
  expect(await cancelMessageOf(way, (_stop, runtime) => void runtime.close())).toMatch(/: the runtime was closed$/u);
});

test("by the time limit of a loop, and by a reader that leaves the loop", async () => {
  const timed = (runtime: Runtime): unknown =>
    createLoop({ session: runtime.session(), limits: { maxDurationMs: 50 }, ...toModel() }).run("go");
  const clock = new FakeClock();
  expect(await cancelMessageOf(timed, () => clock.advance(50), clock)).toBe("default::slow was cancelled: The run took longer than 50 ms");
  const left = async (runtime: Runtime, signal: AbortSignal): Promise<void> => {
    const events = createLoop({ session: runtime.session(), ...toModel() }).stream("go");
    signal.addEventListener("abort", () => void events.return(undefined as never));
    for await (const _ of events);
  };
  expect(await cancelMessageOf(left, (stop) => stop.abort())).toBe(
    "default::slow was cancelled: the consumer of the loop's events has stopped reading",
  );
});
