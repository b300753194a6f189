import { expect, test } from "vitest";
import type { Model } from "../../src/core/model.ts";
import type { ModelMessage } from "../../src/core/message.ts";
import { settle } from "../../src/testing/fake-ports.ts";
import { tool } from "../runtime/bench-runtime.ts";
import { lines, testLoop } from "./bench-loop.ts";

const call = (name: string, id: string) => ({ name, id, input: { id } });

/** Calls without a result behind them, and results without a call before them. */
function unpaired(messages: readonly ModelMessage[]): readonly string[] {
  const calls = new Set<string>();
  const results = new Set<string>();
  for (const message of messages) {
    if (message.role === "call") calls.add(message.callId);
    if (message.role === "result") results.add(message.callId);
  }
  return [...[...calls].filter((id) => !results.has(id)), ...[...results].filter((id) => !calls.has(id))];
}

/** A run over two rounds of reads and writes of which some take their time, aborted after so many things have happened. */
async function abortAfter(steps: number) {
  const controller = new AbortController();
  let left = steps;
  const step = (): void => {
    if (left-- === 0) controller.abort();
  };
  const world: string[] = [];
  const work = (name: string, writes: readonly string[]) =>
    tool(
      name,
      async ({ id }, { signal }) => {
        step();
        await settle();
        step();
        if (signal.aborted) throw new Error("stopped");
        world.push(String(id));
        return id;
      },
      { effects: { reads: [], writes: [...writes] } },
    );
  const { loop, session } = testLoop({
    tools: [work("read", []), work("write", ["w"])],
    onEvent: step,
    script: (_request, index) =>
      index < 2
        ? { text: "Working.", pieceChars: 3, calls: [call("read", `r${index}`), call("write", `w${index}`), call("read", `s${index}`)] }
        : { text: "Done." },
  });
  const result = await loop.run("go", { signal: controller.signal });
  return { result, loop, session, world, aborted: left < 0 };
}

test("an abort at any moment leaves every call with its result, and the loop can run again", async () => {
  let aborts = 0;
  for (let steps = 0; ; steps++) {
    const { result, loop, session, world, aborted } = await abortAfter(steps);
    if (!aborted) break;
    aborts++;
    const shown = session.messages();
    expect(unpaired(shown)).toEqual([]);
    expect(session.history.filter((entry) => entry.result === undefined)).toEqual([]);
    expect(lines(shown)[0]).toBe("user go");
    if (result.reason !== "cancelled") expect(result).toMatchObject({ reason: "answered", text: "Done." }); // the abort came behind the answer
    const done = result.results.filter(({ status }) => status === "ok").map(({ output }) => output);
    expect(world.filter((id) => !done.includes(id) && id.startsWith("w"))).toEqual([]);
    expect((await loop.run("go on")).reason).toMatch(/^(?:answered|model-error)$/u);
  }
  expect(aborts).toBeGreaterThan(40);
});

test("an abort while another turn holds the session ends the run before it adds a message", async () => {
  const { loop, session } = testLoop({ script: [], tools: [tool("deaf", () => new Promise(() => {}))] });
  const other = new AbortController();
  const busy = session.execute({ name: "deaf" }, { signal: other.signal });
  const controller = new AbortController();
  const running = loop.run("go", { signal: controller.signal });
  await settle();
  controller.abort();
  expect(await running).toMatchObject({ reason: "cancelled", rounds: 0 });
  other.abort();
  await busy;
  expect(lines(session.messages())).toEqual(["call deaf", "result cancelled"]);
});

test("closing the session while the model streams rejects the run, and every call has its result", async () => {
  const { loop, session } = testLoop({
    tools: [tool("read", () => 1)],
    script: () => {
      void session.close();
      return { calls: [call("read", "r")] };
    },
  });
  await expect(loop.run("go")).rejects.toThrow('The session "s" is closed.');
  expect([loop.running, session.history.filter(({ result }) => result === undefined)]).toEqual([false, []]);
});

test("closing the session aborts the signal of a model that no longer responds", async () => {
  const signals: (AbortSignal | undefined)[] = [];
  const model: Model = {
    name: "silent",
    async *stream(_request, options) {
      signals.push(options?.signal);
      await new Promise(() => {});
      yield* [];
    },
  };
  const { loop, session } = testLoop({ model, script: [] });
  const run = loop.run("go");
  await settle();
  expect(signals.map((signal) => signal?.aborted)).toEqual([false]);
  const closing = session.close();
  await expect(run).rejects.toMatchObject({ code: "invalid_argument" });
  await closing;
  expect(signals.map((signal) => signal?.aborted)).toEqual([true]);
});

const never = (): Promise<undefined> => new Promise(() => {});

test("a stop condition that does not answer is not waited for once the run is cancelled", async () => {
  const controller = new AbortController();
  const { loop } = testLoop({
    tools: [tool("count", () => 1)],
    script: () => ({ calls: [{ name: "count", id: "c", input: {} }] }),
    stopWhen: [() => (controller.abort(), never())],
  });
  expect(await loop.run("go", { signal: controller.signal })).toMatchObject({
    reason: "cancelled",
    rounds: 1,
    results: [{ status: "ok" }],
  });
});

test("a stop condition that does not answer ends with the time limit of the run", async () => {
  const { loop, ports } = testLoop({ script: () => ({ text: "Done." }), stopWhen: [never], limits: { maxDurationMs: 300 } });
  const running = loop.run("go");
  await ports.clock.advance(300);
  expect(await running).toMatchObject({ reason: "timeout", text: "Done.", rounds: 1 });
});

test("a stop condition that does not answer does not keep a run of a closed session", async () => {
  const { loop, session } = testLoop({ script: () => ({ text: "Done." }), stopWhen: [() => (void session.close(), never())] });
  await expect(loop.run("go")).rejects.toThrow('The session "s" is closed.');
});

test("a schema of the answer that does not answer ends with the time limit of the run", async () => {
  const output = {
    "~standard": {
      version: 1 as const,
      vendor: "test",
      validate: never,
      jsonSchema: { input: () => ({ type: "object" }), output: () => ({ type: "object" }) },
    },
  };
  const { loop, ports } = testLoop({ script: () => ({ text: "{}" }), limits: { maxDurationMs: 300 } });
  const running = loop.run("go", { output: output as never });
  await ports.clock.advance(300);
  expect(await running).toMatchObject({ reason: "timeout", text: "{}" });
});
