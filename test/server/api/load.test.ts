/** Load on a server in a process of its own that is too much, hostile, or long: `scripts/server-load.ts`, in short. */
import { expect, onTestFinished } from "vitest";
import { LoadedServer, guard, hostile, overload, soak } from "../../../scripts/server-load.ts";
import { testInCI } from "../../test-in-ci.ts";

async function startServer(connections?: number): Promise<LoadedServer> {
  const server = await LoadedServer.start(connections);
  onTestFinished(() => server.stop());
  return server;
}

testInCI("issue 19 L12 what is too much is refused with a time to wait, and what is not refused runs once", async () => {
  const { phases, ran } = await overload(await startServer(), 2.5);
  expect(phases.filter(({ other, refusedWithoutWait }) => other + refusedWithoutWait > 0)).toEqual([]);
  expect(phases.reduce((sum, { accepted }) => sum + accepted, 0)).toBe(ran);
  expect(phases.find(({ phase }) => phase === "5×")?.refused).toBeGreaterThan(0);
  expect(phases.at(-1)?.accepted).toBeGreaterThan(0);
});

testInCI("issue 19 L15 hostile requests are refused, and calls of others run beside them", async () => {
  const { wrong, othersFailed } = await guard(await startServer(), 1.5);
  expect([wrong, othersFailed]).toEqual([[], 0]);
});

testInCI(`issue 19 L21 each request has its own answer, though one in a hundred is hostile`, async () => {
  const { wrong } = await hostile(await startServer(64), 2_400);
  expect(wrong).toEqual([]);
});

testInCI("issue 19 L18 sessions that come and go leave neither timers nor files behind", async () => {
  const {
    wrong,
    uses: [early, late],
  } = await soak(await startServer(), 5, 100);
  expect(wrong).toEqual([]);
  expect(late.timers).toBeLessThanOrEqual(early.timers + 2);
  expect(late.fileHandles).toBeLessThanOrEqual(early.fileHandles + 64); // one for each connection that the client keeps
});
