import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { bundledProgram } from "../bundled-program.ts";
import { inCI } from "../ci.ts";
import { postgresPrograms, startPostgres, type PostgresServer } from "./postgres/server.ts";
import { readAllOutput, readOutput, startTogether, startProgram, type StoreProcess } from "./run-process.ts";
import { temporaryFile } from "./temporary-file.ts";
import { testInCI } from "../test-in-ci.ts";

const PROGRAM = bundledProgram("store/lease-process");
const TIMES = inCI ? 40 : 10;
const KILLS = inCI ? 2 : 1;

interface Place {
  readonly store: string;
  readonly counter: string;
}

function start({ store, counter }: Place, action: string, times: number): StoreProcess {
  return startProgram(PROGRAM, [store, counter, action, String(times)]);
}

/** Lets one begin that holds the lease until it is written to again. Returns its fence. */
async function holding(one: StoreProcess): Promise<number> {
  expect(await readOutput(one)).toBe("ready");
  one.child.stdin.write("go\n");
  const said = (await readOutput(one)) as { readonly holding: number };
  return said.holding;
}

function counted({ counter }: Place): { readonly count: number; readonly fence: number } {
  return JSON.parse(readFileSync(counter, "utf8"));
}

function ok(times: number): readonly unknown[] {
  return Array.from({ length: times }, () => ({ status: "ok" }));
}

const WHERE = ["SQLite", ...(inCI && postgresPrograms !== undefined ? ["PostgreSQL"] : [])];

describe.each(WHERE)("issue 21.4 processes that share a counter under leases in %s:", { timeout: 300_000 }, (kind) => {
  const isServer = kind === "PostgreSQL";
  let running: PostgresServer | undefined;
  beforeAll(async () => {
    if (isServer) running = await startPostgres();
  }, 120_000);
  afterAll(() => running?.remove());

  async function place(): Promise<Place> {
    const counter = temporaryFile("counter.json");
    writeFileSync(counter, JSON.stringify({ count: 0, fence: 0 }));
    await running?.execute("drop schema if exists haft cascade");
    return { store: running?.url ?? temporaryFile(), counter };
  }

  testInCI("lose no update", async () => {
    const at = await place();
    const processes = [start(at, "count", TIMES), start(at, "count", TIMES)];
    await startTogether(processes);
    for (const one of processes) expect(await readAllOutput(one)).toEqual(ok(TIMES));
    expect(counted(at).count).toBe(2 * TIMES);
  });

  testInCI("are not blocked forever by a process that was killed while it held the lease", async () => {
    const at = await place();
    for (let kill = 1; kill <= KILLS; kill++) {
      const holder = start(at, "hold", 1);
      const fence = await holding(holder);
      const next = start(at, "count", 1);
      await startTogether([next]);
      holder.child.kill("SIGKILL");
      await holder.ended;
      expect(await readAllOutput(next)).toEqual(ok(1));
      expect(counted(at).count).toBe(kill);
      expect(counted(at).fence).toBeGreaterThan(fence);
    }
  });

  // The lease of SQLite is 15 s.
  testInCI("reject a process that was suspended beyond its lease by its fence", async () => {
    const at = await place();
    let refused = 0;
    for (let stop = 1; stop <= (isServer ? 3 : 1); stop++) {
      const holder = start(at, "hold", 1);
      const fence = await holding(holder);
      holder.child.kill("SIGSTOP");
      const next = start(at, "count", 1);
      await startTogether([next]);
      expect(await readAllOutput(next)).toEqual(ok(1));
      const { count, fence: later } = counted(at);
      holder.child.kill("SIGCONT");
      holder.child.stdin.write("go\n");
      expect(await readAllOutput(holder)).toEqual([
        { status: "error", error: expect.stringContaining(`The fence ${fence} is older than ${later}.`) },
      ]);
      refused++;
      expect(counted(at)).toEqual({ count, fence: later });
      expect(count).toBe(stop);
    }
    expect(refused).toBeGreaterThan(0);
  });
});
