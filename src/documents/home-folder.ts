import { homedir, userInfo } from "node:os";
import { posix, win32 } from "node:path";
import { ToolError } from "../core/error.ts";

/**
 * Returns the home folder of this user: `HOME` if it is an absolute path, else that of the system. `HOME` is empty in some containers and
 * services, and a relative path would lead into a project's folder, whose files anyone may have written.
 *
 * @throws ToolError `invalid_argument` if the system does not know this user
 */
export function homeFolder(home?: string): string {
  try {
    const known = home ?? homedir(); // throws if HOME is not set and the system does not know this user
    return isFullyQualifiedPath(known) ? known : userInfo().homedir;
  } catch (thrown: unknown) {
    throw new ToolError("invalid_argument", "This user has no home folder.", {
      hint: "Set HOME to the absolute path of one.",
      cause: thrown,
    });
  }
}

/** Whether a path is absolute on every drive. On Windows, `/home/ada` is a different folder on each drive, where anyone may create it. */
export function isFullyQualifiedPath(path: string, platform: string = process.platform): boolean {
  return platform === "win32" ? win32.isAbsolute(path) && win32.parse(path).root.length > 1 : posix.isAbsolute(path);
}

/** Replaces a leading `~` by the user's home folder. */
export function expandHome(path: string, platform: string = process.platform): string {
  return path.replace(platform === "win32" ? /^~(?=[\\/]|$)/u : /^~(?=\/|$)/u, () => homeFolder());
}
