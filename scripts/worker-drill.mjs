/** Kills workers while they run jobs over PostgreSQL, and prints what became of the jobs: `worker-drill.mjs [jobs] [kills] [workers] [seed]`. */
import { runWorkerDrill } from "../test/server/worker/worker-drill.ts";
import { startPostgres } from "../test/store/postgres/server.ts";

const [jobs = 300, kills = 10, workers = 3, seed = 1] = process.argv.slice(2).map(Number);
const server = await startPostgres({ fsync: "on" });
try {
  const report = await runWorkerDrill({ server, workers, jobs, kills, seed, betweenMs: 3_000, withinMs: 300_000 });
  console.log(`${report.kills} kills of ${workers} workers in ${report.seconds.toFixed(0)} s, seed ${seed}`);
  console.log(`accepted ${report.accepted}, ended ${report.ended}`);
  console.log(`not repeatable: ${report.paid} effects, ${report.twice} of them twice, ${report.unknown} calls with an unknown outcome`);
  if (report.ended < report.accepted || report.twice > 0) process.exitCode = 1;
} finally {
  await server.remove();
}
