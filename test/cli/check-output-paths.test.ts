import { linkSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PROJECT, folderWith, haft } from "./run-haft.ts";

const CONFIG = `${PROJECT["haft.toml"]}\n[store]\npath = "store.db"\n`;
const TEMPLATE = '{"messages": [{"role": "user", "content": "Add."}, {"role": "assistant", "content": "Yes."}]}\n';
const LINE = '{"role": "assistant", "calls": [{"name": "math::add", "input": {"a": 1, "b": 2}}]}\n';

async function project(): Promise<string> {
  const folder = folderWith({ ...PROJECT, "haft.toml": CONFIG, "calls.jsonl": LINE, "templates.jsonl": TEMPLATE });
  await haft(["run", "calls.jsonl", "--session", "s"], { folder });
  await haft(["run", "calls.jsonl", "--session", "s2", "--store", "named.db"], { folder });
  for (const name of ["store.db", "haft.toml", "templates.jsonl"]) linkSync(join(folder, name), join(folder, `hard-${name}`));
  symlinkSync(join(folder, "store.db"), join(folder, "soft-store.db"));
  return folder;
}

test.for([
  ["named.db", ["generate", "--from-store", "--store", "named.db", "--redact", "none", "--out", "named.db", "--overwrite"]],
  ["store.db", ["generate", "--out", "store.db", "--overwrite"]],
  ["store.db", ["generate", "--out", "soft-store.db", "--overwrite"]],
  ["haft.toml", ["generate", "--out", "hard-haft.toml", "--overwrite"]],
  ["templates.jsonl", ["generate", "templates.jsonl", "--out", "hard-templates.jsonl", "--overwrite"]],
  ["named.db", ["sessions", "export", "s2", "named.db", "--store", "named.db", "--force"]],
  ["store.db", ["sessions", "export", "s", "hard-store.db", "--force"]],
  ["store.db", ["sessions", "artifact", `artifact:${"0".repeat(64)}`, "store.db", "--force"]],
  ["calls.jsonl", ["run", "calls.jsonl", "--record", "calls.jsonl", "--force"]],
  ["haft.toml", ["run", "calls.jsonl", "--record", "haft.toml", "--force"]],
  ["haft.toml", ["call", "math::add", '{"a": 1, "b": 2}', "--record", "haft.toml", "--force"]],
  ["named.db", ["run", "calls.jsonl", "--store", "named.db", "--session", "s3", "--record", "named.db", "--force"]],
] as const)("%s is not overwritten by the command that reads it: %j", async ([input, args]) => {
  const folder = await project();
  const before = readFileSync(join(folder, input));
  const { exitCode, stderr } = await haft(args, { folder });
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(", which would be lost.")]);
  expect(readFileSync(join(folder, input)).equals(before)).toBe(true);
});
