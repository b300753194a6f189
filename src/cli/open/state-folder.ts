/** Where the program keeps what it must remember of this user. */
import { join } from "node:path";
import { homeFolder, isWholePath } from "../../documents/home-folder.ts";

/** `$XDG_STATE_HOME/haft` where that is absolute, else `~/.local/state/haft`. */
export function stateFolder(environment: Readonly<Record<string, string | undefined>>): string {
  const state = environment["XDG_STATE_HOME"] ?? "";
  return join(isWholePath(state) ? state : join(homeFolder(environment["HOME"]), ".local", "state"), "haft");
}
