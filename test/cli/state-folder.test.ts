import { userInfo } from "node:os";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { isFullyQualifiedPath } from "../../src/documents/home-folder.ts";
import { stateFolder } from "../../src/cli/open/state-folder.ts";

const own = join(userInfo().homedir, ".local", "state", "haft");

test.each([
  [{ XDG_STATE_HOME: resolve("/var/state") }, join(resolve("/var/state"), "haft")],
  [{ XDG_STATE_HOME: ".local/state", HOME: resolve("/home/ada") }, join(resolve("/home/ada"), ".local", "state", "haft")],
  [{ XDG_STATE_HOME: "", HOME: "" }, own],
  [{ HOME: "relative" }, own],
])("the state folder is never inside a project's folder: %j", (environment, folder) => {
  expect(stateFolder(environment)).toBe(folder);
});

test.each([
  [String.raw`C:\Users\ada`, "win32", true],
  ["c:/Users/ada", "win32", true],
  [String.raw`\\server\share\ada`, "win32", true],
  ["/home/ada", "win32", false],
  [String.raw`\Users\ada`, "win32", false],
  ["C:ada", "win32", false],
  ["/home/ada", "linux", true],
  [String.raw`C:\Users\ada`, "linux", false],
])("a Windows path that depends on the current drive is not an absolute path: %s on %s", (path, platform, whole) => {
  expect(isFullyQualifiedPath(path, platform)).toBe(whole);
});
