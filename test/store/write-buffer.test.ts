import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import type { EventRow, LogRefusal, LogWrite } from "../../src/store/records/log-database.ts";
import { WriteBuffer, type BufferedLog } from "../../src/store/database/write-buffer.ts";
import { seededRandom } from "../../src/testing/fake-ports.ts";

const full = new ToolError("store_failed", "The disk is full.", { hint: "Free space." });

test("an append without a wait is written at the end of the event loop's turn, and later ones together after that write", async () => {
  const disk = new Disk();
  const { buffer, log } = setUp(disk);
  add(buffer, log, 1, 2);
  add(buffer, log, 3);
  await turns();
  expect(disk.tries).toBe(0);
  await setImmediate();
  expect(disk.tries).toBe(1);
  add(buffer, log, 4);
  add(buffer, log, 5);
  await buffer.whenDurable(log);
  expect(disk.groups).toEqual([["a 1-3"], ["a 4-5"]]);
  expect(buffer.whenDurable(log)).toBe(undefined);
  await setImmediate(); // nothing is under way any more
  add(buffer, log, 6);
  await setImmediate();
  await turns();
  expect([disk.tries, disk.written, buffer.hasEntries(log)]).toEqual([3, { a: [1, 2, 3, 4, 5, 6] }, false]);
});

test("flush() waits for events appended so far, and not for those appended meanwhile", async () => {
  const disk = new Disk();
  const { buffer, log, other } = setUp(disk);
  await buffer.whenWritten();
  expect(disk.tries).toBe(0);
  add(buffer, log, 1);
  const written = buffer.whenWritten();
  await Promise.resolve();
  expect(disk.tries).toBe(1); // at once, as for every wait
  add(buffer, other, 1);
  await written;
  expect([disk.written, buffer.bufferedRows(log), buffer.bufferedRows(other)]).toEqual([
    { a: [1] },
    [],
    [expect.objectContaining({ at: 1 })],
  ]);
  await buffer.flush();
});

test("a whole answer that would exceed the limit is rejected, while other events may exceed it once", async () => {
  const disk = new Disk();
  const { buffer, log, other } = setUp(disk, 450);
  const whole: EventRow = { at: 2, type: "output-keep", callId: undefined, body: "0123456789".repeat(4) };
  add(buffer, log, 1);
  expect(() => buffer.add(log, { from: 2, rows: [whole] })).toThrow(expect.objectContaining({ code: "store_failed" }));
  add(buffer, log, 2);
  buffer.add(other, { from: 1, rows: [] }); // the limit is passed by one append
  expect(() => add(buffer, log, 3)).toThrow(expect.objectContaining({ code: "store_failed" }));
  await buffer.flush();
  buffer.add(log, { from: 3, rows: [whole] });
  await buffer.flush();
  expect(disk.written).toEqual({ a: [1, 2, 2], b: [] });
});

test("dropped and rejected events make room again", async () => {
  const disk = new Disk();
  const { buffer, log, other } = setUp(disk, 450);
  for (let round = 0; round < 3; round++) {
    add(buffer, log, 1);
    add(buffer, log, 2);
    buffer.drop(log, full);
  }
  disk.refuse("a");
  for (let round = 0; round < 3; round++) {
    add(buffer, log, 1);
    const lost = expect(buffer.whenDurable(log)).rejects.toMatchObject({ code: "conflict" });
    await Promise.resolve();
    add(buffer, log, 2); // while the first is under way
    await lost;
  }
  add(buffer, other, 1);
  await buffer.flush();
  expect(disk.written).toEqual({ b: [1] });
});

test("waiting writes everything appended in the same turn at once, in one group", async () => {
  const disk = new Disk();
  const { buffer, log, other } = setUp(disk);
  add(buffer, log, 1);
  await Promise.resolve();
  add(buffer, other, 1);
  const durable = buffer.whenDurable(log);
  expect(disk.tries).toBe(0);
  await Promise.resolve();
  expect(disk.tries).toBe(1);
  await durable;
  await buffer.flush();
  expect(disk.groups).toEqual([["a 1-1", "b 1-1"]]);
});

test("a group keeps each session's events together, in the order of the sessions' first events", async () => {
  const disk = new Disk();
  const { buffer, log, other } = setUp(disk);
  add(buffer, other, 1);
  add(buffer, log, 1);
  add(buffer, other, 2);
  await buffer.flush();
  expect(disk.groups).toEqual([["b 1-2", "a 1-1"]]);
});

test("an append is never split, however large, and a group ends before it grows too large", async () => {
  const disk = new Disk();
  const { buffer, log } = setUp(disk);
  add(buffer, log, 1);
  add(buffer, log, ...range(2, 5_001));
  add(buffer, log, 5_002);
  await buffer.flush();
  expect(disk.groups).toEqual([["a 1-1"], ["a 2-5001"], ["a 5002-5002"]]);
});

describe("I02 a group that cannot be written", () => {
  test("rejects every wait and is retried by the next wait or append, in order and once", async () => {
    const disk = new Disk();
    const { buffer, log, other } = setUp(disk);
    disk.failNext(2);
    add(buffer, log, 1);
    add(buffer, other, 1);
    await Promise.all([log, other].map((one) => expect(buffer.whenDurable(one)).rejects.toBe(full)));
    await expect(buffer.whenDurable(log)).rejects.toBe(full);
    add(buffer, log, 2);
    await buffer.flush();
    expect(disk.written).toEqual({ a: [1, 2], b: [1] });
    expect(buffer.whenDurable(other)).toBe(undefined);
  });

  test("is not retried without a wait or an append", async () => {
    const disk = new Disk();
    const { buffer, log } = setUp(disk);
    disk.failNext(1);
    add(buffer, log, 1);
    await expect(buffer.flush()).rejects.toBe(full);
    await turns();
    expect([disk.tries, disk.written]).toEqual([1, {}]);
  });

  test("fills the buffer until an append is rejected with the reason, and stays in the buffer", async () => {
    const disk = new Disk();
    const { buffer, log } = setUp(disk, 200);
    disk.failNext(Infinity);
    add(buffer, log, 1, 2);
    await expect(buffer.whenDurable(log)).rejects.toBe(full);
    expect(() => add(buffer, log, 3, 4)).toThrow(
      expect.objectContaining({ code: "store_failed", hint: "Free space.", message: expect.stringContaining("The disk is full.") }),
    );
    disk.failNext(0);
    await buffer.whenDurable(log);
    add(buffer, log, 3);
    await buffer.flush();
    expect(disk.written).toEqual({ a: [1, 2, 3] });
  });

  test("I11 L05 loses nothing and duplicates nothing, whichever commit fails, before or after it took effect", async () => {
    for (let nth = 1; nth <= 60; nth++) {
      const disk = new Disk();
      const { lengths, acknowledged } = await runWithFailures(disk, nth);
      expect(disk.written).toEqual({ a: range(1, lengths.a), b: range(1, lengths.b) });
      expect(acknowledged.a + acknowledged.b).toBeGreaterThan(0);
      expect(disk.tries).toBeGreaterThan(nth);
    }
  });
});

/** Appends and waits at random while the nth commit and every fifth of the others fail. */
async function runWithFailures(disk: Disk, nth: number) {
  const random = seededRandom(nth);
  const { buffer, log, other } = setUp(disk);
  disk.failWhen((attempt) => (attempt === nth || random.next() < 0.2 ? (random.next() < 0.5 ? "before" : "after") : undefined));
  const acknowledged = { a: 0, b: 0 };
  const lengths = { a: 0, b: 0 };
  for (let step = 0; step < 200; step++) {
    const target = random.next() < 0.5 ? log : other;
    const id = target.sessionId === "a" ? "a" : "b";
    add(buffer, target, ...range(lengths[id] + 1, (lengths[id] += 1 + Math.floor(random.next() * 3))));
    if (random.next() < 0.4) continue;
    const length = lengths[id];
    if (await isDurable(buffer.whenDurable(target))) acknowledged[id] = length;
    expect((disk.written[id] ?? []).length).toBeGreaterThanOrEqual(acknowledged[id]);
  }
  disk.failWhen(() => undefined);
  await buffer.flush();
  return { lengths, acknowledged };
}

async function isDurable(wait: Promise<void> | undefined): Promise<boolean> {
  try {
    await wait;
    return true;
  } catch (error: unknown) {
    expect(error).toBe(full);
    return false;
  }
}

test("a rejected session loses its waiting events, and other sessions do not", async () => {
  const disk = new Disk();
  const { buffer, log, other } = setUp(disk);
  disk.refuse("a");
  add(buffer, log, 1);
  add(buffer, other, 1);
  void buffer.whenDurable(other);
  await Promise.resolve();
  add(buffer, log, 2);
  add(buffer, other, 2);
  await expect(buffer.whenDurable(log)).rejects.toMatchObject({ code: "conflict" });
  await buffer.flush();
  expect([disk.groups, disk.written, log.lost, other.lost]).toEqual([[["a 1-1", "b 1-1"], ["b 2-2"]], { b: [1, 2] }, ["conflict"], []]);
  expect(buffer.hasEntries(log)).toBe(false);
});

test("dropped events are not written, unless their write is already in progress", async () => {
  const disk = new Disk();
  const { buffer, log, other } = setUp(disk);
  add(buffer, log, 1);
  add(buffer, other, 1);
  void buffer.whenDurable(other);
  await Promise.resolve();
  add(buffer, log, 2);
  const wait = buffer.whenDurable(log);
  buffer.drop(log, full);
  await expect(wait).rejects.toBe(full);
  add(buffer, other, 2);
  await buffer.flush();
  expect(disk.written).toEqual({ a: [1], b: [1, 2] });
});

describe("sessions that write at the same time", () => {
  test("are split into two overlapping groups, and no session is in both", async () => {
    const disk = new Disk();
    await callTogether(disk, { sessions: 64, rounds: 20, clock: clockThatMoves() }).done;
    expect(disk.mostUnderWay).toBe(2);
    // The first group has all of them; from then on each half goes by itself
    expect(disk.groups.map((group) => group.length)).toEqual([64, ...Array.from({ length: 38 }, () => 32)]);
    expect(disk.written).toEqual(Object.fromEntries(range(1, 64).map((id) => [`s${id}`, range(1, 40)])));
  });

  test.each([
    ["the database takes one group at a time", { sessions: 64, clock: undefined }],
    ["making them takes no time beside writing them", { sessions: 64, clock: { now: () => 0 } }],
    ["there are few of them", { sessions: 31, clock: clockThatMoves() }],
  ])("share one group where %s", async (_, options) => {
    const disk = new Disk();
    await callTogether(disk, { ...options, rounds: 10 }).done;
    expect([disk.mostUnderWay, disk.groups.map((group) => group.length)]).toEqual([1, Array.from({ length: 10 }, () => options.sessions)]);
  });

  test("wait with a branch until the group of its parent is written", async () => {
    const disk = new Disk();
    const branch = new TestLog("branch");
    const { buffer, done } = callTogether(disk, {
      sessions: 64,
      rounds: 6,
      clock: clockThatMoves(),
      beforeCall: ({ sessionId }, round) => {
        if (sessionId !== "s64" || round !== 4) return;
        const create = { at: 1, durability: "sync", parent: { sessionId: "s1", length: 1 } } as const;
        buffer.add(branch, { create, from: 1, rows: [{ at: 1, type: "message-add", callId: undefined, body: "0" }] });
      },
    });
    await done;
    await buffer.flush();
    expect([disk.mostUnderWay, disk.written["branch"]]).toEqual([2, [1]]);
  });

  test("I11 resend the events that were sent together as one, even if the limits of a group would split them elsewhere", async () => {
    const disk = new Disk();
    const { buffer, logs } = await readyToOverlap(disk, 32);
    disk.failWhen((attempt) => (attempt === 2 || attempt === 3 ? "after" : undefined));
    for (const log of logs) add(buffer, log, ...range(1, 100));
    for (const log of logs.toReversed().slice(0, 16)) add(buffer, log, ...range(101, 200));
    await Promise.all(logs.map((log) => isDurable(buffer.whenDurable(log))));
    await setImmediate(); // then the next group goes as one, and is cut at its limits
    await buffer.flush();
    expect([disk.mostUnderWay, logs.flatMap(({ lost }) => lost)]).toEqual([2, []]);
    expect(disk.written).toMatchObject({ s1: range(1, 100), s32: range(1, 200) });
  });

  test("I11 resend the events that were sent together as one, even if a branch among them must now wait", async () => {
    const disk = new Disk();
    const { buffer, logs } = await readyToOverlap(disk, 40);
    disk.failWhen((attempt) => (attempt === 2 ? "after" : undefined));
    const branch = new TestLog("branch");
    const create = { at: 1, durability: "sync", parent: { sessionId: "s40", length: 0 } } as const;
    for (const log of logs.slice(0, 19)) add(buffer, log, 1);
    buffer.add(branch, { create, from: 1, rows: [{ at: 1, type: "message-add", callId: undefined, body: "0" }] });
    for (const log of logs.slice(0, 19)) add(buffer, log, 2);
    for (const log of logs.slice(19)) add(buffer, log, 1);
    const waitTwice = async (log: BufferedLog): Promise<boolean> =>
      (await isDurable(buffer.whenDurable(log))) || isDurable(buffer.whenDurable(log));
    await Promise.all([branch, ...logs].map(waitTwice));
    await buffer.flush();
    expect([disk.mostUnderWay, logs.flatMap(({ lost }) => lost)]).toEqual([2, []]);
    expect(disk.written).toMatchObject({ s1: [1, 2], s19: [1, 2], s40: [1], branch: [1] });
  });

  test("reject a flush when both groups fail at once, each with its own error", async () => {
    let isDown = false;
    let tries = 0;
    const commit = async (): Promise<readonly LogRefusal[]> => {
      tries++;
      if (isDown && tries < 1_000) throw new ToolError("store_failed", `Down at try ${tries}.`);
      return [];
    };
    const buffer = new WriteBuffer({ commit, maxBytes: 1e9, clock: clockThatMoves() });
    const first = new TestLog("first");
    add(buffer, first, 1);
    await buffer.whenDurable(first);
    isDown = true;
    for (let id = 0; id < 32; id++) add(buffer, new TestLog(`s${id}`), 1);
    add(buffer, new TestLog("large"), ...range(1, 5_000)); // in neither group
    await expect(buffer.flush()).rejects.toMatchObject({ code: "store_failed" });
    expect(tries).toBe(3);
  });

  test("reject a flush for one of two groups only after the other is written", async () => {
    const disk = new Disk();
    const { buffer, logs } = await readyToOverlap(disk, 32);
    disk.failWhen((attempt) => (attempt === 2 || attempt > 3 ? "before" : undefined));
    for (const log of logs) add(buffer, log, 1);
    add(buffer, new TestLog("large"), ...range(1, 5_000)); // in neither group
    await expect(buffer.flush()).rejects.toBe(full);
    expect([disk.mostUnderWay, logs.filter((log) => buffer.hasEntries(log)).length, Object.keys(disk.written).length]).toEqual([2, 16, 17]);
  });

  test("I11 L05 lose nothing and duplicate nothing, whichever commits fail, before or after they took effect", async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const disk = new Disk();
      const random = seededRandom(seed);
      disk.failWhen(() => (random.next() < 0.2 ? (random.next() < 0.5 ? "before" : "after") : undefined));
      const { buffer, done } = callTogether(disk, { sessions: 48, rounds: 12, clock: clockThatMoves() });
      await done;
      disk.failWhen(() => undefined);
      await buffer.flush().catch(() => buffer.flush()); // one that was under way may still fail
      expect(disk.written).toEqual(Object.fromEntries(range(1, 48).map((id) => [`s${id}`, range(1, 24)])));
      expect(disk.mostUnderWay).toBe(2);
    }
  });
});

interface CallTogetherOptions {
  readonly sessions: number;
  readonly rounds: number;
  readonly clock: { now(): number } | undefined;
  readonly beforeCall?: (log: BufferedLog, round: number) => void;
}

/** Every session appends the two events of a call and waits for them, then makes its next call; a wait that fails goes on as well. */
function callTogether(disk: Disk, { sessions, rounds, clock, beforeCall }: CallTogetherOptions) {
  const buffer = new WriteBuffer({ commit: (writes) => disk.commit(writes), maxBytes: 1e9, clock });
  const makeCalls = async (log: BufferedLog): Promise<void> => {
    for (let round = 0; round < rounds; round++) {
      beforeCall?.(log, round);
      add(buffer, log, 2 * round + 1);
      await Promise.resolve();
      add(buffer, log, 2 * round + 2);
      await isDurable(buffer.whenDurable(log));
    }
  };
  const done = Promise.all(range(1, sessions).map((id) => makeCalls(new TestLog(`s${id}`))));
  return { buffer, done };
}

/** A buffer whose next group is sent in two halves, and logs that are empty. */
async function readyToOverlap(disk: Disk, sessions: number) {
  const buffer = new WriteBuffer({ commit: (writes) => disk.commit(writes), maxBytes: 1e9, clock: clockThatMoves() });
  const first = new TestLog("first");
  add(buffer, first, 1);
  await buffer.whenDurable(first);
  return { buffer, logs: range(1, sessions).map((id) => new TestLog(`s${id}`)) };
}

/** Every reading is one later: the calls of a group take about as long as writing it. */
function clockThatMoves() {
  let time = 0;
  return { now: () => time++ };
}

class TestLog implements BufferedLog {
  readonly sessionId: string;
  readonly epoch = 1;
  readonly leavesOpen = false;
  readonly lost: string[] = [];

  constructor(sessionId: string) {
    this.sessionId = sessionId;
  }

  fail(error: ToolError): void {
    this.lost.push(error.code);
  }
}

/** What a database does with groups, one after the other, without one. */
class Disk {
  readonly groups: string[][] = [];
  readonly written: Record<string, number[]> = {};
  tries = 0;
  mostUnderWay = 0;
  readonly #underWay = new Set<readonly LogWrite[]>();
  #last: Promise<unknown> = Promise.resolve();
  readonly #refused = new Set<string>();
  #failure: (attempt: number) => "before" | "after" | undefined = () => undefined;

  failNext(times: number): void {
    const last = this.tries + times;
    this.#failure = (attempt) => (attempt <= last ? "before" : undefined);
  }

  failWhen(failure: (attempt: number) => "before" | "after" | undefined): void {
    this.#failure = failure;
  }

  refuse(sessionId: string): void {
    this.#refused.add(sessionId);
  }

  async commit(writes: readonly LogWrite[]): Promise<readonly LogRefusal[]> {
    const others = new Set([...this.#underWay].flat().map(({ sessionId }) => sessionId));
    expect(writes.filter(({ sessionId, create }) => others.has(sessionId) || others.has(create?.parent?.sessionId ?? ""))).toEqual([]);
    this.#underWay.add(writes);
    this.mostUnderWay = Math.max(this.mostUnderWay, this.#underWay.size);
    const attempt = ++this.tries;
    const written = this.#last.then(() => this.#write(writes, attempt)).finally(() => this.#underWay.delete(writes));
    this.#last = written.catch(() => {}); // its caller gets the error
    return written;
  }

  async #write(writes: readonly LogWrite[], attempt: number): Promise<readonly LogRefusal[]> {
    const failure = this.#failure(attempt);
    await turns();
    if (failure === "before") throw full;
    this.groups.push(writes.map(({ sessionId, from, events }) => `${sessionId} ${from}-${from + events.length - 1}`));
    const [refused, accepted] = [true, false].map((is) => writes.filter(({ sessionId }) => this.#refused.has(sessionId) === is));
    for (const { sessionId, from, events } of accepted ?? []) {
      const log = (this.written[sessionId] ??= []);
      expect(from).toBeLessThanOrEqual(log.length + 1);
      // As the writer of a store: a part that is smaller than what is there is in the place of other events
      expect(log.length + 1 - from).toBeLessThanOrEqual(events.length);
      log.push(...events.slice(log.length + 1 - from).map(({ at }) => at));
    }
    if (failure === "after") throw full;
    return (refused ?? []).map(({ sessionId }) => ({ sessionId, error: new ToolError("conflict", "Taken over.").toJSON() }));
  }
}

function setUp(disk: Disk, maxBytes = 1e9) {
  const buffer = new WriteBuffer({ commit: (writes) => disk.commit(writes), maxBytes });
  return { buffer, log: new TestLog("a"), other: new TestLog("b") };
}

function add(buffer: WriteBuffer, log: BufferedLog, ...numbers: readonly number[]): void {
  const rows = numbers.map((at): EventRow => ({ at, type: "message-add", callId: undefined, body: "0123456789" }));
  buffer.add(log, { from: numbers[0] ?? 1, rows });
}

function range(first: number, last: number): readonly number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

/** A few turns of the event loop's promises, as a database takes. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await Promise.resolve();
}
