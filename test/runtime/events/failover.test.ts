/** Readers of events that other processes write, in a store that loses the events it had written last: its server was replaced by one that was behind. */
import { expect, test } from "vitest";
import type { Store } from "../../../src/core/store/store.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { FakeClock, MemoryLog } from "../../../src/testing/fake-ports.ts";
import { turns } from "../session/slow-store.ts";
import { readPositions } from "./followed.ts";

const MESSAGE = { role: "user", content: "more" } as const;

/** The store that is reached at the moment. */
function reached(): { readonly store: Store; lead: (store: Store) => void } {
  let now = memoryStore();
  const store = new Proxy(now, {
    get(_first, key) {
      const value: unknown = Reflect.get(now, key);
      return typeof value === "function" ? value.bind(now) : value;
    },
  });
  return { store, lead: (other) => void (now = other) };
}

test.each(["one session", "all sessions"])("%s: events after a failover are read, or their reader gets a gone error", async (read) => {
  const clock = new FakeClock();
  const ports = { clock, log: new MemoryLog() };
  const { store, lead } = reached();
  const here = createRuntime({ store, ports });
  const [primary, standby] = [memoryStore(), memoryStore()].map((kept) => ({ kept, runtime: createRuntime({ store: kept, ports }) }));
  if (primary === undefined || standby === undefined) return expect.fail();
  for (const { runtime } of [primary, standby]) await runtime.session("shop").addMessage(MESSAGE);
  lead(primary.kept);
  const feed = here.events(read === "one session" ? { session: "shop" } : { after: "0" });
  expect(await readPositions(feed, 2)).toEqual([1, 2]);
  for (let more = 0; more < 3; more++) await primary.runtime.session().addMessage(MESSAGE);
  await clock.advance(2_000);
  lead(standby.kept);
  await clock.advance(2_000);
  await standby.runtime.sessions.get("shop")?.addMessage(MESSAGE);
  const reading = read === "one session" ? readPositions(feed, 1) : readPositions(feed, 100);
  reading.catch(() => {});
  for (let polls = 0; polls < 8; polls++) await clock.advance(500).then(() => turns(5));
  if (read === "one session") expect(await reading).toEqual([3]);
  else await expect(reading).rejects.toMatchObject({ code: "gone" });
  for (const runtime of [here, primary.runtime, standby.runtime]) await runtime.close();
});
