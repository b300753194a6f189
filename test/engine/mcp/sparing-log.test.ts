import { expect, test } from "vitest";
import { sparingLog } from "../../../src/engine/mcp/sparing-log.ts";
import { FakeClock, MemoryLog } from "../../../src/testing/fake-ports.ts";

test("D13 D18 a server that gives cause for warnings without end fills twenty lines a minute and one for the rest", async () => {
  const [clock, log] = [new FakeClock(), new MemoryLog()];
  const sparing = sparingLog(log, clock);
  for (let index = 0; index < 1_000; index++) sparing.warn(`warning ${index}`);
  sparing.debug("still told");
  await clock.advance(60_000);
  sparing.warn("a minute later");
  expect(log.lines.map(({ message }) => message)).toEqual([
    ...Array.from({ length: 20 }, (_, index) => `warning ${index}`),
    "still told",
    "980 more warnings of this kind were withheld in the minute before.",
    "a minute later",
  ]);
});
