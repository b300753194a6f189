import { hash } from "node:crypto";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { fileLoginStore, type LoginStore } from "../../../../src/engine/mcp/login/login-store.ts";

const HAS_PIPES = spawnSync("mkfifo", ["--version"]).error === undefined;
const KEY = { server: "https://example.com/mcp", user: "ann" };

function kept(): { readonly path: string; readonly logins: LoginStore; readonly warnings: string[] } {
  const folder = mkdtempSync(join(tmpdir(), "haft-logins-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const warnings: string[] = [];
  const logins = fileLoginStore(folder, { debug: () => {}, warn: (text: string) => void warnings.push(text) });
  return { path: join(folder, `${hash("sha256", JSON.stringify([KEY.server, KEY.user]))}.json`), logins, warnings };
}

test("a stored login can be read again, and a missing one is undefined", async () => {
  const { logins } = kept();
  await logins.set(KEY, { token: "t" });

  expect(await logins.get(KEY)).toEqual({ token: "t" });
  expect(await logins.get({ ...KEY, user: "bob" })).toBeUndefined();
  expect(await logins.users(KEY.server)).toEqual(["ann"]);
});

test.skipIf(!HAS_PIPES)("J06 a pipe (needs mkfifo) in the login folder is rejected without waiting for its writer", async () => {
  const { path, logins, warnings } = kept();
  spawnSync("mkfifo", [path]);
  const message = `Cannot read the login ${path}: it is not a regular file but a pipe, socket or device.`;

  await expect(logins.get(KEY)).rejects.toMatchObject({ code: "store_failed", message });
  await expect(logins.set(KEY, { token: "t" })).rejects.toMatchObject({ code: "store_failed" });
  await logins.set({ ...KEY, user: "bob" }, {});
  expect(await logins.users(KEY.server)).toEqual(["bob"]);
  expect(warnings).toEqual([expect.stringContaining(path)]);
});

test.each([
  ["nothing", "", "is not a login that was saved here."],
  ["half of a login", '{"format": "haft-login", "version": 1, "server": "https', "is not a login that was saved here."],
  ["UTF-16", Buffer.from("\uFEFF{}", "utf16le"), "it is in UTF-16."],
  ["bytes that are no text", Buffer.from([0xff]), "it is not valid UTF-8."],
])("J06 a login file with %s is rejected, and the error contains its path", async (_what, text, problem) => {
  const { path, logins } = kept();
  writeFileSync(path, text);

  const refused = logins.get(KEY);
  await expect(refused).rejects.toMatchObject({ code: "store_failed", message: expect.stringContaining(path) });
  await expect(refused).rejects.toThrow(problem);
});

test("J06 a login file of a gigabyte is rejected without being read", async () => {
  const { path, logins } = kept();
  writeFileSync(path, "");
  truncateSync(path, 1024 ** 3);

  await expect(logins.get(KEY)).rejects.toThrow(`Cannot read the login ${path}: it is larger than 4194304 bytes.`);
});
