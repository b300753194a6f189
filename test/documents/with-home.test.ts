import { homedir } from "node:os";
import { expect, test } from "vitest";
import { expandHome } from "../../src/documents/home-folder.ts";

test.each([
  ["~", "linux", homedir()],
  ["~/notes", "linux", `${homedir()}/notes`],
  [String.raw`~\notes`, "linux", String.raw`~\notes`],
  [String.raw`~\notes`, "win32", `${homedir()}\\notes`],
  ["~/notes", "win32", `${homedir()}/notes`],
  ["~ada", "win32", "~ada"],
])("~ is replaced by the user's home folder, with the separators of the system: %s on %s", (path, platform, whole) => {
  expect(expandHome(path, platform)).toBe(whole);
});
