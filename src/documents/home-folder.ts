/** The folder of this user. */
import { homedir, userInfo } from "node:os";
import { posix, win32 } from "node:path";
import { ToolError } from "../core/error.ts";

/**
 * `HOME` where it is an absolute path, else that of the system: `HOME` is empty in some containers and services, and a path that is relative
 * would lead into the folder of a project, whose files anyone may have written.
 *
 * @throws ToolError `invalid_argument` where the system knows no such user
 */
export function homeFolder(home?: string): string {
  try {
    const known = home ?? homedir(); // throws where HOME is not set and the system knows no such user
    return isWholePath(known) ? known : userInfo().homedir;
  } catch (thrown: unknown) {
    throw new ToolError("invalid_argument", "This user has no home folder.", {
      hint: "Set HOME to the absolute path of one.",
      cause: thrown,
    });
  }
}

/** Whether it leads to the same place from each folder. On Windows, `/home/ada` means another folder on each drive, where anyone may make it. */
export function isWholePath(path: string, platform: string = process.platform): boolean {
  return platform === "win32" ? win32.isAbsolute(path) && win32.parse(path).root.length > 1 : posix.isAbsolute(path);
}

/** With the folder of the user in place of `~`. */
export function withHome(path: string, platform: string = process.platform): string {
  return path.replace(platform === "win32" ? /^~(?=[\\/]|$)/u : /^~(?=\/|$)/u, () => homeFolder());
}
