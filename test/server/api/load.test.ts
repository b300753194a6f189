/** Load on a server in a process of its own that is too much, hostile, or long: `scripts/server-load.ts`, in short. */
import { expect, onTestFinished } from "vitest";
import { LoadedServer, guard, hostile, overload, soak } from "../../../scripts/server-load.ts";
import { testInCI } from "../../test-in-ci.ts";

async function startServer(connections?: number): Promise<LoadedServer> {
  const server = await LoadedServer.start(connections);
  onTestFinished(() => server.stop());
  return server;
}

testInCI("issue 19 L12 under overload, excess requests are refused with a retry time, and accepted ones run once", async () => {
  const { phases, ran } = await overload(await startServer(), 2.5);
  expect(phases.filter(({ other, refusedWithoutWait }) => other + refusedWithoutWait > 0)).toEqual([]);
  expect(phases.reduce((sum, { accepted }) => sum + accepted, 0)).toBe(ran);
  expect(phases.find(({ phase }) => phase === "5×")?.refused).toBeGreaterThan(0);
  expect(phases.at(-1)?.accepted).toBeGreaterThan(0);
});

testInCI("issue 19 L15 hostile requests are refused, and other clients' calls run meanwhile", async () => {
  const { wrong, othersFailed } = await guard(await startServer(), 1.5);
  expect([wrong, othersFailed]).toEqual([[], 0]);
});

testInCI(`issue 19 L21 each request gets its own answer, with one in a hundred hostile`, async () => {
  const { wrong } = await hostile(await startServer(64), 2_400);
  expect(wrong).toEqual([]);
});

testInCI("issue 19 L18 opening and closing sessions leaves neither timers nor files behind", async () => {
  const {
    wrong,
    uses: [early, late],
  } = await soak(await startServer(), 5, 100);
  expect(wrong).toEqual([]);
  expect(late.timers).toBeLessThanOrEqual(early.timers + 2);
  expect(late.fileHandles).toBeLessThanOrEqual(early.fileHandles + 64); // one for each connection that the client keeps
});
