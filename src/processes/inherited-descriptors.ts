/** Keeps descriptors that this process inherited from being passed on to the programs it starts. */
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";

/** `O_CLOEXEC` in the flags that /proc shows, in octal. @see https://man7.org/linux/man-pages/man5/proc_pid_fdinfo.5.html */
const O_CLOEXEC = 0o2000000;

/** Returns inherited descriptors above 2, by which a sandboxed program could reach open files: Node closes only its own. Linux only. */
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
    return flags !== undefined && (Number.parseInt(flags, 8) & O_CLOEXEC) === 0;
  } catch {
    return false; // the descriptor of the folder that is being read
  }
}

export type StdioEntry = "pipe" | "ignore" | number;

/** Extends `stdio` so that inherited descriptor numbers refer to /dev/null in the program. Call `close` once the program has started. */
export function excludeInherited(given: readonly StdioEntry[]): { readonly stdio: StdioEntry[]; readonly close: () => void } {
  const stdio = [...given];
  const inherited = inheritedDescriptors().filter((fd) => fd >= given.length);
  if (inherited.length === 0) return { stdio, close: () => undefined };
  const nothing = openSync("/dev/null", "r");
  for (const fd of inherited) {
    while (stdio.length <= fd) stdio.push("ignore"); // above 2, "ignore" leaves a descriptor unchanged
    stdio[fd] = nothing;
  }
  return { stdio, close: () => closeSync(nothing) };
}
