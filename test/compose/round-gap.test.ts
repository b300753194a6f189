/** A process killed between the end of a model's message and the moment it is durable. */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { MESSAGE, gapTools } from "./round-gap-tools.ts";
import { inCI } from "../ci.ts";
import { bundledProgram } from "../bundled-program.ts";

const PROGRAM = bundledProgram("compose/round-gap-process");

async function killed(ticks: number): Promise<{ readonly path: string; readonly folder: string }> {
  const folder = mkdtempSync(join(tmpdir(), "haft-gap-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "store.db");
  const child = spawn(process.execPath, [PROGRAM, path, folder, String(ticks)], { stdio: "ignore" });
  const signal = await new Promise((resolve) => child.once("close", (_code, by) => resolve(by)));
  expect(signal).toBe("SIGKILL");
  return { path, folder };
}

test.each(inCI ? [1, 3, 20] : [3])(
  "I03 after a kill %s event loop turns after the first effect, no call that took effect is recorded as not started",
  async (ticks) => {
    const { path, folder } = await killed(ticks);
    const runtime = createRuntime({ tools: gapTools(folder, () => {}), store: sqliteStore({ path }) });
    const happened = new Set(MESSAGE.filter((name) => existsSync(join(folder, name))));
    const session = await runtime.resume("s", { interrupted: "settle" });
    const outcomes = session.log.flatMap((event) =>
      event.type === "call-end" ? [[event.result.name, event.result.error?.outcome] as const] : [],
    );
    for (const [name, outcome] of outcomes) {
      const tool = name.replace("default::", "");
      if (MESSAGE.some((known) => known === tool && happened.has(known))) expect([tool, outcome]).not.toEqual([tool, "not_started"]);
      // A call that may not be repeated waits for the store, so that nobody need ask what became of it.
      else if (tool === "pay" || tool === "undeclared") expect([tool, outcome]).not.toEqual([tool, undefined]);
    }
    expect(outcomes).toHaveLength(MESSAGE.length);
    expect(happened.has("put")).toBe(true);
    await runtime.close();
  },
);

test("I03 an idempotent write killed before its message was stored ends with outcome_unknown", async () => {
  const { path, folder } = await killed(0);
  const runtime = createRuntime({ tools: gapTools(folder, () => {}), store: sqliteStore({ path }) });
  const session = await runtime.resume("s");
  const ended = session.log.flatMap((event) =>
    event.type === "call-end" ? [[event.result.name, event.result.error?.code, event.result.error?.outcome]] : [],
  );
  expect(ended).toEqual([
    ["put", "outcome_unknown", "unknown"],
    ["pay", "cancelled", "not_started"],
    ["undeclared", "cancelled", "not_started"],
    ["keyed", "outcome_unknown", "unknown"],
  ]);
  expect(session.messages()).toEqual([]);
  await runtime.close();
});
