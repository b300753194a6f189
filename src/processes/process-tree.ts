/** Finds and ends all processes that a program has started, even outside of its group and session. On other systems than Linux, only its group. */
import { pushAll } from "../core/collections/push-all.ts";
import { readdirSync, readFileSync } from "node:fs";
import type { Clock } from "../core/ports.ts";
import { onNextTurn } from "../core/system/lazy-timer.ts";
import { HAS_PROCESS_GROUPS, signalGroup } from "./process-guard.ts";
import { sleep } from "./sleep.ts";

/** The program that was started first, in its own process group. */
export interface TreeRoot {
  readonly pid: number;
  /** `NAME=value` in its environment, unique to this program; its descendants inherit it. */
  readonly mark: string;
  /** As that of a `ProcessEntry`; 0 if unknown. No descendant is older. */
  readonly startedAt: number;
}

export interface TreeUsage {
  readonly processes: number;
  /** Resident memory of all processes; shared pages count several times. */
  readonly bytes: number;
}

interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** In ticks since the machine was started: tells a process from a later one with the same number. */
  readonly startedAt: number;
  readonly bytes: number;
}

const PAGE_BYTES = 4_096;
const POLL_MS = 20;
/** Maximum number of rounds of SIGKILL. Processes that a program forks during one round are killed in the next. */
const MAX_KILLS = 200;
/** Other processes, which are not of the tree, may have started as well. */
const SPARE_PROCESSES = 100;
/** Number of processes that are read before other work may run: a few milliseconds. Reading thousands of them takes a tenth of a second. */
const PROCESSES_PER_TURN = 200;
/** Maximum number of times that processes are listed, to find those that were forked while earlier ones were read. */
const MAX_LISTS = 3;

/** Returns the tree of a program that was just started. */
export function treeRoot(pid: number, mark: string): TreeRoot {
  return { pid, mark, startedAt: Number(readStat(pid)?.[STARTED_AT] ?? 0) };
}

/** Returns what the tree uses now; zeros if that is unknown. */
export async function readTreeUsage(root: TreeRoot): Promise<TreeUsage> {
  const own = findRelated(root, await readProcesses());
  return { processes: own.length, bytes: own.reduce((sum, { bytes }) => sum + bytes, 0) };
}

/**
 * Whether more than `most` processes are in the session of the program. Looks at the newest processes first, and only at as many as needed:
 * while a program forks without end, reading all of them takes seconds, in which there are ten times as many.
 */
export function hasMoreProcessesThan(most: number, { pid: root }: TreeRoot): boolean {
  let found = 0;
  const newest = listProcessIds().toSorted((one, other) => other - one);
  for (const pid of newest.slice(0, 2 * most + SPARE_PROCESSES)) {
    const [entry] = readProcess(pid);
    if (entry !== undefined && (entry.session === root || entry.group === root) && ++found > most) return true;
  }
  return false;
}

/**
 * Returns the number of processes and threads of the whole machine; 0 if unknown.
 *
 * @see https://man7.org/linux/man-pages/man5/proc_loadavg.5.html
 */
export function countMachineTasks(): number {
  try {
    return Number(/\/(\d+)/u.exec(readFileSync("/proc/loadavg", "latin1"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** Sends a signal to every process of the tree except `except`; returns how many there were. */
export async function signalTree(root: TreeRoot, signal: NodeJS.Signals, except: ReadonlySet<number> = new Set()): Promise<number> {
  const own = (await findTree(root)).filter(({ pid }) => !except.has(pid));
  if (own.length === 0 && process.platform !== "linux") return signalGroup(root.pid, signal) ? 1 : 0;
  // parents first: otherwise a parent would continue with its next command once its child has ended
  for (const entry of own.toSorted((one, other) => one.pid - other.pid)) signalOne(entry, signal);
  return own.length;
}

/** Sends SIGKILL until no process of the tree is left, or `MAX_KILLS` is reached. */
export async function killTree(root: TreeRoot, clock: Clock): Promise<void> {
  for (let kills = 0; kills < MAX_KILLS; kills++) {
    if (HAS_PROCESS_GROUPS && !isReused(root, readProcess(root.pid)[0])) signalGroup(root.pid, "SIGKILL");
    if ((await signalTree(root, "SIGKILL")) === 0) return;
    await sleep(clock, POLL_MS);
  }
}

/**
 * Returns a check whether a process of the tree is still running. Reading all processes of a machine with thousands of them takes a tenth of a second,
 * so it reads only the one that it found last, at first the root, until that has ended.
 */
export function treeCheck(root: TreeRoot): () => Promise<boolean> {
  if (process.platform !== "linux") return () => Promise.resolve(signalGroup(root.pid, 0));
  const [first] = readProcess(root.pid);
  let found = isReused(root, first) ? undefined : first;
  return async () => {
    if (found !== undefined && readProcess(found.pid)[0]?.startedAt === found.startedAt) return true;
    [found] = await findTree(root);
    return found !== undefined;
  };
}

function signalOne({ pid, startedAt }: ProcessEntry, signal: NodeJS.Signals): void {
  const [now] = readProcess(pid);
  if (now !== undefined && now.startedAt !== startedAt) return; // a later process with the same number
  try {
    process.kill(pid, signal);
  } catch {
    // ESRCH: the process has ended meanwhile
  }
}

/** Whether a later process has the number of the root: then its group and its session have ended as well. */
function isReused(root: TreeRoot, now: ProcessEntry | undefined): boolean {
  return now !== undefined && root.startedAt > 0 && now.startedAt !== root.startedAt;
}

/** Returns the root, its group and session, and all their descendants, without zombies. */
function findRelated(root: TreeRoot, all: readonly ProcessEntry[], more: ReadonlySet<number> = new Set()): readonly ProcessEntry[] {
  const children = Map.groupBy(all, ({ parent }) => parent);
  const found = new Map<number, ProcessEntry>();
  const isGone = all.some((entry) => entry.pid === root.pid && isReused(root, entry));
  const waiting = all.filter(
    ({ pid, group, session }) => more.has(pid) || (!isGone && (pid === root.pid || group === root.pid || session === root.pid)),
  );
  for (let entry = waiting.pop(); entry !== undefined; entry = waiting.pop()) {
    if (found.has(entry.pid) || entry.pid === process.pid) continue;
    found.set(entry.pid, entry);
    pushAll(waiting, children.get(entry.pid) ?? []);
  }
  return [...found.values()];
}

/** Returns the tree, including processes that left group, session and parents: they still have the mark in their environment. */
async function findTree(root: TreeRoot): Promise<readonly ProcessEntry[]> {
  const all = await readProcesses();
  const own = findRelated(root, all);
  const known = new Set(own.map(({ pid }) => pid));
  const candidates = all.filter(({ pid, startedAt }) => startedAt >= root.startedAt && !known.has(pid));
  const marked = await flatMapInTurns(candidates, ({ pid }) => (hasMark(pid, root.mark) ? [pid] : []));
  return marked.length === 0 ? own : findRelated(root, all, new Set(marked));
}

function hasMark(pid: number, mark: string): boolean {
  try {
    return `\0${readFileSync(`/proc/${pid}/environ`, "latin1")}\0`.includes(`\0${mark}\0`);
  } catch {
    return false; // a process of another user, or one that has ended
  }
}

/** Lists the processes again after they were read: the parent of one that was forked meanwhile may have ended before it was read itself. */
async function readProcesses(): Promise<readonly ProcessEntry[]> {
  const entries: ProcessEntry[] = [];
  const known = new Set<number>();
  for (let lists = 0; lists < MAX_LISTS; lists++) {
    const added = listProcessIds().filter((pid) => !known.has(pid));
    if (added.length === 0) break;
    for (const pid of added) known.add(pid);
    pushAll(entries, await flatMapInTurns(added, readProcess));
  }
  return entries;
}

async function flatMapInTurns<Item, Found>(items: readonly Item[], read: (item: Item) => readonly Found[]): Promise<readonly Found[]> {
  const found: Found[] = [];
  for (const [index, item] of items.entries()) {
    if (index > 0 && index % PROCESSES_PER_TURN === 0) await new Promise<void>((resolve) => onNextTurn(resolve));
    pushAll(found, read(item));
  }
  return found;
}

function listProcessIds(): readonly number[] {
  if (process.platform !== "linux") return [];
  try {
    return readdirSync("/proc").flatMap((name) => (/^\d+$/u.test(name) ? [Number(name)] : []));
  } catch {
    return []; // this process has no file descriptor left; the program's group is still killed by its number
  }
}

function readProcess(pid: number): readonly ProcessEntry[] {
  const fields = readStat(pid);
  if (fields === undefined || fields[0] === "Z" || fields[0] === "X") return [];
  const number = (index: number): number => Number(fields[index]);
  return [{ pid, parent: number(1), group: number(2), session: number(3), startedAt: number(STARTED_AT), bytes: number(21) * PAGE_BYTES }];
}

const STARTED_AT = 19;

/**
 * Returns the fields of a process from its state on; undefined if it has ended.
 *
 * @see https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
 */
function readStat(pid: number): readonly string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    return text.slice(text.lastIndexOf(")") + 2).split(" "); // the process name, in parentheses, may contain spaces and parentheses
  } catch {
    return undefined;
  }
}
