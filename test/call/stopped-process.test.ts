/** What is said of a tool that takes long, where its process had no processor meanwhile. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { bundledProgram } from "../bundled-program.ts";

/** Longer than all limits. */
const STOPPED_MS = 1_300;

/** What the process logs, with `#` for each number. */
async function warnings(action: "stop" | "spin" | "wait"): Promise<readonly string[]> {
  const child = spawn(process.execPath, [bundledProgram("call/stopped-process"), action], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const found: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    const said = JSON.parse(line) as { readonly stopping?: true; readonly warning?: string; readonly status?: string };
    if (said.warning !== undefined) found.push(said.warning.replaceAll(/\d+(?:\.\d+)?/gu, "#"));
    if (said.status !== undefined) expect(said.status).toBe("ok");
    if (said.stopping === undefined) continue;
    await sleep(STOPPED_MS);
    child.kill("SIGCONT");
  }
  return found;
}

const TOOK = `The effects of tool "default::work" took # ms to work out; no other call runs during that time. Stay below # ms: no I/O, no heavy work.`;
const BUSY = "default::work kept the event loop busy for # ms: no deadline can cut it off. Make it await, or move the work to a worker.";
const HELD =
  "default::work held the event loop up for # ms, of which it ran for # ms: it waits synchronously, as execSync() does, or the machine had no processor for it.";

test.skipIf(process.platform === "win32")(
  "a process that was stopped logs no warning that its tool kept the event loop busy or resolved its effects slowly",
  async () => {
    expect(await warnings("stop")).toEqual([HELD]);
  },
);

test("a tool that uses the processor for long is reported as keeping the event loop busy and resolving its effects slowly", async () => {
  expect(await warnings("spin")).toEqual([TOOK, BUSY]);
});

test("a tool that waits synchronously is reported as holding up the event loop", async () => {
  expect(await warnings("wait")).toEqual([HELD]);
});
