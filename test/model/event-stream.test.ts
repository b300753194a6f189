import { expect, test } from "vitest";
import type { ModelEvent } from "../../src/core/model.ts";
import { EventStream } from "../../src/model/event-stream.ts";

const event = (text: string): ModelEvent => ({ type: "text-delta", text });
const OVER = { done: true, value: undefined };

async function* lists(...given: readonly (readonly ModelEvent[] | Error)[]): AsyncGenerator<readonly ModelEvent[], void> {
  for (const one of given) {
    if (one instanceof Error) throw one;
    yield one;
  }
}

test("events arrive in order, even with several pending reads", async () => {
  const stream = new EventStream(lists([event("a"), event("b")], [], [event("c")]));
  const steps = await Promise.all([0, 1, 2, 3, 4].map(() => stream.next()));
  expect(steps).toEqual([...["a", "b", "c"].map((text) => ({ done: false, value: event(text) })), OVER, OVER]);
});

test("an error of the source is thrown once, after the events before it", async () => {
  const stream = new EventStream(lists([event("a")], new Error("broken")));
  await expect(stream.next()).resolves.toEqual({ done: false, value: event("a") });
  await expect(stream.next()).rejects.toThrow("broken");
  await expect(stream.next()).resolves.toEqual(OVER);
});

test("leaving the stream ends its source and discards buffered events", async () => {
  let ended = false;
  const open = async function* (): AsyncGenerator<readonly ModelEvent[], void> {
    try {
      yield [event("a"), event("b")];
    } finally {
      ended = true;
    }
  };
  const stream = new EventStream(open());
  for await (const heard of stream) {
    expect(heard).toEqual(event("a"));
    break;
  }
  expect([ended, await stream.next()]).toEqual([true, OVER]);
});

test("a check that throws ends the stream", async () => {
  let given = 0;
  const stream = new EventStream(lists([event("a"), event("b")]), () => {
    if (given++ > 0) throw new Error("cancelled");
  });
  await expect(stream.next()).resolves.toEqual({ done: false, value: event("a") });
  await expect(stream.next()).rejects.toThrow("cancelled");
  await expect(stream.next()).resolves.toEqual(OVER);
});

test("leaving a stream with a pending read ends the source without an error", async () => {
  const { promise: forever, reject } = Promise.withResolvers<never>();
  const lists = (async function* (): AsyncGenerator<never, void> {
    yield await forever;
  })();
  const stream = new EventStream(lists, undefined, () => reject(new Error("left")));
  const pending = stream.next();
  expect(await stream.return()).toEqual({ done: true, value: undefined });
  expect(await pending).toEqual({ done: true, value: undefined });
});
