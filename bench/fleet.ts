/** Background jobs a second with several processes over one PostgreSQL server: Haft's workers, bare pg-boss, DBOS. A job does nothing. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { postgresPrograms, startPostgres, type PostgresServer } from "../test/store/postgres/server.ts";

const PROGRAM = fileURLToPath(new URL("fleet-process.ts", import.meta.url));
const JOBS = 400;
const PROCESSES = [1, 2, 4];
const KINDS = ["bare pg-boss", "DBOS", "Haft"] as const;

export async function printFleet(): Promise<void> {
  if (postgresPrograms === undefined) return console.log("fleet: left out; PostgreSQL is not installed");
  const server = await startPostgres({ fsync: "on", max_connections: 200 }, "trust");
  try {
    for (const processes of PROCESSES)
      for (const kind of KINDS) {
        const seconds = await runJobs(server, { kind, processes });
        const told = seconds === undefined ? "left out; its package is not installed" : `${Math.round(JOBS / seconds)} jobs a second`;
        console.log(`fleet, ${processes} processes, ${kind.padEnd(12)}: ${told}`);
      }
  } finally {
    await server.remove();
  }
}

interface Run {
  readonly kind: (typeof KINDS)[number];
  readonly processes: number;
}

/** From the first job that is sent to the last that has ended, in seconds. */
async function runJobs(server: PostgresServer, { kind, processes }: Run): Promise<number | undefined> {
  const { url } = server;
  await server.execute(
    "drop schema if exists haft cascade; drop schema if exists haft_jobs cascade; drop schema if exists pgboss cascade; drop schema if exists dbos cascade",
  );
  const sender = start([kind, "send", url, String(JOBS)]);
  const workers: Started[] = [];
  try {
    if ((await sender.next()) === "absent") return undefined;
    for (let index = 0; index < processes; index++) workers.push(start([kind, "work", url, "0"]));
    for (const worker of workers) await worker.next();
    const startedAt = performance.now();
    sender.child.stdin?.write("go\n");
    await sender.next(); // all have ended
    return (performance.now() - startedAt) / 1_000;
  } finally {
    for (const { child } of [sender, ...workers]) {
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    }
  }
}

interface Started {
  readonly child: ChildProcess;
  readonly next: () => Promise<string | undefined>;
}

function start(args: readonly string[]): Started {
  const child = spawn(process.execPath, ["--conditions=haft-source", PROGRAM, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    child,
    async next() {
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`A process of the benchmark ended: ${args.join(" ")}`);
      return value;
    },
  };
}
