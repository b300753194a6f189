/** Ensures that no server process outlives this process, however it ends. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { join } from "node:path";

/** Whether children get their own process group, which can be signalled as a whole. On Windows, a process is ended together with its descendants. */
export const HAS_PROCESS_GROUPS = process.platform !== "win32";

/**
 * Shell script that reads "add GROUP:MARK" and "drop GROUP:MARK" until its input ends, which happens when this process is gone, even by
 * SIGKILL. Then it kills the remaining groups, and on Linux every process with one of their marks in its environment.
 */
const WATCHER_SCRIPT = `
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

/** Marks of the guarded groups. */
const guardedGroups = new Map<number, string>();
let watcher: ChildProcess | undefined;
let isExitHooked = false;

/**
 * Guards a process group: it is killed when this process exits, and by a small watcher shell when this process is killed. Without a shell,
 * only a regular exit is covered.
 *
 * @param mark text in the environment of the group's processes and of no others: letters, digits, `_`, `-` and `=`. If empty, only the group
 * is killed
 */
export function guardGroup(group: number, mark = ""): void {
  guardedGroups.set(group, mark);
  if (!isExitHooked) process.on("exit", killAll);
  isExitHooked = true;
  if (watcher === undefined) watcher = startWatcher();
  else watcher.stdin?.write(`add ${group}:${mark}\n`);
}

/** Stops guarding a group whose processes have ended. */
export function releaseGroup(group: number): void {
  const mark = guardedGroups.get(group);
  if (mark === undefined) return;
  guardedGroups.delete(group);
  watcher?.stdin?.write(`drop ${group}:${mark}\n`);
  if (guardedGroups.size > 0) return;
  watcher?.stdin?.end();
  watcher = undefined;
}

/** Sends a signal to every process of a group; false if none is left. Signal 0 only checks; on Windows, any other signal ends the processes. */
export function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  if (!HAS_PROCESS_GROUPS && signal !== 0 && killWithChildren(group)) return true;
  try {
    return process.kill(HAS_PROCESS_GROUPS ? -group : group, signal);
  } catch {
    return false; // ESRCH: none is left; EPERM: the process changed its user and cannot be signalled
  }
}

/**
 * Ends a process and its descendants, which are found through it, so it must still run. Returns false if none was ended.
 *
 * @see https://learn.microsoft.com/windows-server/administration/windows-commands/taskkill
 */
function killWithChildren(pid: number): boolean {
  const program = join(process.env["SystemRoot"] ?? "C:\\Windows", "System32", "taskkill.exe");
  return spawnSync(program, ["/pid", String(pid), "/t", "/f"], { stdio: "ignore", windowsHide: true }).status === 0;
}

function killAll(): void {
  for (const group of guardedGroups.keys()) signalGroup(group, "SIGKILL");
}

function startWatcher(): ChildProcess | undefined {
  if (!HAS_PROCESS_GROUPS) return undefined;
  const child = spawn("/bin/sh", ["-c", WATCHER_SCRIPT], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
    // not this process's PATH, whose folders a model may write to; the last folder is for NixOS
    env: { PATH: "/usr/bin:/bin:/run/current-system/sw/bin" },
  });
  const forget = (): void => {
    if (watcher === child) watcher = undefined;
  };
  child.on("error", forget);
  child.on("exit", forget);
  child.stdin.on("error", forget);
  for (const [group, mark] of guardedGroups) child.stdin.write(`add ${group}:${mark}\n`);
  child.unref();
  if ("unref" in child.stdin && typeof child.stdin.unref === "function") child.stdin.unref();
  return child;
}
