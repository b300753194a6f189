/** Calls that a background job makes, while the call that started it still runs: that call does not wait for them. */
import { expect, test } from "vitest";
import type { Tool } from "../../src/core/tool.ts";
import { settle } from "../../src/testing/fake-ports.ts";
import { gate, testRuntime, tool } from "./bench-runtime.ts";

const writes = (key: string): Partial<Tool> => ({ effects: { writes: key }, timeoutMs: 0 });

test("a nested call of a job waits for a lock whose holder waits for the call that started the job", async () => {
  const finish = gate();
  const beginInner = gate();
  const starter = tool(
    "starter",
    async () => {
      await session.execute({ name: "job" }, { background: true });
      await finish.promise;
    },
    writes("a"),
  );
  const job = tool(
    "job",
    async () => {
      await beginInner.promise;
      return (await runtime.execute({ name: "writes_d" })).error?.message ?? "ok";
    },
    writes("z"),
  );
  const other = tool("other", async () => (await runtime.execute({ name: "writes_a" })).status, writes("d"));
  const leaves = [tool("writes_a", () => "a", writes("a")), tool("writes_d", () => "d", writes("d"))];
  const { runtime } = testRuntime({ tools: [starter, job, other, ...leaves] });
  const session = runtime.session();
  const started = session.execute({ name: "starter" });
  await settle();
  const otherEnded = runtime.execute({ name: "other" });
  await settle();
  beginInner.open();
  await settle();
  finish.open();
  expect([(await started).status, (await otherEnded).output]).toEqual(["ok", "ok"]);
  const [startedJob] = runtime.jobs.list();
  const end = await runtime.jobs.wait(startedJob?.id ?? "");
  expect("result" in end && end.result.output).toBe("ok");
});

test("a call waits for the lock of a call that has ended if the job that still uses it does not wait, and another job of that call does", async () => {
  const [useE, otherMayCall] = [gate(), gate()];
  const inRuntime = async (name: string, input = {}): Promise<string> => (await runtime.execute({ name, input })).error?.code ?? "ok";
  const leaf = (name: string, key: string): Tool => tool(name, () => name, writes(key));
  const ended = tool(
    "ended",
    async () => {
      await session.execute([{ name: "job_of_a" }, { name: "job_of_e" }], { background: true });
    },
    writes("e"),
  );
  const starter = tool(
    "starter",
    async ({ isShort }) => (isShort === true ? [] : [await inRuntime("ended"), await inRuntime("writes_e")]),
    {
      effects: { writes: ({ isShort }) => (isShort === true ? "s" : "a") },
      inputSchema: { type: "object", properties: { isShort: { type: "boolean" } } },
      maxConcurrent: 1,
      timeoutMs: 0,
    },
  );
  const jobOfA = tool("job_of_a", () => inRuntime("writes_d"), writes("a"));
  const jobOfE = tool("job_of_e", () => useE.promise, writes("e"));
  const other = tool("other", () => otherMayCall.promise.then(() => inRuntime("starter", { isShort: true })), writes("d"));
  const leaves = [leaf("writes_d", "d"), leaf("writes_e", "e")];
  const { runtime } = testRuntime({ tools: [starter, ended, jobOfA, jobOfE, other, ...leaves] });
  const session = runtime.session();
  const otherEnded = runtime.execute({ name: "other" });
  await settle();
  const started = runtime.execute({ name: "starter" });
  otherMayCall.open();
  await settle();
  useE.open();
  expect((await started).output).toEqual(["ok", "ok"]);
  expect((await otherEnded).output).toBe("ok");
});
