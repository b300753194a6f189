import { expect, test } from "vitest";
import { throttledLog } from "../../../src/core/system/throttled-log.ts";
import { FakeClock, MemoryLog } from "../../../src/testing/fake-ports.ts";

test("D13 D18 a server that warns endlessly logs twenty lines a minute and one that counts the rest", async () => {
  const [clock, log] = [new FakeClock(), new MemoryLog()];
  const throttled = throttledLog(log, clock);
  for (let index = 0; index < 1_000; index++) throttled.warn(`warning ${index}`);
  throttled.debug("still told");
  await clock.advance(60_000);
  throttled.warn("a minute later");
  expect(log.lines.map(({ message }) => message)).toEqual([
    ...Array.from({ length: 20 }, (_, index) => `warning ${index}`),
    "still told",
    "980 more warnings of this kind were withheld in the minute before.",
    "a minute later",
  ]);
});
