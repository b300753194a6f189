/** Hostile programs: each ends in time, in one result, and leaves the process as it was. */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { createRuntime, defineTool, pure } from "haft";
import { programToolset } from "haft/program";
import { testInCI } from "../../test-in-ci.ts";

/** Threads of the bundled package start in a third of the time. */
const IMPORT_BUNDLED = new URL("../../fixtures/import-bundled.mjs", import.meta.url).href;

testInCI(
  "issue 18 some sixty programs that attack time, memory, calls and the sandbox end as expected, and the process grows by less than 150 MB",
  () => {
    const { stdout, status } = spawnSync(process.execPath, [`--import=${IMPORT_BUNDLED}`, "scripts/hostile-programs.ts"], {
      encoding: "utf8",
    });
    expect(stdout.split("\n").filter((line) => line.startsWith("WRONG"))).toEqual([]);
    expect(status).toBe(0);
  },
  300_000,
);

test("issue 18 programs that loop forever, use up memory or call without end are stopped", async () => {
  let noted = 0;
  const note = defineTool({ name: "note", description: "Notes.", inputSchema: { type: "object" }, effects: pure, execute: () => ++noted });
  const limits = programToolset({ maxRunMs: 100, maxCalls: 20 });
  const runtime = createRuntime({ toolsets: [{ name: "default", tools: [note] }, limits] });
  const codes = ["for (;;);", "'x'.repeat(2 ** 29);", "for (;;) tools.note({});"];
  const results = await runtime.execute(codes.map((code) => ({ name: "run_program", input: { code } })));
  expect(results.map(({ error }) => error?.message)).toEqual([
    "The program was stopped: it computed for more than 100 ms.",
    "The program was stopped: it needed more than 64 MiB of memory.",
    "The program was stopped: it made more than 20 calls.",
  ]);
  expect(noted).toBe(0);
  await runtime.close();
});

testInCI("issue 18 running out of memory is reported as such, however the interpreter signals it, and a thrown null is not", async () => {
  const runtime = createRuntime({ toolsets: [programToolset({ maxRunMs: 60_000, maxMemoryMb: 32 })] });
  const codes = [
    "let next = () => 1; for (;;) { const before = next; next = () => before; }",
    "let number = 3n; for (;;) number **= 3n;",
    "throw null;",
    "const kept = []; for (let i = 0; i < 20; i++) kept.push('x'.repeat(2 ** 20)); throw new RangeError(kept.length);",
  ];
  const results = await runtime.execute(codes.map((code) => ({ name: "run_program", input: { code } })));
  expect(results.map(({ error }) => error?.code)).toEqual(["limit_exceeded", "limit_exceeded", "execution_failed", "execution_failed"]);
  await runtime.close();
});
