/** Finds the processes that a program has started, however far they have moved away from it, and ends them. Linux only; elsewhere its group. */
import { readdirSync, readFileSync } from "node:fs";
import type { Clock } from "../core/ports.ts";
import { HAS_PROCESS_GROUPS, signalGroup } from "./process-guard.ts";
import { pause } from "./pause.ts";

/** The program that was started first: in a process group of its own. */
export interface TreeRoot {
  readonly pid: number;
  /** `NAME=value` in its environment, which no other program has; its descendants inherit it. */
  readonly mark: string;
}

export interface TreeUsage {
  readonly processes: number;
  /** Resident memory of all of them; what they share counts several times. */
  readonly bytes: number;
}

interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly bytes: number;
}

const PAGE_BYTES = 4_096;
const POLL_MS = 20;
/** Between two looks at what is left after SIGKILL. A process that forks all the time is met by the next look. */
const MAX_KILLS = 200;
/** Others may have started as well. */
const SPARE_LOOKS = 100;

/** The use of the tree now; nothing where that cannot be known. */
export function usageOf(root: TreeRoot): TreeUsage {
  const own = related(root, readProcesses());
  return { processes: own.length, bytes: own.reduce((sum, { bytes }) => sum + bytes, 0) };
}

/**
 * Whether more than so many are in its session. The newest are looked at first, and no more of them than that takes: where a program forks
 * without end, a look at all of them lasts for seconds, in which it has ten times as many.
 */
export function hasMoreThan(most: number, { pid: root }: TreeRoot): boolean {
  let found = 0;
  const newest = processNumbers().toSorted((one, other) => other - one);
  for (const pid of newest.slice(0, 2 * most + SPARE_LOOKS)) {
    const [entry] = readProcess(pid);
    if (entry !== undefined && (entry.session === root || entry.group === root) && ++found > most) return true;
  }
  return false;
}

/**
 * How many processes and threads the machine has, those of others included; 0 where that cannot be known.
 *
 * @see https://man7.org/linux/man-pages/man5/proc_loadavg.5.html
 */
export function tasksOfMachine(): number {
  try {
    return Number(/\/(\d+)/u.exec(readFileSync("/proc/loadavg", "latin1"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** Sends a signal to every process of the tree but those of `except`; returns how many there were. */
export function signalTree(root: TreeRoot, signal: NodeJS.Signals, except: ReadonlySet<number> = new Set()): number {
  const own = withMarked(root, readProcesses()).filter(({ pid }) => !except.has(pid));
  if (own.length === 0 && process.platform !== "linux") return signalGroup(root.pid, signal) ? 1 : 0;
  // Parents first, or they would go on with what comes after a child that was ended.
  for (const { pid } of own.toSorted((one, other) => one.pid - other.pid)) signalOne(pid, signal);
  return own.length;
}

/** Kills until nothing is left of the tree. */
export async function killTree(root: TreeRoot, clock: Clock): Promise<void> {
  for (let kills = 0; kills < MAX_KILLS; kills++) {
    if (HAS_PROCESS_GROUPS) signalGroup(root.pid, "SIGKILL");
    if (signalTree(root, "SIGKILL") === 0) return;
    await pause(clock, POLL_MS);
  }
}

/** Whether anything of the tree still runs. */
export function isTreeAlive(root: TreeRoot): boolean {
  return process.platform === "linux" ? withMarked(root, readProcesses()).length > 0 : signalGroup(root.pid, 0);
}

function signalOne(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // ESRCH: it has ended meanwhile
  }
}

/** The root, its group and session, and all that descend from any of them. Ended processes whose parent has not waited for them are left out. */
function related(root: TreeRoot, all: readonly ProcessEntry[], more: ReadonlySet<number> = new Set()): readonly ProcessEntry[] {
  const children = Map.groupBy(all, ({ parent }) => parent);
  const found = new Map<number, ProcessEntry>();
  const waiting = all.filter(({ pid, group, session }) => pid === root.pid || group === root.pid || session === root.pid || more.has(pid));
  for (let entry = waiting.pop(); entry !== undefined; entry = waiting.pop()) {
    if (found.has(entry.pid) || entry.pid === process.pid) continue;
    found.set(entry.pid, entry);
    waiting.push(...(children.get(entry.pid) ?? []));
  }
  return [...found.values()];
}

/** Those that have left group, session and parents behind still have the environment that they were started with. */
function withMarked(root: TreeRoot, all: readonly ProcessEntry[]): readonly ProcessEntry[] {
  const own = related(root, all);
  const known = new Set(own.map(({ pid }) => pid));
  const marked = all.filter(({ pid }) => !known.has(pid) && hasMark(pid, root.mark));
  return marked.length === 0 ? own : related(root, all, new Set(marked.map(({ pid }) => pid)));
}

function hasMark(pid: number, mark: string): boolean {
  try {
    return `\0${readFileSync(`/proc/${pid}/environ`, "latin1")}\0`.includes(`\0${mark}\0`);
  } catch {
    return false; // of another user, or ended
  }
}

function readProcesses(): readonly ProcessEntry[] {
  return processNumbers().flatMap(readProcess);
}

function processNumbers(): readonly number[] {
  if (process.platform !== "linux") return [];
  try {
    return readdirSync("/proc").flatMap((name) => (/^\d+$/u.test(name) ? [Number(name)] : []));
  } catch {
    return []; // this process has no file descriptor left; the group of the program is ended by its number all the same
  }
}

/** @see https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html */
function readProcess(pid: number): readonly ProcessEntry[] {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return []; // it has ended meanwhile
  }
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" "); // its name may hold spaces and brackets
  if (fields[0] === "Z" || fields[0] === "X") return [];
  const number = (index: number): number => Number(fields[index]);
  return [{ pid, parent: number(1), group: number(2), session: number(3), bytes: number(21) * PAGE_BYTES }];
}
