/** Sees to it that no server process outlives this one, however this one ends. */
import { spawn, type ChildProcess } from "node:child_process";

/** Whether children get a process group of their own, which can then be signalled as a whole. */
export const HAS_PROCESS_GROUPS = process.platform !== "win32";

/**
 * Reads "add GROUP" and "drop GROUP" until its input ends, which it does when this process is gone, even by
 * SIGKILL; then ends the groups that are left.
 */
const WATCH = `
trap '' HUP INT TERM
groups=
while read -r verb group; do
  case $verb in
    add) groups="$groups $group" ;;
    drop) kept=; for each in $groups; do [ "$each" = "$group" ] || kept="$kept $each"; done; groups=$kept ;;
  esac
done
[ -n "$groups" ] || exit 0
for each in $groups; do kill -TERM "-$each"; done
sleep 1
for each in $groups; do kill -KILL "-$each"; done
`;

const groups = new Set<number>();
let watcher: ChildProcess | undefined;
let hooked = false;

/**
 * Puts a process group under guard: it is killed when this process exits, and by a small watching shell when
 * this process is killed. Without a shell only the orderly exit is covered.
 */
export function guardGroup(group: number): void {
  groups.add(group);
  if (!hooked) process.on("exit", killAll);
  hooked = true;
  if (watcher === undefined) watcher = startWatcher();
  else watcher.stdin?.write(`add ${group}\n`);
}

/** Takes a group whose processes have ended off the guard. */
export function releaseGroup(group: number): void {
  if (!groups.delete(group)) return;
  watcher?.stdin?.write(`drop ${group}\n`);
  if (groups.size > 0) return;
  watcher?.stdin?.end();
  watcher = undefined;
}

/** Sends a signal to every process of a group; false when there is none left. Signal 0 only asks. */
export function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(HAS_PROCESS_GROUPS ? -group : group, signal);
  } catch {
    return false; // ESRCH: nobody is left; EPERM: it changed its user and is out of reach
  }
}

function killAll(): void {
  for (const group of groups) signalGroup(group, "SIGKILL");
}

function startWatcher(): ChildProcess | undefined {
  if (!HAS_PROCESS_GROUPS) return undefined;
  const child = spawn("/bin/sh", ["-c", WATCH], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
    env: { PATH: process.env["PATH"] ?? "" },
  });
  const forget = (): void => {
    if (watcher === child) watcher = undefined;
  };
  child.on("error", forget);
  child.on("exit", forget);
  child.stdin.on("error", forget);
  for (const group of groups) child.stdin.write(`add ${group}\n`);
  child.unref();
  if ("unref" in child.stdin && typeof child.stdin.unref === "function") child.stdin.unref();
  return child;
}
