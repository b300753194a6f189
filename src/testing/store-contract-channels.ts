/** The part of the store contract about messages on channels. */
import { deepEqual, equal, ok } from "node:assert/strict";
import type { ChannelStore, NewChannelEntry } from "../core/store/channel-store.ts";
import { systemPorts } from "../core/system/system-ports.ts";
import { singleStoreCase, twoStoreCase, type StoreCase } from "./store-case.ts";

const NAMES = ["news", "a\u0000b", "\ud800"] as const;
const KEPT = 500;

export const channelCases: readonly StoreCase[] = [
  caseOfOne("messages on a channel are read in the order they were sent, from any of them on", async (channels) => {
    for (const channel of NAMES) {
      deepEqual([await channels.last(channel), await channels.read({ channel, after: 0, limit: 10 })], [0, []]);
      const numbers: number[] = [];
      for (const body of ["1", "2", "3"]) numbers.push(await channels.send(broadcast({ channel, body })));
      deepEqual(
        numbers,
        numbers.toSorted((a, b) => a - b),
      );
      equal(new Set(numbers).size, 3);
      ok(Math.abs((numbers[0] ?? 0) - systemPorts.clock.wallTime()) < 3_600_000, "a number is close to the time");
      const read = await channels.read({ channel, after: numbers[0] ?? 0, limit: 10 });
      deepEqual(
        read,
        [1, 2].map((at) => ({ number: numbers[at], body: String(at + 1) })),
      );
      deepEqual(
        (await channels.read({ channel, after: 0, limit: 1 })).map(({ body }) => body),
        ["1"],
      );
      deepEqual(
        (await channels.latest({ channel, limit: 2 })).map(({ body }) => body),
        ["2", "3"],
      );
      equal(await channels.last(channel), numbers[2]);
    }
  }),
  caseOfOne("messages sent at the same time have different numbers, and all are kept", async (channels) => {
    const numbers = await Promise.all(Array.from({ length: 40 }, (_, index) => channels.send(broadcast({ body: String(index) }))));
    equal(new Set(numbers).size, 40);
    deepEqual(
      (await channels.read({ channel: "news", after: 0, limit: 100 })).map(({ number }) => number),
      numbers.toSorted((a, b) => a - b),
    );
  }),
  caseOfOne("a message of a queue is taken once, never by its sender, and by the first that it is for", async (channels) => {
    await channels.send(queued({ body: "1", sender: "Ann", senderId: "a" }));
    await channels.send(queued({ body: "2", sender: "Bob", senderId: "b" }));
    const take = async (reader: string, from?: string): Promise<string | undefined> =>
      (await channels.take({ channel: "tasks", reader, from }))?.body;
    deepEqual([await take("a", "Ann"), await take("a"), await take("c", "a"), await take("c")], [undefined, "2", "1", undefined]);
  }),
  caseOfOne("a message that is given back is the next one again, and one that has ended is not", async (channels) => {
    for (const body of ["1", "2"]) await channels.send(queued({ body }));
    const first = await channels.take({ channel: "tasks", reader: "r" });
    await channels.release({ channel: "tasks", number: first?.number ?? 0 });
    deepEqual(await channels.take({ channel: "tasks", reader: "r" }), first);
    equal(await channels.waiting("tasks"), 2);
    await channels.end({ channel: "tasks", number: first?.number ?? 0 });
    await channels.release({ channel: "tasks", number: first?.number ?? 0 });
    deepEqual([await channels.waiting("tasks"), (await channels.take({ channel: "tasks", reader: "r" }))?.body], [1, "2"]);
  }),
  caseOfOne("a queue that is full refuses until one of its messages has ended", async (channels) => {
    const one = await channels.send(queued({ body: "1", capacity: 2 }));
    await channels.send(queued({ body: "2", capacity: 2 }));
    equal(await channels.send(queued({ body: "3", capacity: 2 })), 0);
    await channels.end({ channel: "tasks", number: one });
    ok((await channels.send(queued({ body: "3", capacity: 2 }))) > 0);
    deepEqual(
      (await channels.latest({ channel: "tasks", limit: 10 })).map(({ body }) => body),
      ["1", "2", "3"],
    );
  }),
  caseOfOne("the latest messages stay, older ones are dropped in time, except those waiting in a queue", async (channels) => {
    for (let n = 0; n < 200; n++) await channels.send(broadcast({ body: String(n), keep: 10 }));
    const left = await channels.read({ channel: "news", after: 0, limit: 1_000 });
    ok(left.length >= 10 && left.length < 100, `${left.length} of 200 are left`);
    equal(left.at(-1)?.body, "199");
    for (let n = 0; n < 200; n++) {
      const number = await channels.send(queued({ body: String(n), keep: 10, capacity: KEPT }));
      if (n % 2 === 0) await channels.end({ channel: "tasks", number });
    }
    equal(await channels.waiting("tasks"), 100);
    ok((await channels.read({ channel: "tasks", after: 0, limit: 1_000 })).length < 180);
  }),
  caseOfOne("the old messages of each channel are dropped, also where two channels are written in turn", async (channels) => {
    for (let n = 0; n < 100; n++) for (const channel of ["news", "rain"]) await channels.send(broadcast({ channel, keep: 10 }));
    for (const channel of ["news", "rain"])
      ok((await channels.read({ channel, after: 0, limit: 1_000 })).length < 90, `the old messages of ${channel} stay`);
  }),
  caseOfOne("a message that a full queue refuses has no number", async (channels) => {
    const number = await channels.send(queued({ body: "1", capacity: 1 }));
    equal(await channels.send(queued({ body: "2", capacity: 1 })), 0);
    equal(await channels.last("tasks"), number);
  }),
  twoStoreCase("processes read the same messages, and what one of them has taken is the other's once it is closed", async (one, other) => {
    const [here, there] = [one.channels, other.channels];
    if (here === undefined || there === undefined) return;
    await here.send(queued({ body: "1" }));
    deepEqual(
      (await there.read({ channel: "tasks", after: 0, limit: 10 })).map(({ body }) => body),
      ["1"],
    );
    equal((await here.take({ channel: "tasks", reader: "r" }))?.body, "1");
    equal(await there.take({ channel: "tasks", reader: "r" }), undefined);
    await one.close();
    equal((await there.take({ channel: "tasks", reader: "r" }))?.body, "1");
  }),
];

/** Makes a case that a store without channels passes. */
function caseOfOne(title: string, run: (channels: ChannelStore) => Promise<void>): StoreCase {
  return singleStoreCase(title, async ({ channels }) => {
    if (channels !== undefined) await run(channels);
  });
}

function broadcast(entry: Partial<NewChannelEntry>): NewChannelEntry {
  return { channel: "news", body: "{}", sender: "Ann", senderId: "a", keep: KEPT, ...entry };
}

function queued(entry: Partial<NewChannelEntry>): NewChannelEntry {
  return broadcast({ channel: "tasks", capacity: KEPT, ...entry });
}
