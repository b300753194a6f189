/** L14 of reliability: very many timeouts at once, half of the time beside work that keeps the event loop. */
import { expect, test } from "vitest";
import { inCI } from "../../ci.ts";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { seededRandom } from "../../../src/testing/fake-ports.ts";

const [COUNT, MOST_MS] = inCI ? [100_000, 10_000] : [20_000, 500];
const LEAST_MS = 10;

const handles = (): number => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;

test(`L14 of ${COUNT} timeouts none is early or lost, cancelled ones never fire, and no handle is left`, async () => {
  const { clock } = systemPorts;
  const random = seededRandom(14);
  const before = handles();
  let onTime = 0;
  let early = 0;
  let cancelledFired = 0;
  const cancels: (() => void)[] = [];
  const fired = Array.from({ length: COUNT }, (_, index) => {
    const delayMs = LEAST_MS + random.next() * (MOST_MS - LEAST_MS);
    const at = clock.now() + delayMs;
    if (index % 4 === 0) {
      cancels.push(clock.timer(() => cancelledFired++, delayMs));
      return Promise.resolve();
    }
    return new Promise<void>((resolve) => {
      const fire = (): void => {
        if (clock.now() < at) early++;
        else onTime++;
        resolve();
      };
      clock.timer(fire, delayMs);
    });
  });
  for (const cancel of cancels) cancel();
  const busy = setInterval(() => {
    for (const until = clock.now() + 5; clock.now() < until;);
  }, 10);
  await Promise.all(fired);
  clearInterval(busy);
  expect([onTime, early, cancelledFired]).toEqual([COUNT - cancels.length, 0, 0]);
  expect(handles()).toBeLessThanOrEqual(before);
});
