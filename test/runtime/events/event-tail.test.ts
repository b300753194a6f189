import { expect, test } from "vitest";
import { ToolError } from "../../../src/core/error.ts";
import { EventTail, type TailPage } from "../../../src/runtime/events/event-tail.ts";
import { MemoryLog, fakePorts, settle } from "../../../src/testing/fake-ports.ts";

/** A log that is empty, and cannot be read any more once it has been read. */
class ClosingTail extends EventTail {
  readonly asked = Promise.withResolvers<void>();
  readonly next = Promise.withResolvers<TailPage>();
  #reads = 0;

  async startCursor(): Promise<string> {
    return "0";
  }

  async checkCursor(): Promise<void> {}

  protected override read(cursor: string): Promise<TailPage> {
    if (this.#reads++ === 0) return Promise.resolve({ items: [], cursor, isEnd: true });
    this.asked.resolve();
    return this.next.promise;
  }
}

test.each([
  ["while there is a reader", 1, () => {}, 1],
  ["and not when the last reader has left", 0, () => {}, 0],
  ["and not when no more events will come", 1, (tail: EventTail) => tail.end(), 0],
])("issue 19.3 a log that can no longer be read is reported, %s", async (_, readers, leave, lines) => {
  const log = new MemoryLog();
  const tail = new ClosingTail({ keep: 10, logged: new WeakSet(), ports: { ...fakePorts(), log } });
  tail.readers = 1;
  await tail.page("0");
  await tail.asked.promise;
  tail.readers = readers;
  leave(tail);
  tail.next.reject(new ToolError("store_failed", "The store is closed."));
  await settle();
  expect(log.lines).toHaveLength(lines);
});
