/** The sessions that calls have begun, looked for when the session of these calls is resumed after a crash. */
import { expect, test } from "vitest";
import { pure } from "../../../src/core/resources/effects.ts";
import type { ListOptions } from "../../../src/core/store/store.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { testRuntime, tool } from "../bench-runtime.ts";

test("nested sessions of interrupted calls are listed with one request of the store, however many calls there were", async () => {
  const asked: ListOptions[] = [];
  const store = memoryStore();
  const [list, claim] = [store.list.bind(store), store.claim.bind(store)];
  // As of a store whose last process is gone.
  Object.assign(store, {
    claim: async (id: string) => Object.defineProperty(await claim(id), "wasLeftOpen", { value: true }),
    list: async (options: ListOptions = {}) => {
      asked.push(options);
      return (await list(options)).map((session) => ({ ...session, isLeftOpen: true }));
    },
  });
  const look = tool("look", () => 1, { effects: pure });
  const both = tool("both", async (_input, { execute }) => (await execute({ name: "look" })).output, {
    composite: true,
    effects: undefined as never,
  });
  const { runtime } = testRuntime({ store, tools: [look, both] });
  const session = runtime.session("s");
  await session.execute(Array.from({ length: 100 }, () => ({ name: "both" })));
  await session.close();
  asked.length = 0;
  await (await runtime.resume("s")).close();
  const ids = asked.map(({ sessionId, sessionIds }) => sessionIds?.length ?? sessionId);
  expect(ids).toEqual([100]);
});
