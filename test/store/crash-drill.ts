/** Kills processes that write sessions, and looks at what they left. */
import { rmSync } from "node:fs";
import type { SessionEvent } from "../../src/core/event.ts";
import type { Store } from "../../src/core/store/store.ts";
import { seededRandom } from "../../src/testing/fake-ports.ts";
import { localStore } from "./local-store.ts";
import { readOutput, startProcess } from "./run-process.ts";

export interface CrashDrillOptions {
  /** A file for the drill alone, or the address of a database. It is emptied now and then. */
  readonly path: string;
  /** Opens what the killed process left. @default a store over the file */
  readonly open?: () => Store;
  /** Removes everything. @default deletes the file */
  readonly empty?: () => Promise<void>;
  readonly kills: number;
  readonly seed: number;
  /** A process is killed after it has said at most so many things. */
  readonly mostLines: number;
  /** Told of each kill. */
  readonly onKill?: (report: KillReport) => void;
}

export interface KillReport {
  /** Events of the killed process that were acknowledged, and those that are there. */
  readonly acknowledged: number;
  readonly found: number;
  readonly openMs: number;
}

const IDS = ["one", "two"] as const;
/** A new file so often: kills of the first opening count as well. */
const ROUNDS_PER_FILE = 10;

/** @throws Error that says which event was lost, doubled or made up */
export async function runCrashDrill(options: CrashDrillOptions): Promise<void> {
  const { path, kills, seed, mostLines, onKill, open = () => localStore(path).store, empty = async () => deleteFile(path) } = options;
  const random = seededRandom(seed);
  let known: readonly number[] = IDS.map(() => 0);
  for (let kill = 0; kill < kills; kill++) {
    if (kill % ROUNDS_PER_FILE === 0) {
      await empty();
      known = IDS.map(() => 0);
    }
    const acknowledged = await writeAndKill(path, { lines: Math.floor(random.next() * mostLines), known });
    const { lengths, openMs } = await look(open);
    for (const [index, id] of IDS.entries()) {
      const [found = 0, least = 0] = [lengths[index], acknowledged[index]];
      if (found < least) throw new Error(`Kill ${kill}: ${id} has ${found} events, but ${least} were acknowledged.`);
    }
    onKill?.({ acknowledged: sum(acknowledged) - sum(known), found: sum(lengths) - sum(known), openMs });
    known = lengths;
  }
}

function deleteFile(path: string): void {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
}

/** Kills a process after it has said so many things. Returns the lengths that it said were durable, or else those known before. */
async function writeAndKill(
  path: string,
  { lines, known }: { readonly lines: number; readonly known: readonly number[] },
): Promise<readonly number[]> {
  const writer = startProcess("drill", path, IDS);
  let acknowledged = known;
  try {
    for (let line = 0; line <= lines; line++) {
      const said = await readOutput(writer);
      if (said === undefined) throw new Error("The process ended before it was killed.");
      if (Array.isArray(said)) acknowledged = said.map(Number);
    }
  } finally {
    writer.child.kill("SIGKILL");
  }
  for (let said = await readOutput(writer); said !== undefined; said = await readOutput(writer))
    if (Array.isArray(said)) acknowledged = said.map(Number);
  await writer.ended;
  return acknowledged;
}

/** Reads all that is there, and claims it as a program that goes on would. */
async function look(open: () => Store): Promise<{ readonly lengths: readonly number[]; readonly openMs: number }> {
  const startedAt = performance.now();
  const store = open();
  await store.open();
  const openMs = performance.now() - startedAt;
  const there = new Set((await store.list()).map((session) => session.sessionId));
  const lengths: number[] = [];
  for (const id of IDS) lengths.push(there.has(id) ? await soundLength(store, id) : 0);
  await store.close();
  return { lengths, openMs };
}

/** Every event must be the one that was written at its place. A server may still commit what a killed process has sent, until it is claimed. */
async function soundLength(store: Store, id: string): Promise<number> {
  const before = await soundFrom(store, id, 0);
  const log = await store.claim(id, { takeOver: true });
  const length = log.length === before ? before : await soundFrom(store, id, before);
  if (log.length !== length) throw new Error(`${id} has ${length} events, and ${log.length} when it is claimed.`);
  return length;
}

async function soundFrom(store: Store, id: string, known: number): Promise<number> {
  let length = known;
  for (let from: number | undefined = known + 1; from !== undefined;) {
    const page = await store.read(id, { from });
    if (page.damage !== undefined) throw new Error(`${id} is damaged at ${page.damage.position}: ${page.damage.reason}`);
    for (const event of page.events) if (!isEvent(event, id, ++length)) throw new Error(`${id}: ${JSON.stringify(event)} at ${length}`);
    from = page.next;
  }
  return length;
}

function isEvent(event: SessionEvent, id: string, number: number): boolean {
  return event.sessionId === id && event.type === "message-add" && event.message.content === `message ${number}`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}
