/** A file of its own, in which nothing else runs: a signal has to be sent before the process is done. */
import { existsSync, readFileSync, statSync, watch } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { REAL } from "./generate-project.ts";
import { jsonLines } from "./session-project.ts";
import { PATIENCE_MS, folderWith, haft, type Finished } from "./run-haft.ts";
import { testInCI } from "../test-in-ci.ts";

/** Runs until the file has grown beyond so many bytes, then kills it. */
async function killed(
  args: readonly string[],
  { folder, file, bytes }: { readonly folder: string; readonly file: string; readonly bytes: number },
): Promise<Finished> {
  const path = join(folder, file);
  const { promise: grown, resolve } = Promise.withResolvers<void>();
  const watcher = watch(folder, () => existsSync(path) && statSync(path).size > bytes && resolve());
  const finished = await haft(args, { folder, onStart: (control) => void grown.then(() => control.signal("SIGKILL")) });
  watcher.close();
  return finished;
}

testInCI(
  "issue 6.7 haft generate killed at several points, it resumes to the same file as without a kill",
  { timeout: 3 * PATIENCE_MS },
  async () => {
    const folder = folderWith(REAL);
    const options = ["generate", "--count", "1800", "--calls", "10", "--seed", "7", "--out"];
    const whole = await haft([...options, "whole.jsonl"], { folder, ownProcess: true });
    expect(whole.exitCode).toBe(0);
    const text = readFileSync(join(folder, "whole.jsonl"), "utf8");
    for (const share of [0, 0.4]) {
      const { exitCode } = await killed([...options, "train.jsonl"], { folder, file: "train.jsonl", bytes: text.length * share });
      expect(exitCode).toBe(137);
      expect(text.startsWith(readFileSync(join(folder, "train.jsonl"), "utf8"))).toBe(true);
    }
    const last = await haft([...options, "train.jsonl", "--concurrency", "3"], { folder });
    expect(last.stdout).toMatch(/^conversations +[\d,]+ {2}in train\.jsonl, after [\d,]+ that were there\n/u);
    expect(readFileSync(join(folder, "train.jsonl"), "utf8")).toBe(text);
  },
);

testInCI(
  "issue 6.7 haft generate killed with two output files, it resumes to the same files as without a kill",
  { timeout: 3 * PATIENCE_MS },
  async () => {
    const folder = folderWith(REAL);
    const options = ["generate", "--count", "1800", "--calls", "10", "--seed", "7", "--split", "0.4", "--out"];
    expect((await haft([...options, "whole.jsonl"], { folder, ownProcess: true })).exitCode).toBe(0);
    const [train, forTests] = ["whole.jsonl", "whole.test.jsonl"].map((name) => readFileSync(join(folder, name), "utf8"));
    const { exitCode } = await killed([...options, "train.jsonl"], { folder, file: "train.jsonl", bytes: (train ?? "").length * 0.1 });
    expect(exitCode).toBe(137);
    expect((await haft([...options, "train.jsonl"], { folder })).exitCode).toBe(0);
    expect(readFileSync(join(folder, "train.jsonl"), "utf8")).toBe(train);
    expect(readFileSync(join(folder, "train.test.jsonl"), "utf8")).toBe(forTests);
  },
);

testInCI("issue 6.7 haft generate Ctrl-C ends it with complete lines, and prints how to continue", { timeout: PATIENCE_MS }, async () => {
  const folder = folderWith(REAL);
  const options = ["generate", "--count", "5000", "--calls", "10", "--out", "train.jsonl"];
  const { promise: begun, resolve } = Promise.withResolvers<void>();
  const watcher = watch(folder, (_event, file) => file === "train.jsonl" && statSync(join(folder, file)).size > 100_000 && resolve());
  const { exitCode, stdout, stderr } = await haft(options, {
    folder,
    onStart: (control) => void begun.then(() => control.signal("SIGINT")),
  });
  watcher.close();
  const text = readFileSync(join(folder, "train.jsonl"), "utf8");
  const written = jsonLines(text).length;
  expect(text.endsWith("\n")).toBe(true);
  expect({ exitCode, stderr }).toEqual({
    exitCode: 130,
    stderr: `haft: cancelled: Stopped by Ctrl-C. ${written} of 5000 conversations are in train.jsonl.\n  The same command continues where the file ends.\n`,
  });
  expect(stdout).toMatch(/^conversations/u);
});
