/** Kills a process that writes sessions so many times, and checks after each that nothing acknowledged is lost: `crash-drill.mjs [kills] [seed]`. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCrashDrill } from "../test/store/crash-drill.ts";

const [kills = 100, seed = 1] = process.argv.slice(2).map(Number);
const folder = mkdtempSync(join(tmpdir(), "haft-drill-"));
const total = { kills: 0, acknowledged: 0, unacknowledged: 0, slowestOpenMs: 0 };
try {
  await runCrashDrill({ path: join(folder, "sessions.db"), kills, seed, mostLines: 400, onKill: add });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`${total.kills} kills with seed ${seed}, everything acknowledged was there once and in order`);
console.log(
  `found ${total.acknowledged} acknowledged events and ${total.unacknowledged} that were not yet; slowest open ${total.slowestOpenMs.toFixed(0)} ms`,
);

function add({ acknowledged, found, openMs }) {
  total.kills++;
  total.acknowledged += acknowledged;
  total.unacknowledged += found - acknowledged;
  total.slowestOpenMs = Math.max(total.slowestOpenMs, openMs);
  if (total.kills % 50 === 0) console.log(`${total.kills} kills`);
}
