/** Where the program keeps what it must remember of this user. */
import { homedir } from "node:os";
import { join } from "node:path";

/** `$XDG_STATE_HOME/haft`, else `~/.local/state/haft`. */
export function stateFolder(environment: Readonly<Record<string, string | undefined>>): string {
  const state = environment["XDG_STATE_HOME"];
  return join(state === undefined || state === "" ? join(environment["HOME"] ?? homedir(), ".local", "state") : state, "haft");
}
