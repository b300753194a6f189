import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { findCommandFile, isProgramFile } from "../../src/processes/find-command-file.ts";

const PATH = String.raw`tools;\root;"C:\Program Files\nodejs";D:\bin`;
const FILES = new Set(
  [
    String.raw`tools\npx.cmd`,
    String.raw`\root\npx.cmd`,
    String.raw`npx.cmd`,
    String.raw`C:\Program Files\nodejs\npx`,
    String.raw`C:\Program Files\nodejs\npx.cmd`,
    String.raw`C:\Program Files\nodejs\node.exe`,
    String.raw`D:\bin\npx.exe`,
    String.raw`D:\bin\python3.11.exe`,
  ].map((path) => path.toLowerCase()),
);

const found = (command: string, more: object = {}): string =>
  findCommandFile(command, {
    environment: { Path: PATH, PATHEXT: ".COM;.EXE;.BAT;.CMD" },
    platform: "win32",
    isFile: (path) => FILES.has(path.toLowerCase()),
    ...more,
  });

test.each([
  ["npx", {}, String.raw`C:\Program Files\nodejs\npx.cmd`],
  ["NPX.CMD", {}, String.raw`C:\Program Files\nodejs\NPX.CMD`],
  ["npx", { extensions: [".com", ".exe"] }, String.raw`D:\bin\npx.exe`],
  ["node", { environment: { PATH } }, String.raw`C:\Program Files\nodejs\node.exe`],
  ["python3.11", {}, String.raw`D:\bin\python3.11.exe`],
  [String.raw`.\npx.cmd`, {}, String.raw`.\npx.cmd`],
  ["tools/npx", {}, "tools/npx"],
  ["C:npx", {}, "C:npx"],
  ["npx", { platform: "linux" }, "npx"],
])("a Windows command is looked up only in the folders of PATH, not where a model may write: %s %j", (command, more, file) => {
  expect(found(command, more)).toBe(file);
});

test.each([
  ["other", {}],
  ["npx", { environment: {} }],
  ["npx", { environment: { PATH: String.raw`tools;\root;.;` } }],
  ["npx.cmd", { extensions: [".com", ".exe"] }],
])("a command that is in no folder of PATH is not found: %s %j", (command, more) => {
  expect(() => found(command, more)).toThrow(expect.objectContaining({ code: "ENOENT" }));
});

test.skipIf(process.platform === "win32")(
  "a file may be started, and so may an unresolvable link, such as Windows has for store apps",
  () => {
    const folder = mkdtempSync(join(tmpdir(), "haft-command-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    mkdirSync(join(folder, "folder"));
    writeFileSync(join(folder, "file"), "");
    symlinkSync("file", join(folder, "link"));
    symlinkSync("nothing", join(folder, "dead"));
    symlinkSync("alias", join(folder, "alias"));

    const started = ["folder", "file", "link", "dead", "alias", "none", "file/below"].filter((name) => isProgramFile(join(folder, name)));

    expect(started).toEqual(["file", "link", "alias"]);
  },
);
