/** Sees to it that no server process outlives this one, however this one ends. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { join } from "node:path";

/** Whether children get a process group of their own, which can then be signalled as a whole. On Windows a process is ended with all that it started. */
export const HAS_PROCESS_GROUPS = process.platform !== "win32";

/**
 * Reads "add GROUP:MARK" and "drop GROUP:MARK" until its input ends, which it does when this process is gone, even by
 * SIGKILL; then ends the groups that are left, and on Linux all that has their marks in its environment.
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
for each in $groups; do kill -TERM "-\${each%%:*}"; done
sleep 1
for each in $groups; do
  kill -KILL "-\${each%%:*}"
  mark=\${each#*:}
  [ -n "$mark" ] && [ -d /proc/self ] || continue
  for left in $(grep -l -s -a -F "$mark" /proc/[0-9]*/environ); do left=\${left#/proc/}; kill -KILL "\${left%%/*}"; done
done
`;

/** By group, its mark. */
const groups = new Map<number, string>();
let watcher: ChildProcess | undefined;
let hooked = false;

/**
 * Puts a process group under guard: it is killed when this process exits, and by a small watching shell when
 * this process is killed. Without a shell only the orderly exit is covered.
 *
 * @param mark what its processes have in their environment and no others: letters, digits, `_`, `-` and `=`. Left out = the group is all there is
 */
export function guardGroup(group: number, mark = ""): void {
  groups.set(group, mark);
  if (!hooked) process.on("exit", killAll);
  hooked = true;
  if (watcher === undefined) watcher = startWatcher();
  else watcher.stdin?.write(`add ${group}:${mark}\n`);
}

/** Takes a group whose processes have ended off the guard. */
export function releaseGroup(group: number): void {
  const mark = groups.get(group);
  if (mark === undefined) return;
  groups.delete(group);
  watcher?.stdin?.write(`drop ${group}:${mark}\n`);
  if (groups.size > 0) return;
  watcher?.stdin?.end();
  watcher = undefined;
}

/** Sends a signal to every process of a group; false when there is none left. Signal 0 only asks; on Windows, every other ends them. */
export function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  if (!HAS_PROCESS_GROUPS && signal !== 0 && endWithChildren(group)) return true;
  try {
    return process.kill(HAS_PROCESS_GROUPS ? -group : group, signal);
  } catch {
    return false; // ESRCH: none is left; EPERM: it changed its user and is out of reach
  }
}

/**
 * By the number of a process; its own children are found by theirs, so it must still run. False where none was ended.
 *
 * @see https://learn.microsoft.com/windows-server/administration/windows-commands/taskkill
 */
function endWithChildren(pid: number): boolean {
  const program = join(process.env["SystemRoot"] ?? "C:\\Windows", "System32", "taskkill.exe");
  return spawnSync(program, ["/pid", String(pid), "/t", "/f"], { stdio: "ignore", windowsHide: true }).status === 0;
}

function killAll(): void {
  for (const group of groups.keys()) signalGroup(group, "SIGKILL");
}

function startWatcher(): ChildProcess | undefined {
  if (!HAS_PROCESS_GROUPS) return undefined;
  const child = spawn("/bin/sh", ["-c", WATCH], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
    env: { PATH: "/usr/bin:/bin:/run/current-system/sw/bin" }, // a folder of PATH may be one that a model can write to; NixOS has the last
  });
  const forget = (): void => {
    if (watcher === child) watcher = undefined;
  };
  child.on("error", forget);
  child.on("exit", forget);
  child.stdin.on("error", forget);
  for (const [group, mark] of groups) child.stdin.write(`add ${group}:${mark}\n`);
  child.unref();
  if ("unref" in child.stdin && typeof child.stdin.unref === "function") child.stdin.unref();
  return child;
}
