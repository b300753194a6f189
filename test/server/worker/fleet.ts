/** Workers as processes over one PostgreSQL server, and what became of their jobs. */
import { once } from "node:events";
import { postgresStore } from "../../../src/store/postgres-store.ts";
import type { StoredJob } from "../../../src/core/store/job-store.ts";
import type { Store } from "../../../src/core/store/store.ts";
import { bundledProgram } from "../../bundled-program.ts";
import { readOutput, startProgram, type StoreProcess } from "../../store/run-process.ts";
import type { PostgresServer } from "../../store/postgres/server.ts";

const PROGRAM = bundledProgram("server/worker/worker-process");

export class Fleet {
  readonly #server: PostgresServer;
  readonly store: Store;

  constructor(server: PostgresServer) {
    this.#server = server;
    this.store = postgresStore({ url: server.url, leaseMs: 1_500 });
  }

  /** Forgets the sessions, jobs and effects of the test before. */
  static async on(server: PostgresServer): Promise<Fleet> {
    await server.execute("drop schema if exists haft cascade; drop schema if exists haft_jobs cascade; drop table if exists effects");
    await server.execute("create table effects (tool text, key text, pid int, at timestamptz default clock_timestamp())");
    const fleet = new Fleet(server);
    await fleet.store.open();
    await fleet.store.queue?.open();
    return fleet;
  }

  /** One that takes sessions, and has begun to. */
  async worker(graceMs: number = 0): Promise<StoreProcess> {
    const one = startProgram(PROGRAM, ["work", this.#server.url, String(graceMs)]);
    if ((await readOutput(one)) === undefined) throw new Error("A worker ended before it worked.");
    return one;
  }

  /** One that runs the agent "clerk" where no other does, and has begun to try. */
  async agent(): Promise<StoreProcess> {
    const one = startProgram(PROGRAM, ["agent", this.#server.url]);
    await readOutput(one);
    return one;
  }

  /** Has a process leave so many jobs to workers. Resolves to their sessions and ids. */
  async submit(count: number, tool: string, prefix: string = "s"): Promise<readonly Accepted[]> {
    const one = startProgram(PROGRAM, ["submit", this.#server.url, String(count), tool, prefix]);
    const accepted = await acceptedBy(one, count);
    await one.ended;
    return accepted;
  }

  /** A process that has begun so many jobs, and runs them. */
  async runner(
    count: number,
    tool: string,
    prefix: string = "r",
  ): Promise<{ readonly one: StoreProcess; readonly accepted: readonly Accepted[] }> {
    const one = startProgram(PROGRAM, ["run", this.#server.url, String(count), tool, prefix]);
    return { one, accepted: await acceptedBy(one, count) };
  }

  /** Resolves when so many jobs have ended, or rejects after that time. */
  async ended(count: number, withinMs: number): Promise<readonly StoredJob[]> {
    for (const until = Date.now() + withinMs; ;) {
      const jobs = await this.store.jobs.list({ limit: 100_000 });
      if (jobs.filter(({ endedAt }) => endedAt !== undefined).length >= count) return jobs;
      if (Date.now() > until)
        throw new Error(
          `Of ${count} jobs these have not ended: ${JSON.stringify(jobs.filter((job) => job.endedAt === undefined).slice(0, 5))}`,
        );
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** How many effects a tool had, how many of its calls had more than one, and by which processes. */
  async effects(tool: string): Promise<{ readonly all: number; readonly twice: number; readonly pids: readonly number[] }> {
    const rows = await this.#server.execute(`select key, pid from effects where tool = '${tool}' order by at`);
    const keys = Map.groupBy(rows, ({ key }) => key);
    const twice = [...keys.values()].filter(({ length }) => length > 1).length;
    return { all: rows.length, twice, pids: rows.map(({ pid }) => Number(pid)) };
  }

  close(): Promise<void> {
    return this.store.close();
  }
}

export interface Accepted {
  readonly sessionId: string;
  readonly jobId: string;
}

async function acceptedBy(one: StoreProcess, count: number): Promise<readonly Accepted[]> {
  const accepted: Accepted[] = [];
  for (let index = 0; index < count; index++) {
    const said = await readOutput(one);
    if (said === undefined) throw new Error(`The process ended after ${index} of ${count} jobs.`);
    accepted.push(said as Accepted); // as the program prints them
  }
  return accepted;
}

export async function kill({ child }: StoreProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

/** Lets a worker stop as it does itself, and resolves to its counts. */
export async function stop(one: StoreProcess): Promise<unknown> {
  one.child.stdin.write("stop\n");
  const counts = await readOutput(one);
  one.child.stdin.end();
  await one.ended;
  return counts;
}
