/** The files that this process was started with and that every program it starts would be given as well. */
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";

/** Of `O_CLOEXEC` in the flags that /proc shows, in octal. @see https://man7.org/linux/man-pages/man5/proc_pid_fdinfo.5.html */
const CLOSED_IN_PROGRAMS = 0o2000000;

/**
 * Descriptors beyond the first three, with which a sandboxed program would reach what was opened outside: Node closes its own and not those.
 * Nothing outside of Linux.
 */
function inheritedDescriptors(): readonly number[] {
  try {
    return readdirSync("/proc/self/fdinfo").flatMap((name) => (Number(name) > 2 && isInherited(name) ? [Number(name)] : []));
  } catch {
    return [];
  }
}

function isInherited(name: string): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)$/mu.exec(readFileSync(`/proc/self/fdinfo/${name}`, "latin1"))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSED_IN_PROGRAMS) === 0;
  } catch {
    return false; // that of the folder which is being read
  }
}

export type StdioPlace = "pipe" | "ignore" | number;

/** The places of `stdio` from the end of `given` on, so that a program finds nothing under inherited numbers. `close` is called once it has started. */
export function withoutInherited(given: readonly StdioPlace[]): { readonly stdio: StdioPlace[]; readonly close: () => void } {
  const stdio = [...given];
  const inherited = inheritedDescriptors().filter((fd) => fd >= given.length);
  if (inherited.length === 0) return { stdio, close: () => undefined };
  const nothing = openSync("/dev/null", "r");
  for (const fd of inherited) {
    while (stdio.length <= fd) stdio.push("ignore"); // which leaves a place beyond the first three as it is
    stdio[fd] = nothing;
  }
  return { stdio, close: () => closeSync(nothing) };
}
