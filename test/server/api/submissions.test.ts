/** Results that are kept for requests that did not wait for them. */
import { FakeClock } from "haft/testing";
import { expect } from "vitest";
import { Submissions } from "../../../src/server/api/handlers/submissions.ts";
import { TextResponse } from "../../../src/server/http/text-response.ts";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { testInCI } from "../../test-in-ci.ts";

const MEGABYTE = 1024 * 1024;

testInCI("at most 64 MB of results are retained: a principal's older results are dropped first, and its newest never", async () => {
  const clock = new FakeClock();
  const submissions = new Submissions({ clock, ids: systemPorts.ids });
  const signal = new AbortController().signal;
  const submit = async (principalId: string, megabytes: number): Promise<string> => {
    const gate = Promise.withResolvers<void>();
    const running = submissions.run(principalId, {
      waitMs: 0,
      async work() {
        await gate.promise;
        return new TextResponse(200, {}, "x".repeat(megabytes * MEGABYTE));
      },
    });
    await clock.advance(0);
    const waited = await running;
    gate.resolve();
    await submissions.whenIdle();
    return "submissionId" in waited ? waited.submissionId : "";
  };
  const isKept = async (principalId: string, id: string): Promise<boolean> =>
    (await submissions.wait(id, { principalId, waitMs: 0, signal })) !== undefined;
  const other = await submit("other", 20);
  const ids: string[] = [];
  for (let n = 0; n < 4; n++) ids.push(await submit("one", 20));
  expect([await isKept("other", other), ...(await Promise.all(ids.map((id) => isKept("one", id))))]).toEqual([
    true,
    false,
    false,
    true,
    true,
  ]);
  const large = await submit("one", 70);
  expect([await isKept("one", large), submissions.size]).toEqual([true, 1]);
  await clock.advance(600_000);
  expect(submissions.size).toBe(0);
});
