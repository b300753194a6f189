/** Ends processes that run background jobs, and looks at what became of each job. */
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { SessionEvent } from "../../../src/core/event.ts";
import { sqliteStore } from "../../../src/store/sqlite-store.ts";
import { readEvents } from "../../../src/session/read-events.ts";
import { seededRandom } from "../../../src/testing/fake-ports.ts";
import { bundledProgram } from "../../bundled-program.ts";

const PROGRAM = bundledProgram("runtime/jobs/job-process");

export interface JobDrillOptions {
  /** A file for the drill alone. */
  readonly path: string;
  readonly jobs: number;
  readonly kills: number;
  readonly seed: number;
  /** `SIGTERM`: the process closes its runtime, and must end by itself. @default "SIGKILL" */
  readonly signal?: "SIGKILL" | "SIGTERM";
}

export interface JobDrillReport {
  readonly jobs: number;
  readonly kills: number;
  /** Jobs that were under way when a process was killed. */
  readonly interrupted: number;
  /** The longest that a process took to end after its signal. */
  readonly slowestEndMs: number;
  /** How many ended in each way. */
  readonly endings: Readonly<Record<string, number>>;
}

/** @throws Error that says which job was lost, ended twice, or was done twice */
export async function runJobDrill({ path, jobs, kills, seed, signal = "SIGKILL" }: JobDrillOptions): Promise<JobDrillReport> {
  const random = seededRandom(seed);
  const acknowledged = new Set<string>();
  let interrupted = 0;
  let slowestEndMs = 0;
  for (let kill = 0; kill < kills; kill++) {
    const most = Math.ceil((jobs * (kill + 1)) / kills);
    const played = await play({
      path,
      jobs: most,
      kill: { afterMs: (signal === "SIGTERM" ? 30 : 100) * random.next(), signal },
      acknowledged,
    });
    interrupted += played.taken;
    slowestEndMs = Math.max(slowestEndMs, played.endedAfterMs);
  }
  interrupted += (await play({ path, jobs, kill: undefined, acknowledged })).taken;
  if (signal === "SIGTERM" && interrupted > 0) throw new Error(`${interrupted} jobs were left open by processes that ended in order.`);
  return { ...(await look(path, acknowledged)), kills, interrupted, slowestEndMs };
}

interface Play {
  readonly path: string;
  readonly jobs: number;
  /** Counted from when it has taken up what was left; undefined = never. */
  readonly kill: { readonly afterMs: number; readonly signal: "SIGKILL" | "SIGTERM" } | undefined;
  readonly acknowledged: Set<string>;
}

/** One life of a process. Returns how many jobs it took up, and how long it went on after its signal. */
async function play({ path, jobs, kill, acknowledged }: Play): Promise<{ readonly taken: number; readonly endedAfterMs: number }> {
  const last = kill === undefined ? "end" : "";
  const child = spawn(process.execPath, [PROGRAM, path, String(jobs), last], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
  let taken = 0;
  let killedAt = Infinity;
  for await (const line of createInterface({ input: child.stdout })) {
    const said: unknown = JSON.parse(line);
    if (typeof said === "string") acknowledged.add(said);
    else {
      taken = (said as { readonly taken: number }).taken; // the first thing it says
      if (kill !== undefined)
        setTimeout(() => {
          killedAt = performance.now();
          child.kill(kill.signal);
        }, kill.afterMs);
    }
  }
  const code = await ended;
  if (kill?.signal !== "SIGKILL" && code !== 0) throw new Error(`A process ended with ${String(code)}.`);
  return { taken, endedAfterMs: Math.max(0, performance.now() - killedAt) };
}

async function look(path: string, acknowledged: ReadonlySet<string>): Promise<Pick<JobDrillReport, "jobs" | "endings">> {
  const store = sqliteStore({ path });
  const open = new Map<string, string>();
  const endings: Record<string, number> = {};
  const ended = new Map<string, string>();
  let jobs = 0;
  let before: SessionEvent | undefined;
  for await (const event of readEvents(await store.claim("drill"))) {
    if (event.type === "job-start") {
      if (open.has(event.callId)) throw new Error(`${event.callId} began twice.`);
      open.set(event.callId, event.toolName);
      jobs++;
    } else if (event.type === "call-end") {
      if (ended.has(event.callId)) throw new Error(`${event.callId} ended twice.`);
      const { status, error } = event.result;
      ended.set(event.callId, `${event.result.name.replace("default::", "")} ${error?.code ?? status}`);
    } else if (event.type === "job-end") {
      if (!open.delete(event.callId)) throw new Error(`${event.callId} ended, and was no job.`);
      if (before?.type !== "call-end" || before.callId !== event.callId) throw new Error(`${event.callId} ended, and its call did not.`);
      const ending = ended.get(event.callId) ?? "";
      endings[ending] = (endings[ending] ?? 0) + 1;
    }
    before = event;
  }
  await store.close();
  const [lost] = open.keys();
  if (lost !== undefined) throw new Error(`${lost} never ended.`);
  for (const callId of acknowledged) if (!ended.has(callId)) throw new Error(`${callId} was acknowledged, and is not there.`);
  checkPaid(path, ended);
  return { jobs, endings };
}

/** Nothing is paid twice, and what is said to be paid was. */
function checkPaid(path: string, ended: ReadonlyMap<string, string>): void {
  const paid = existsSync(`${path}.paid`) ? readFileSync(`${path}.paid`, "utf8").trim().split("\n") : [];
  const once = new Set(paid);
  if (once.size < paid.length) throw new Error(`Of ${paid.length} payments, ${paid.length - once.size} were made twice.`);
  for (const [callId, ending] of ended) if (ending === "pay ok" && !once.has(callId)) throw new Error(`${callId} was never paid.`);
}
