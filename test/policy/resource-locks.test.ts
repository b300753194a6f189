import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LockRequest, LockTicket } from "../../src/core/resources/locks.ts";
import { isSameOrInside } from "../../src/core/resources/effects.ts";
import { ResourceLocks } from "../../src/policy/locks/resource-locks.ts";
import { locksContract } from "../../src/testing/locks-contract.ts";
import { seededRandom, settle } from "../../src/testing/fake-ports.ts";
import { inCI } from "../ci.ts";
import { inProcessorTime } from "../processor-time.ts";

test.each(locksContract)("the in-process locks pass the contract: $title", async ({ run }) => {
  const locks = new ResourceLocks();
  await run({ locks, other: locks });
});

interface Wish {
  readonly reads?: readonly string[];
  readonly writes?: readonly string[];
  readonly commutative?: boolean;
}

/** A lock with tickets named by the test; `held()` lists those that may go, in ticket order. */
class Line {
  readonly locks = new ResourceLocks();
  readonly tickets = new Map<string, LockTicket>();
  readonly started: string[] = [];

  add(owner: string, wish: Wish): LockTicket {
    const ticket = this.locks.request({
      owner,
      reads: wish.reads ?? [],
      writes: wish.writes ?? [],
      commutative: wish.commutative ?? false,
    });
    this.tickets.set(owner, ticket);
    void ticket.whenGranted().then(() => this.started.push(owner));
    return ticket;
  }

  release(owner: string): void {
    this.tickets.get(owner)?.release();
    this.tickets.delete(owner);
  }

  held(): readonly string[] {
    return [...this.tickets].filter(([, ticket]) => ticket.granted).map(([owner]) => owner);
  }
}

function lineOf(wishes: Readonly<Record<string, Wish>>): Line {
  const line = new Line();
  for (const [owner, wish] of Object.entries(wishes)) line.add(owner, wish);
  return line;
}

const KEY = "file:/a";
const reads = (...keys: readonly string[]): Wish => ({ reads: keys });
const writes = (...keys: readonly string[]): Wish => ({ writes: keys });
const adds = (...keys: readonly string[]): Wish => ({ writes: keys, commutative: true });

describe("conflicts", () => {
  test("readers of one key share it", () => {
    const line = lineOf({ one: reads(KEY), two: reads(KEY), three: reads(KEY) });
    expect(line.held()).toEqual(["one", "two", "three"]);
  });

  test("a writer waits for all earlier readers, and later readers wait for the writer", () => {
    const line = lineOf({ r1: reads(KEY), r2: reads(KEY), w: writes(KEY), r3: reads(KEY) });
    expect(line.held()).toEqual(["r1", "r2"]);
    line.release("r2");
    expect(line.held()).toEqual(["r1"]);
    line.release("r1");
    expect(line.held()).toEqual(["w"]);
    line.release("w");
    expect(line.held()).toEqual(["r3"]);
  });

  test("five writers of one key run one by one in ticket order", async () => {
    const line = lineOf({ a: writes(KEY), b: writes(KEY), c: writes(KEY), d: writes(KEY), e: writes(KEY) });
    for (const owner of ["a", "b", "c", "d", "e"]) {
      expect(line.held()).toEqual([owner]);
      line.release(owner);
    }
    await settle();
    expect(line.started).toEqual(["a", "b", "c", "d", "e"]);
    expect(line.locks.size).toBe(0);
  });

  test.each<readonly [string, string, boolean]>([
    ["file:/a", "file:/a/b", true],
    ["file:/a/b", "file:/a", true],
    ["file:/a", "file:/ab", false],
    ["file:/a/", "file:/a", true],
    ["file:/a/", "file:/a/b/c", true],
    ["file:/", "file:/a", true],
    ["file:", "file:/a", true],
    ["file:/", "file:", true],
    ["files:", "file:/a", false],
    ["a//", "a/b", false],
    ["a//", "a//b", true],
    ["/", "/a", true],
    ["/", "a", false],
    ["", "/a", true],
    ["toolset:x", "toolset:y", false],
  ])("a write of %j and one of %j exclude each other: %s", (first, second, expected) => {
    expect(isSameOrInside(first, second) || isSameOrInside(second, first)).toBe(expected);
    for (const wish of [reads(second), writes(second)]) {
      expect(lineOf({ first: writes(first), second: wish }).held()).toEqual(expected ? ["first"] : ["first", "second"]);
      expect(lineOf({ second: wish, first: writes(first) }).held()).toEqual(expected ? ["second"] : ["second", "first"]);
    }
  });

  test("readers of a folder share with readers inside it", () => {
    expect(lineOf({ one: reads("file:/a"), two: reads("file:/a/b"), three: reads("file:/") }).held()).toEqual(["one", "two", "three"]);
  });

  test("commutative writers of the same or nested keys share, and exclude reads and plain writes", () => {
    const line = lineOf({
      a1: adds(KEY),
      a2: adds(KEY),
      inside: adds("file:/a/b"),
      r: reads("file:/a/b"),
      a3: adds(KEY),
      w: writes("file:/"),
      a4: adds(KEY),
    });
    expect(line.held()).toEqual(["a1", "a2", "inside"]);
    line.release("a1");
    line.release("a2");
    expect(line.held()).toEqual(["inside"]);
    line.release("inside");
    expect(line.held()).toEqual(["r"]);
    line.release("r");
    expect(line.held()).toEqual(["a3"]);
    line.release("a3");
    expect(line.held()).toEqual(["w"]);
    line.release("w");
    expect(line.held()).toEqual(["a4"]);
  });

  test("a ticket never waits for itself, whatever it reads and writes of one tree", () => {
    const wish: Wish = { reads: ["file:/a", "file:/a/b", "file:/"], writes: ["file:/a", "file:/a/b/c", "file:/a"] };
    for (const commutative of [false, true]) {
      const line = lineOf({ one: reads("other:"), two: { ...wish, commutative } });
      expect(line.held()).toEqual(["one", "two"]);
    }
  });

  test("a ticket without keys is granted while others write everything, and is never counted", () => {
    const line = lineOf({ w: writes("file:/"), none: {} });
    expect(line.held()).toEqual(["w", "none"]);
    expect(line.locks.size).toBe(1);
    line.release("none");
    expect(line.locks.size).toBe(1);
  });

  test("keys of more than 64 segments are locked as their 64th ancestor: wider, never narrower", () => {
    const ancestor = `${"x/".repeat(63)}x`;
    const line = lineOf({
      one: writes(`${ancestor}/a`),
      two: writes(`${ancestor}/b`),
      three: writes(`${"x/".repeat(63)}y/a`),
      deepest: writes("x/".repeat(500)),
    });
    expect(line.held()).toEqual(["one", "three"]);
    line.release("one");
    expect(line.held()).toEqual(["two", "three"]);
  });
});

describe("queue order", () => {
  test("a writer in a stream of readers is not starved: later readers wait for it", () => {
    const line = lineOf({ r0: reads(KEY), w: writes("file:/") });
    for (let count = 1; count <= 50; count++) {
      line.add(`r${count}`, reads("file:/a/b"));
      expect(line.tickets.get(`r${count}`)?.granted).toBe(false);
    }
    line.release("r0");
    expect(line.held()).toEqual(["w"]);
    line.release("w");
    expect(line.held()).toHaveLength(50);
  });

  test("tickets with keys in opposite order do not deadlock", () => {
    const line = lineOf({ one: writes("a:", "b:"), two: writes("b:", "a:"), three: writes("a:", "b:") });
    expect(line.held()).toEqual(["one"]);
    line.release("one");
    expect(line.held()).toEqual(["two"]);
    line.release("two");
    expect(line.held()).toEqual(["three"]);
  });

  test("a waiting ticket that is withdrawn lets those behind it proceed as if it had never been there", async () => {
    const line = lineOf({ r1: reads(KEY), w: writes(KEY, "b:"), r2: reads(KEY), other: writes("b:") });
    const withdrawn = line.tickets.get("w");
    expect(line.held()).toEqual(["r1"]);
    line.release("w");
    expect(line.held()).toEqual(["r1", "r2", "other"]);
    await settle();
    expect(line.started).toEqual(["r1", "r2", "other"]);
    expect(withdrawn?.granted).toBe(false);
    expect(withdrawn?.waitingFor()).toEqual([]);
  });

  test("releases out of order grant each ticket exactly when the last conflicting ticket has gone", () => {
    const line = lineOf({ a: writes("a:"), b: writes("b:"), both: writes("a:", "b:"), again: reads("a:") });
    line.release("b");
    expect(line.held()).toEqual(["a"]);
    line.release("a");
    expect(line.held()).toEqual(["both"]);
    line.release("both");
    expect(line.held()).toEqual(["again"]);
  });

  test("tickets granted by one release start in ticket order, whatever their keys", async () => {
    const line = lineOf({ w: writes(KEY), r1: reads("file:/a/b"), r2: reads(KEY), r3: reads("file:/a/b"), r4: reads("file:/") });
    line.release("w");
    await settle();
    expect(line.started).toEqual(["w", "r1", "r2", "r3", "r4"]);
  });

  test("a second release does nothing, even after another ticket holds the key", () => {
    const line = lineOf({ a: writes(KEY) });
    const ticket = line.tickets.get("a");
    line.release("a");
    line.add("b", writes(KEY));
    line.add("c", writes(KEY));
    ticket?.release();
    expect(line.held()).toEqual(["b"]);
    expect(line.locks.size).toBe(2);
  });

  test("whenGranted of a granted ticket resolves at once", async () => {
    const line = lineOf({ a: writes(KEY), b: writes(KEY) });
    const ticket = line.tickets.get("b");
    expect(ticket?.whenGranted()).toBe(ticket?.whenGranted());
    line.release("a");
    await ticket?.whenGranted();
    expect(ticket?.waitingFor()).toEqual([]);
  });
});

describe("waitingFor", () => {
  test("returns the owners of earlier conflicting tickets, held or waiting, oldest first and each once", () => {
    const line = lineOf({ r: reads(KEY), stranger: writes("b:"), w: writes(KEY, "file:/a/b"), last: writes("file:/"), later: reads(KEY) });
    expect(line.tickets.get("last")?.waitingFor()).toEqual(["r", "w"]);
    expect(line.tickets.get("w")?.waitingFor()).toEqual(["r"]);
    expect(line.tickets.get("r")?.waitingFor()).toEqual([]);
    line.release("r");
    expect(line.tickets.get("last")?.waitingFor()).toEqual(["w"]);
  });

  test("returns at most the 20 oldest owners", () => {
    const line = new Line();
    for (let count = 0; count < 30; count++) line.add(`r${count}`, reads(count % 2 === 0 ? KEY : "file:/a/b"));
    expect(line.add("w", writes(KEY)).waitingFor()).toEqual(Array.from({ length: 20 }, (_, count) => `r${count}`));
  });
});

function overlap(left: readonly string[], right: readonly string[]): boolean {
  return left.some((one) => right.some((other) => isSameOrInside(one, other) || isSameOrInside(other, one)));
}

function conflict(one: LockRequest, other: LockRequest): boolean {
  const writers = overlap(one.writes, other.writes) && !(one.commutative && other.commutative);
  return writers || overlap(one.writes, other.reads) || overlap(one.reads, other.writes);
}

describe("compared with a plain implementation of the rule", () => {
  const KEYS = [
    "file:",
    "file:/",
    "file:/a",
    "file:/a/",
    "file:/a/b",
    "file:/a/b/c",
    "file:/ab",
    "file:/a//b",
    "toolset:x",
    "toolset:x/reads",
    "/",
    "/a",
  ];

  type Step = { readonly ask: LockRequest } | { readonly leave: number };

  /** Plays the steps on the locks and on a plain list; after each, every live ticket must agree with the list. */
  function play(steps: Iterable<Step>): void {
    const locks = new ResourceLocks();
    let live: { readonly request: LockRequest; readonly ticket: LockTicket }[] = [];
    for (const step of steps) {
      if ("ask" in step) {
        const isBlocked = live.some(({ request }) => conflict(request, step.ask));
        const overtakes = step.ask.overtakes === true && isBlocked;
        const overtaken = overtakes ? live.filter((one) => !one.ticket.granted && one.request.overtakes !== true) : [];
        const ticket = locks.request(step.ask);
        live = [...live.filter((one) => !overtaken.includes(one)), { request: step.ask, ticket }, ...overtaken];
      } else if (live.length > 0) {
        const index = step.leave % live.length;
        live[index]?.ticket.release();
        live = live.filter((_, other) => other !== index);
      }
      for (const [index, { request, ticket }] of live.entries()) {
        const inTheWay = live.slice(0, index).filter((other) => conflict(other.request, request));
        if (ticket.granted !== (inTheWay.length === 0))
          throw new Error(
            `granted ${ticket.granted} with ${inTheWay.length} in the way: ${JSON.stringify(live.map((one) => one.request))}`,
          );
        if (inTheWay.length > 0) expect(ticket.waitingFor()).toEqual(inTheWay.map((other) => other.request.owner));
      }
      expect(locks.size).toBe(live.filter(({ request }) => request.reads.length + request.writes.length > 0).length);
    }
    for (const { ticket } of live) ticket.release();
    expect(locks.size).toBe(0);
  }

  test("many random requests, releases and withdrawals grant exactly the tickets that the plain rule grants", () => {
    const random = seededRandom(7);
    const below = (bound: number): number => Math.floor(random.next() * bound);
    const aKey = (): string => KEYS[below(KEYS.length + 4)] ?? `file:/a/${below(400)}/c`;
    const someKeys = (most: number): readonly string[] => Array.from({ length: below(most + 1) }, aKey);
    function* steps(): Iterable<Step> {
      let live = 0;
      for (let count = 0; count < (inCI ? 40_000 : 10_000); count++) {
        if (live < 10 && random.next() < 0.5) {
          live++;
          const wish = below(3);
          yield {
            ask: {
              owner: `call_${count}`,
              reads: wish === 0 ? [] : someKeys(3),
              writes: wish === 1 ? [] : someKeys(2),
              commutative: below(2) === 0,
              overtakes: below(4) === 0,
            },
          };
        } else {
          live = Math.max(0, live - 1);
          yield { leave: below(1_000) };
        }
      }
    }
    play(steps());
  }, 60_000);

  test("any short history agrees with the plain rule", () => {
    const someKeys = fc.array(fc.constantFrom(...KEYS), { maxLength: 3 });
    const ask = fc
      .record({ owner: fc.string({ maxLength: 4 }), reads: someKeys, writes: someKeys, commutative: fc.boolean(), overtakes: fc.boolean() })
      .map((request): Step => ({ ask: request }));
    const leave = fc.nat({ max: 100 }).map((index): Step => ({ leave: index }));
    fc.assert(fc.property(fc.array(fc.oneof(ask, leave), { maxLength: 24, size: "max" }), play), { seed: 11, numRuns: inCI ? 400 : 30 });
  });
});

/** Generous on purpose: a line that looks at all before it would take 5,000,000,000 steps. */
const MAX_MS = 10_000;

describe("cost is linear for", () => {
  test.each<readonly [string, (index: number) => Wish]>([
    ["writers queued on one key", () => ({ reads: ["file:/b"], writes: [KEY] })],
    ["writers of different keys", (index) => writes(`file:/a/${index}`)],
    [
      "readers of a folder between writers and readers in it",
      (index) => [reads(KEY), writes("file:/a/b"), reads("file:/a/b")][index % 3] ?? {},
    ],
    ["a thousand readers between two writers", (index) => (index % 1_000 === 0 ? writes(KEY) : reads(KEY))],
  ])("100,000 %s", (_, wish) => {
    const locks = new ResourceLocks();
    inProcessorTime(MAX_MS, () => {
      const tickets = Array.from({ length: 100_000 }, (_each, index) =>
        locks.request({ owner: "call", reads: [], writes: [], commutative: false, ...wish(index) }),
      );
      for (const ticket of tickets) {
        if (!ticket.granted) throw new Error("a ticket was not granted when all before it had gone");
        ticket.release();
      }
    });
    expect(locks.size).toBe(0);
  });

  test("100,000 waiting tickets that are withdrawn from the back, then one that proceeds", () => {
    const locks = new ResourceLocks();
    inProcessorTime(MAX_MS, () => {
      const tickets = Array.from({ length: 100_000 }, (_, index) =>
        locks.request({ owner: "call", commutative: false, reads: [], writes: [], ...(index % 2 === 0 ? writes(KEY) : reads("file:/")) }),
      );
      for (const ticket of tickets.slice(1).reverse()) ticket.release();
      expect(tickets[0]?.granted).toBe(true);
    });
    expect(locks.size).toBe(1);
  });
});
