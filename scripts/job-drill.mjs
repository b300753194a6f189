/**
 * Ends a process in the middle of its background jobs so many times, and checks that each job ends once:
 * `job-drill.mjs [kills] [jobs] [seed] [SIGKILL|SIGTERM]`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runJobDrill } from "../test/runtime/jobs/job-drill.ts";

const [kills = 50, jobs = 1000, seed = 1] = process.argv.slice(2, 5).map(Number);
const signal = process.argv[5] === "SIGTERM" ? "SIGTERM" : "SIGKILL";
const folder = mkdtempSync(join(tmpdir(), "haft-jobs-"));
try {
  const report = await runJobDrill({ path: join(folder, "sessions.db"), jobs, kills, seed, signal });
  console.log(`${report.jobs} jobs, ${report.kills} times ${signal} with seed ${seed}, ${report.interrupted} interrupted: each ended once`);
  if (signal === "SIGTERM") console.log(`the slowest process ended after ${Math.round(report.slowestEndMs)} ms`);
  for (const [ending, count] of Object.entries(report.endings)) console.log(`${String(count).padStart(6)} ${ending}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
