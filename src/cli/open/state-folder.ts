import { join } from "node:path";
import { homeFolder, isFullyQualifiedPath } from "../../documents/home-folder.ts";

/** Returns the folder for what the program remembers of this user: `$XDG_STATE_HOME/haft` if that is absolute, else `~/.local/state/haft`. */
export function stateFolder(environment: Readonly<Record<string, string | undefined>>): string {
  const state = environment["XDG_STATE_HOME"] ?? "";
  return join(isFullyQualifiedPath(state) ? state : join(homeFolder(environment["HOME"]), ".local", "state"), "haft");
}
