/** Leases of shared toolsets: take and give back, one by one and many at once, on SQLite and on PostgreSQL (`HAFT_POSTGRES`, a URL). */
import { LeaseLocks } from "../src/policy/locks/lease-locks.ts";
import type { Store } from "../src/core/store/store.ts";
import { systemPorts } from "../src/core/system/system-ports.ts";
import { postgresStore } from "../src/store/postgres-store.ts";
import { sqliteStore } from "../src/store/sqlite-store.ts";
import { inFolderOnDisk } from "./folder.ts";

const RUN_MS = 3_000;
/** How many calls take leases at a time. */
const CALLS = [1, 8, 32, 256];

export async function printLeases(): Promise<void> {
  await inFolderOnDisk((folder) => printStore("SQLite", sqliteStore({ path: `${folder}/haft.db` })));
  const url = process.env["HAFT_POSTGRES"];
  if (url === undefined) console.log("leases, PostgreSQL: left out; HAFT_POSTGRES has no URL");
  else await printStore("PostgreSQL", postgresStore({ url }));
}

async function printStore(name: string, store: Store): Promise<void> {
  const locks = new LeaseLocks({ leases: store.leases, ...systemPorts });
  await store.open();
  for (const calls of CALLS) {
    const pairs = await pairsPerSecond(locks, calls);
    console.log(
      `leases, ${name}, two keys, ${String(calls).padStart(3)} calls at a time: ${Math.round(pairs)} taken and given back a second`,
    );
  }
  await store.close();
}

/** Each call has a key of its own, and its place in the toolset, as calls of one shared toolset have. */
async function pairsPerSecond(locks: LeaseLocks, calls: number): Promise<number> {
  const startedAt = performance.now();
  const endsAt = startedAt + RUN_MS;
  let pairs = 0;
  const callAgain = async (call: number): Promise<void> => {
    const writes = [`order:${call}`, `toolset:orders/writes/order:${call}`];
    while (performance.now() < endsAt) {
      const ticket = locks.request({ owner: `call_${call}`, reads: [], writes, commutative: false });
      await ticket.whenGranted();
      ticket.release();
      pairs++;
    }
  };
  await Promise.all(Array.from({ length: calls }, (_, call) => callAgain(call)));
  return (pairs * 1_000) / (performance.now() - startedAt);
}
