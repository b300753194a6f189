/** Several processes over one PostgreSQL server: background jobs a second beside bare pg-boss and DBOS, durable calls a second, and their cost. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { postgresPrograms, startPostgres, type PostgresServer } from "../test/store/postgres/server.ts";

const PROGRAM = fileURLToPath(new URL("fleet-process.ts", import.meta.url));
const JOBS = 400;
const FEW_SESSIONS = 8;
/** Of each process. */
const CALLS = 2_000;
const PROCESSES = [1, 2, 4];
const SCHEMAS = ["haft", "haft_jobs", "pgboss", "dbos"];

type Kind = "bare pg-boss" | "DBOS" | "Haft";

/** Jobs of a kind. `sessions` of Haft: in how many of them they are; of the others a job has none. */
const JOB_ROWS: readonly { readonly kind: Kind; readonly sessions: number; readonly title: string }[] = [
  { kind: "bare pg-boss", sessions: JOBS, title: "bare pg-boss" },
  { kind: "DBOS", sessions: JOBS, title: "DBOS" },
  { kind: "Haft", sessions: JOBS, title: "Haft, a session for each job" },
  { kind: "Haft", sessions: FEW_SESSIONS, title: `Haft, ${FEW_SESSIONS} sessions` },
];

export async function printFleet(): Promise<void> {
  if (postgresPrograms === undefined) return console.log("fleet: left out; PostgreSQL is not installed");
  const counts = existsSync(join(postgresPrograms, "../lib/pg_stat_statements.so"));
  const counting = counts ? { shared_preload_libraries: "pg_stat_statements" } : {};
  const server = await startPostgres({ fsync: "on", max_connections: 200, ...counting }, "trust");
  try {
    if (counts) await server.execute("create extension pg_stat_statements");
    console.log(`\n${JOBS} background jobs that do nothing, from the first that is sent to the last that has ended`);
    for (const processes of PROCESSES)
      for (const row of JOB_ROWS) {
        const seconds = await runJobs(server, { ...row, processes });
        const told = seconds === undefined ? "left out; its package is not installed" : `${Math.round(JOBS / seconds)} jobs/s`;
        console.log(`  ${counted(processes)}, ${row.title.padEnd(28)}: ${told}`);
      }
    console.log(`\nDurable calls, 64 sessions at a time in each process, ${CALLS} calls each`);
    for (const processes of PROCESSES)
      for (const kind of ["DBOS", "Haft"] as const)
        console.log(`  ${counted(processes)}, ${await runCalls(server, { kind, processes, counts })}`);
  } finally {
    await server.remove();
  }
}

function counted(processes: number): string {
  return `${processes} ${processes === 1 ? "process  " : "processes"}`;
}

interface JobsRun {
  readonly kind: Kind;
  readonly sessions: number;
  readonly processes: number;
}

/** In seconds. */
async function runJobs(server: PostgresServer, { kind, sessions, processes }: JobsRun): Promise<number | undefined> {
  return inEmpty(server, async (start) => {
    const sender = start([kind, "send", server.url, String(JOBS), String(sessions)]);
    if ((await sender.next()) === "absent") return undefined;
    const workers = Array.from({ length: processes }, () => start([kind, "work", server.url]));
    for (const worker of workers) await worker.next();
    const startedAt = performance.now();
    sender.go();
    await sender.next(); // all have ended
    return (performance.now() - startedAt) / 1_000;
  });
}

interface CallsRun {
  readonly kind: Kind;
  readonly processes: number;
  /** Whether the server counts statements. */
  readonly counts: boolean;
}

async function runCalls(server: PostgresServer, { kind, processes, counts }: CallsRun): Promise<string> {
  return inEmpty(server, async (start) => {
    const callers: Started[] = [];
    for (let index = 0; index < processes; index++) {
      const caller = start([kind, "call", server.url, String(CALLS)]);
      if ((await caller.next()) === "absent") return `${kind}: left out; its package is not installed`;
      callers.push(caller); // one after the other: DBOS cannot make its tables in two processes at once
    }
    const before = await costs(server, counts);
    const startedAt = performance.now();
    for (const caller of callers) caller.go();
    const latencies: number[] = [];
    for (const caller of callers) latencies.push(...(JSON.parse((await caller.next()) ?? "[]") as number[]));
    const seconds = (performance.now() - startedAt) / 1_000;
    const after = await costs(server, counts);
    const each = (name: keyof Costs): string => ((after[name] - before[name]) / latencies.length).toFixed(name === "bytes" ? 0 : 2);
    const sorted = latencies.toSorted((one, other) => one - other);
    const at = (share: number): string => (sorted[Math.floor(share * sorted.length)] ?? Number.NaN).toFixed(0);
    const statements = counts ? `${each("statements")} statements and ` : "";
    return `${kind.padEnd(4)}: ${Math.round(latencies.length / seconds)} calls/s; p50 ${at(0.5)} ms, p99 ${at(0.99)} ms; a call costs ${statements}${each("bytes")} bytes of WAL`;
  });
}

interface Costs {
  readonly statements: number;
  readonly bytes: number;
}

async function costs(server: PostgresServer, counts: boolean): Promise<Costs> {
  const statements = counts ? "(select sum(calls) from pg_stat_statements)" : "0";
  const [row] = await server.execute(`select ${statements} as statements, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as bytes`);
  return { statements: Number(row?.["statements"]), bytes: Number(row?.["bytes"]) };
}

/** Runs with tables of its own, and ends all processes that were started. */
async function inEmpty<Result>(
  server: PostgresServer,
  run: (start: (args: readonly string[]) => Started) => Promise<Result>,
): Promise<Result> {
  await server.execute(SCHEMAS.map((schema) => `drop schema if exists ${schema} cascade`).join("; "));
  const started: Started[] = [];
  try {
    return await run((args) => {
      const one = start(args);
      started.push(one);
      return one;
    });
  } finally {
    for (const { child } of started) {
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    }
  }
}

interface Started {
  readonly child: ChildProcess;
  readonly next: () => Promise<string | undefined>;
  readonly go: () => void;
}

function start(args: readonly string[]): Started {
  const child = spawn(process.execPath, ["--conditions=haft-source", "--disable-warning=DeprecationWarning", PROGRAM, ...args], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    child,
    async next() {
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`A process of the benchmark ended: ${args.join(" ")}`);
      return value;
    },
    go: () => void child.stdin.write("go\n"),
  };
}
