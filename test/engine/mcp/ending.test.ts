/** How long a server is given to end, on a clock that the test holds. A file of its own: ending quickly holds for the whole process. */
import { once } from "node:events";
import { expect, test } from "vitest";
import { endServer, shortenServerGrace, startServer } from "../../../src/processes/server-process.ts";
import { FakeClock } from "../../../src/testing/fake-ports.ts";

/** Heeds neither the end of its input nor SIGTERM. */
const STUBBORN = 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000); console.log("ready");';

test.each([
  { who: "a program", graceMs: 1_000 },
  { who: "a person who waits", graceMs: 200 },
])("$who kills an unresponsive server $graceMs ms after closing its input and as long again after SIGTERM", async ({ graceMs }) => {
  if (graceMs < 1_000) shortenServerGrace();
  const clock = new FakeClock();
  const child = startServer({ command: process.execPath, args: ["-e", STUBBORN] });
  await once(child.stdout, "data");
  const exited = once(child, "exit");

  const ending = endServer(child, clock);
  await clock.advance(2 * graceMs);
  expect(await exited).toEqual([null, "SIGKILL"]);
  await clock.advance(graceMs);
  await ending;
});

test("a server that was already ending is killed after the shorter time as well", async () => {
  const clock = new FakeClock();
  const child = startServer({ command: process.execPath, args: ["-e", STUBBORN] });
  await once(child.stdout, "data");
  const exited = once(child, "exit");

  const ending = endServer(child, clock);
  await clock.advance(100);
  shortenServerGrace();
  await clock.advance(300);
  expect(await exited).toEqual([null, "SIGKILL"]);
  await clock.advance(200);
  await ending;
});
