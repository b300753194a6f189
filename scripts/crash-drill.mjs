/** Kills a process that writes sessions so many times, and checks after each that nothing acknowledged is lost: `crash-drill.mjs [kills] [seed] [postgres]`. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresStore } from "../src/store/postgres-store.ts";
import { runCrashDrill } from "../test/store/crash-drill.ts";
import { startPostgres } from "../test/store/postgres/server.ts";

const [kills = 100, seed = 1] = process.argv.slice(2).map(Number);
const server = process.argv[4] === "postgres" ? await startPostgres({ fsync: "on" }) : undefined;
const folder = mkdtempSync(join(tmpdir(), "haft-drill-"));
const total = { kills: 0, acknowledged: 0, unacknowledged: 0, slowestOpenMs: 0 };
try {
  const place = server === undefined ? { path: join(folder, "sessions.db") } : placeOn(server);
  await runCrashDrill({ ...place, kills, seed, mostLines: 400, onKill: add });
} finally {
  await server?.remove();
  rmSync(folder, { recursive: true, force: true });
}
console.log(`${total.kills} kills with seed ${seed}, everything acknowledged was there once and in order`);
console.log(
  `found ${total.acknowledged} acknowledged events and ${total.unacknowledged} that were not yet; slowest open ${total.slowestOpenMs.toFixed(0)} ms`,
);

function placeOn({ url, execute }) {
  return { path: url, open: () => postgresStore({ url }), empty: () => execute("drop schema if exists haft cascade") };
}

function add({ acknowledged, found, openMs }) {
  total.kills++;
  total.acknowledged += acknowledged;
  total.unacknowledged += found - acknowledged;
  total.slowestOpenMs = Math.max(total.slowestOpenMs, openMs);
  if (total.kills % 50 === 0) console.log(`${total.kills} kills`);
}
