import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SessionEvent } from "../../src/core/event.ts";
import { isToolError } from "../../src/core/error.ts";
import type { Store } from "../../src/core/store/store.ts";
import { seededRandom } from "../../src/testing/fake-ports.ts";
import { callEndEvent, messageEvent, messageEvents } from "../../src/testing/store-case.ts";
import { localStore } from "./local-store.ts";
import { inCI } from "../ci.ts";

/** Thousands of files are written and opened here, so they stay in memory where the system has a place for that. */
const folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "haft-damage-"));
const whole = join(folder, "whole.db");
const running = join(folder, "running.db");
const broken = join(folder, "broken.db");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** How many bits are flipped, one at a time. */
const FLIPS = inCI ? 1_000 : 40;

/** What is in the files. */
const EXPECTED: ReadonlyMap<string, readonly SessionEvent[]> = new Map([
  ["one", [...messageEvents("one", 1, 20), callEndEvent("one", { text: "x".repeat(9_000) }), ...messageEvents("one", 22, 25)]],
  ["branch", [...messageEvents("one", 1, 10), ...messageEvents("branch", 11, 15)]],
  ["two", [messageEvent("two", 1), callEndEvent("two", { text: "ü\u0000\ud800".repeat(500) }), ...messageEvents("two", 3, 12)]],
]);

/** Every third of the last bytes in CI, elsewhere every 91st: the last cut of both is at the end of a page. */
const LAST = 4_096;
const STEP = inCI ? 3 : 91;
const CUTS = Math.ceil(LAST / STEP);
/** A commit of that log that is cut anywhere is gone as a whole. */
const LATE_STEP = 5 * STEP;
const LATE_CUTS = Math.ceil(LAST / LATE_STEP);

beforeAll(async () => {
  const { store, file } = localStore(whole);
  await store.open();
  for (const [id, events] of EXPECTED) await write(store, id, events.slice(0, -4));
  file.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  for (const [id, events] of EXPECTED) await continueLog(store, id, events.slice(-4));
  for (const suffix of ["", "-wal"]) copyFileSync(whole + suffix, running + suffix);
  await store.close();
});

describe("I01 a damaged file yields only records that were written to it, and reports the loss:", { timeout: 180_000 }, () => {
  test(`L04 cut ${CUTS} times within its last 4,096 bytes`, async () => {
    const bytes = readFileSync(whole);
    const found = new Map<string, number>();
    for (let cut = 1; cut <= LAST; cut += STEP) {
      writeFileSync(broken, bytes.subarray(0, bytes.length - cut));
      count(found, await survey({ mayEndEarly: false }));
    }
    expect(found).toEqual(
      new Map([
        ["damage shown", CUTS - 1],
        ["refused for writing, damage shown", 1],
      ]),
    );
  });

  test(`L04 with ${FLIPS} bits flipped, one at a time`, async () => {
    const bytes = readFileSync(whole);
    const found = await flipBits(bytes, (damaged) => {
      writeFileSync(broken, damaged);
      return survey({ mayEndEarly: false });
    });
    const endings = [
      "all there",
      "damage shown",
      "refused for writing, all there",
      "refused for writing, damage shown",
      "refused for writing, refused",
    ];
    expect(endings).toEqual(expect.arrayContaining([...found.keys()]));
    if (inCI) expect([...found.keys()]).toEqual(expect.arrayContaining(["all there", "damage shown", "refused for writing, damage shown"]));
    expect(found.get("refused for writing, refused") ?? 0).toBeLessThan(FLIPS / 15);
  });

  /** SQLite takes the first broken page of that log for its end: whole commits are missing, and nothing tells. */
  test(`with its write-ahead log cut ${LATE_CUTS} times within its last 4,096 bytes`, async () => {
    const [main, late] = [readFileSync(running), readFileSync(`${running}-wal`)];
    const found = new Map<string, number>();
    for (let cut = 1; cut <= LAST; cut += LATE_STEP) {
      writeFileSync(broken, main);
      writeFileSync(`${broken}-wal`, late.subarray(0, late.length - cut));
      count(found, await survey({ mayEndEarly: true }));
    }
    expect(found).toEqual(new Map([["ends early", LATE_CUTS]]));
  });

  test(`with ${FLIPS} bits of its write-ahead log flipped, one at a time`, async () => {
    const [main, late] = [readFileSync(running), readFileSync(`${running}-wal`)];
    const found = await flipBits(late, (damaged) => {
      writeFileSync(broken, main);
      writeFileSync(`${broken}-wal`, damaged);
      return survey({ mayEndEarly: true });
    });
    expect(found).toEqual(new Map([["ends early", FLIPS]]));
  });
});

async function flipBits(bytes: Buffer, look: (damaged: Buffer) => Promise<string>): Promise<ReadonlyMap<string, number>> {
  const random = seededRandom(20_262);
  const found = new Map<string, number>();
  for (let flip = 0; flip < FLIPS; flip++) {
    const at = Math.floor(random.next() * bytes.length);
    const mask = 1 << Math.floor(random.next() * 8);
    bytes.writeUInt8(bytes.readUInt8(at) ^ mask, at);
    count(found, await look(bytes));
    bytes.writeUInt8(bytes.readUInt8(at) ^ mask, at);
  }
  return found;
}

/** Looks at everything in the broken file, and says in words what came of it. Fails when something is there that should not be. */
async function survey(allowed: { readonly mayEndEarly: boolean }): Promise<string> {
  const before = readFileSync(broken);
  const opened = await surveyAs(false, allowed);
  if (opened !== "refused") return opened;
  writeFileSync(broken, before);
  for (const suffix of ["-wal", "-shm"]) rmSync(broken + suffix, { force: true });
  return `refused for writing, ${await surveyAs(true, allowed)}`;
}

async function surveyAs(readOnly: boolean, { mayEndEarly }: { readonly mayEndEarly: boolean }): Promise<string> {
  let store: Store | undefined;
  try {
    ({ store } = localStore(broken, { readOnly }));
    await store.open();
    let outcome = "all there";
    for (const [id, expected] of EXPECTED) {
      const { events, damage } = await readAll(store, id);
      if (!isPrefix(events, expected)) expect(events).toEqual(expected);
      if (damage !== undefined) outcome = "damage shown";
      else if (events.length === expected.length) continue;
      else if (mayEndEarly) outcome = "ends early";
      else expect.fail(`${id} ends after ${events.length} events, and nothing says why`);
    }
    return outcome;
  } catch (error: unknown) {
    if (!isToolError(error) || error.code !== "corrupt_record") throw error;
    return "refused";
  } finally {
    await store?.close().catch(() => {});
    for (const suffix of ["-wal", "-shm"]) rmSync(broken + suffix, { force: true });
  }
}

async function readAll(store: Store, id: string) {
  const events: SessionEvent[] = [];
  for (let from = 1; ;) {
    const page = await store.read(id, { from });
    events.push(...page.events);
    if (page.next === undefined) return { events, damage: page.damage };
    from = page.next;
  }
}

async function write(store: Store, id: string, events: readonly SessionEvent[]): Promise<void> {
  const shared = events.filter((event) => event.sessionId !== id).length;
  const parent = shared === 0 ? {} : { parent: { sessionId: "one", length: shared } };
  const log = store.create(id, { at: 1, durability: "sync", ...parent });
  for (const event of events.slice(shared)) {
    log.append([event]);
    await log.whenDurable();
  }
  await log.close();
}

async function continueLog(store: Store, id: string, events: readonly SessionEvent[]): Promise<void> {
  const log = await store.claim(id);
  for (const event of events) {
    log.append([event]);
    await log.whenDurable();
  }
}

function count(found: Map<string, number>, what: string): void {
  found.set(what, (found.get(what) ?? 0) + 1);
}

/** As text, which is a good deal quicker than to compare the values. */
function isPrefix(events: readonly SessionEvent[], expected: readonly SessionEvent[]): boolean {
  return JSON.stringify(events) === JSON.stringify(expected.slice(0, events.length));
}
