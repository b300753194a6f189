/** A command whose work never waits, as simulated and local calls do not, still sees signals. */
import { expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import { runCli } from "../../src/cli/run-cli.ts";
import { forEachInTurns } from "../../src/cli/for-each-in-turns.ts";
import { PROJECT, folderWith } from "./run-haft.ts";
import { lines } from "./session-project.ts";

test("haft run stops between two lines of a long conversation", async () => {
  const count = 3_000;
  const calls = Array.from({ length: count }, (_, a) => ({ role: "assistant", calls: [{ name: "math::add", input: { a } }] }));
  const folder = folderWith({ ...PROJECT, "long.jsonl": lines(...calls) });
  const stop = new AbortController();
  let [stdout, stderr] = ["", ""];
  const exitCode = await runCli(["run", `${folder}/long.jsonl`, "--config", `${folder}/haft.toml`], {
    stdout: {
      write(text: string) {
        if (stdout === "") setImmediate(() => stop.abort(new ToolError("cancelled", "Stopped by Ctrl-C.")));
        stdout += text;
        return true;
      },
    },
    stderr: {
      write(text: string) {
        stderr += text;
        return true;
      },
    },
    stdin: nothing(),
    ask: undefined,
    environment: { HAFT_TRUST: "all" },
    signal: stop.signal,
  });
  expect({ exitCode, stderr }).toEqual({ exitCode: 130, stderr: "haft: cancelled: Stopped by Ctrl-C.\n" });
  expect(stdout).not.toContain(`#${count} `);
});

test("work on many items stops when the signal aborts, and rejects with its reason", async () => {
  const stop = new AbortController();
  const done: number[] = [];
  setImmediate(() => setImmediate(() => stop.abort(new Error("enough"))));
  const work = forEachInTurns(Array(1_000).keys(), stop.signal, (item) => void done.push(item));
  await expect(work).rejects.toThrow("enough");
  expect(done.length).toBeLessThan(10);
});

async function* nothing(): AsyncGenerator<Uint8Array> {}
