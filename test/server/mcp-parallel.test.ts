/** Several calls of one connection at the same time: they run side by side in one session, as far as their effects allow. */
import { describe, expect, test, vi } from "vitest";
import { pure } from "../../src/core/resources/effects.ts";
import type { RuntimeEvent } from "../../src/core/event.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { FakeClock, MemoryLog, settle } from "../../src/testing/fake-ports.ts";
import { ERAS, listening, openRuntime, overHttp, overStdio } from "./mcp-clients.ts";

const greet = defineTool({
  name: "greet",
  description: "Asks for a name.",
  effects: pure,
  timeoutMs: 0,
  execute: async (_input, { ask }) => (await ask({ message: "Your name?" })).action,
});
const quick = defineTool({ name: "quick", description: "", effects: pure, execute: () => "at once" });

describe.each(ERAS)("a client of the %s era", (era) => {
  test("F0.36 that makes four calls at once waits as long as for one, and gets each result in the one session", async () => {
    const clock = new FakeClock();
    const events: RuntimeEvent[] = [];
    const nap = defineTool({
      name: "nap",
      description: "Takes 300 ms.",
      inputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
      effects: pure,
      execute: ({ n }) => new Promise<number>((resolve) => void clock.timer(() => resolve(n), 300)),
    });
    const { runtime } = await openRuntime({ tools: [nap], ports: { clock }, onEvent: (event) => void events.push(event) });
    const { client } = await overStdio(runtime, { era });
    const since = clock.now();
    const calls = [1, 2, 3, 4].map((n) => client.callTool({ name: "nap", arguments: { n } }));
    await vi.waitFor(() => expect(runtime.running).toHaveLength(4));
    await clock.advance(300);
    const answers = await Promise.all(calls);
    expect([clock.now() - since, answers.map(({ content }) => content)]).toEqual([
      300,
      [1, 2, 3, 4].map((n) => [{ type: "text", text: `${n}` }]),
    ]);
    const ends = events.filter((event) => event.type === "call-end");
    expect([ends.length, new Set(ends.map(({ sessionId }) => sessionId)).size]).toEqual([4, 1]);
  });

  test("F0.36 has calls with the same write key run one after another, in the order sent", async () => {
    const append = defineTool({
      name: "append",
      description: "",
      inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      effects: { reads: ["session:text"], writes: ["session:text"] },
      execute: async ({ text }, { state }) => {
        const before = String(state.get("text") ?? "");
        await settle();
        state.update("text", () => before + text);
        return state.get("text");
      },
    });
    const { runtime } = await openRuntime({ tools: [append] });
    const { client } = await overStdio(runtime, { era });
    const answers = await Promise.all(["a", "b", "c"].map((text) => client.callTool({ name: "append", arguments: { text } })));
    expect(answers.map(({ content }) => Reflect.get(Object(content[0]), "text"))).toEqual(["a", "ab", "abc"]);
  });

  test("F0.36 gets its other results while one call waits for a person", async () => {
    const { runtime } = await openRuntime({ tools: [greet, quick] });
    const decided = Promise.withResolvers<void>();
    const { client } = await overStdio(runtime, { era });
    client.setRequestHandler("elicitation/create", async () => {
      await decided.promise;
      return { action: "decline" };
    });
    const asking = client.callTool({ name: "greet" });
    expect(await client.callTool({ name: "quick" })).toMatchObject({ content: [{ text: "at once" }] });
    decided.resolve();
    expect(await asking).toMatchObject({ content: [{ text: "decline" }] });
  });
});

test("F0.36 a session over HTTP (2025-11-25) runs its calls in parallel too", async () => {
  const release = Promise.withResolvers<string>();
  const slow = defineTool({ name: "slow", description: "", effects: pure, execute: () => release.promise });
  const { runtime } = await openRuntime({ tools: [slow, quick] });
  const { url } = await listening(runtime, { ports: { log: new MemoryLog() } });
  const client = await overHttp(url, { era: "legacy" });
  const waiting = client.callTool({ name: "slow" });
  expect(await client.callTool({ name: "quick" })).toMatchObject({ content: [{ text: "at once" }] });
  release.resolve("in the end");
  expect(await waiting).toMatchObject({ content: [{ text: "in the end" }] });
});
