import { userInfo } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stateFolder } from "../../src/cli/open/state-folder.ts";

const own = join(userInfo().homedir, ".local", "state", "haft");

test.each([
  [{ XDG_STATE_HOME: "/var/state" }, join("/var/state", "haft")],
  [{ XDG_STATE_HOME: ".local/state", HOME: "/home/ada" }, join("/home/ada", ".local", "state", "haft")],
  [{ XDG_STATE_HOME: "", HOME: "" }, own],
  [{ HOME: "relative" }, own],
])("what is remembered is never looked for in the folder of a project: %j", (environment, folder) => {
  expect(stateFolder(environment)).toBe(folder);
});
