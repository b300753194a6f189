/** The contract of every implementation of locks, as cases for any test runner. */
import { deepEqual, equal } from "node:assert/strict";
import type { LockRequest, LockTicket, Locks } from "../core/resources/locks.ts";
import { PATIENCE_MS, assertSettlesWithin } from "./settles-within.ts";

/** The subject of a case: the same locks as seen by two processes. For locks of a single process both are one object. */
export interface LocksSubject {
  readonly locks: Locks;
  readonly other: Locks;
}

/** One case of the contract that every `Locks` keeps. */
export interface LocksCase {
  /** The promise that is checked: `a writer waits for earlier readers`. */
  readonly title: string;
  /** Rejects if the promise is broken; the error says how. */
  run(subject: LocksSubject): Promise<void>;
}

const KEY = "file:/a";
const read = (...reads: readonly string[]): Partial<LockRequest> => ({ reads });
const write = (...writes: readonly string[]): Partial<LockRequest> => ({ writes });
const add = (...writes: readonly string[]): Partial<LockRequest> => ({ writes, commutative: true });

/** The cases. Each needs locks of its own. */
export const locksContract: readonly LocksCase[] = [
  caseOf("a request without keys is granted at once", async (line) => {
    await line.assertGranted(await line.request("w", write(KEY)));
    equal((await line.request("nothing", {})).granted, true);
  }),
  caseOf("readers share; a writer waits for earlier readers, and later readers wait for the writer", async (line) => {
    const [one, two, writer, late] = await line.requests(read(KEY), read(KEY), write(KEY), read(KEY));
    await line.assertGranted(one, two);
    await line.assertWaiting(writer, late);
    one.release();
    await line.assertWaiting(writer, late);
    two.release();
    await line.assertGranted(writer);
    await line.assertWaiting(late);
    writer.release();
    await line.assertGranted(late);
  }),
  caseOf("a write excludes keys inside its own and keys around it, and no others", async (line) => {
    const held = await line.request("held", write("file:/a/b"));
    await line.assertGranted(held);
    const free = await line.requests(write("file:/a/bc"), read("file:/a/c"), write("mail:/a/b"));
    const blocked = await line.requests(read("file:/a/b/c"), write("file:/a/b/c/d"), read("file:/a"), write("file:"));
    await line.assertGranted(...free);
    await line.assertWaiting(...blocked);
    held.release();
    await line.assertGranted(...blocked.slice(0, 1));
  }),
  caseOf("commutative writers share among themselves, with no reader and no plain writer", async (line) => {
    const [one, inside, reader, writer] = await line.requests(add(KEY), add(`${KEY}/b`), read(`${KEY}/b`), write(KEY));
    await line.assertGranted(one, inside);
    await line.assertWaiting(reader, writer);
    one.release();
    inside.release();
    await line.assertGranted(reader);
    await line.assertWaiting(writer);
  }),
  caseOf("a ticket does not conflict with itself", async (line) => {
    const both = await line.request("both", { reads: [KEY, `${KEY}/b`], writes: [KEY, "file:"] });
    await line.assertGranted(both);
    equal(both.waitingFor().length, 0);
  }),
  caseOf("all keys are taken at once: opposite orders do not deadlock", async (line) => {
    const tickets = await line.requests(write("a:", "b:"), write("b:", "a:"), write("a:", "b:"));
    for (const [index, ticket] of tickets.entries()) {
      await line.assertGranted(ticket);
      await line.assertWaiting(...tickets.slice(index + 1));
      ticket.release();
    }
  }),
  caseOf("a later ticket overtakes only those that it does not conflict with", async (line) => {
    const [held, waiting, behind, beside] = await line.requests(write("a:"), write("a:", "b:"), read("b:"), read("c:"));
    await line.assertGranted(held, beside);
    await line.assertWaiting(waiting, behind);
    held.release();
    await line.assertGranted(waiting);
    await line.assertWaiting(behind);
  }),
  caseOf("a ticket that leaves while it waits lets those behind it go, and is never granted", async (line) => {
    const [held, leaving, behind] = await line.requests(read(KEY), write(KEY), read(KEY));
    await line.assertGranted(held);
    await line.assertWaiting(leaving, behind);
    leaving.release();
    await line.assertGranted(behind);
    equal(leaving.granted, false);
  }),
  caseOf("a second release gives back nothing that another holds", async (line) => {
    const [first, second, third] = await line.requests(write(KEY), write(KEY), write(KEY));
    await line.assertGranted(first);
    first.release();
    await line.assertGranted(second);
    first.release();
    await line.assertWaiting(third);
  }),
  caseOf("a ticket that waits names the owners in its way, oldest first; one that is granted names none", async (line) => {
    const [reader, writer, last] = await line.requests(read(KEY), write(KEY), write(KEY));
    await line.assertGranted(reader);
    await line.assertWaiting(writer, last);
    deepEqual(last.waitingFor(), ["call_1", "call_2"]);
    deepEqual(reader.waitingFor(), []);
  }),
];

function caseOf(title: string, run: (line: LocksBench) => Promise<void>): LocksCase {
  return {
    title,
    async run({ locks, other }) {
      const line = new LocksBench(locks, other);
      try {
        await run(line);
      } finally {
        line.releaseAll();
      }
    },
  };
}

/** Sends requests from two processes in turn, so that each case tests both. */
class LocksBench {
  readonly #locks: readonly Locks[];
  readonly #tickets: LockTicket[] = [];
  #turn = 0;

  constructor(...locks: readonly Locks[]) {
    this.#locks = locks;
  }

  /** Resolves once the request is granted or queued: locks of several processes may queue it asynchronously. */
  async request(owner: string, wish: Partial<LockRequest>): Promise<LockTicket> {
    const locks = this.#locks[this.#turn++ % this.#locks.length] as Locks; // the index is in bounds
    const ticket = this.#ask(locks, owner, wish);
    if (!ticket.granted) await this.assertGranted(this.#ask(locks, "marker", read(`marker:/${this.#tickets.length}`)));
    return ticket;
  }

  #ask(locks: Locks, owner: string, wish: Partial<LockRequest>): LockTicket {
    const ticket = locks.request({ owner, reads: [], writes: [], commutative: false, ...wish });
    this.#tickets.push(ticket);
    return ticket;
  }

  /** Makes requests with the owners `call_1`, `call_2`, …. */
  async requests<const Wishes extends readonly Partial<LockRequest>[]>(
    ...wishes: Wishes
  ): Promise<{ readonly [Index in keyof Wishes]: LockTicket }> {
    const tickets: LockTicket[] = [];
    for (const [index, wish] of wishes.entries()) tickets.push(await this.request(`call_${index + 1}`, wish));
    return tickets as unknown as { [Index in keyof Wishes]: LockTicket }; // one ticket for each wish
  }

  async assertGranted(...tickets: readonly LockTicket[]): Promise<void> {
    await assertSettlesWithin(
      Promise.all(tickets.map((ticket) => ticket.whenGranted())),
      PATIENCE_MS,
      "Every ticket that nothing blocks is granted",
    );
    deepEqual(
      tickets.map((ticket) => ticket.granted),
      tickets.map(() => true),
    );
  }

  /** Asserts that tickets are not granted. First waits until a later request of each process is granted, by when these would be too. */
  async assertWaiting(...tickets: readonly LockTicket[]): Promise<void> {
    for (const _ of this.#locks) await this.assertGranted(await this.request("marker", read(`marker:/${this.#tickets.length}`)));
    deepEqual(
      tickets.map((ticket) => ticket.granted),
      tickets.map(() => false),
    );
  }

  releaseAll(): void {
    for (const ticket of this.#tickets) ticket.release();
  }
}
