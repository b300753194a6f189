/** What is asked of background jobs: begun, promoted, talked to, waited for and ended, in any order. */
import type { ToolCall } from "../../src/core/call.ts";
import type { JobState, JobStatus } from "../../src/core/jobs/job-status.ts";
import { isToolError } from "../../src/core/error.ts";
import { Broken } from "./broken.ts";
import type { SimulatedProcess } from "./process.ts";
import type { World } from "./world.ts";

export const JOB_WEIGHTS = { "execute in background": 6, talk: 4, poison: 1, promote: 6, "steer a job": 12, "wait for a job": 6 } as const;

const RUNNING: readonly JobState[] = ["queued", "running", "waiting"];

export function runningJobs({ runtime }: SimulatedProcess): readonly JobStatus[] {
  return runtime.jobs.list({ states: RUNNING });
}

/** Ends what may run for ever, as an operator would. */
export function cancelJobs(process: SimulatedProcess): void {
  for (const { id } of runningJobs(process)) process.runtime.jobs.cancel(id, "it took too long");
}

export function promoteOne(world: World, { runtime }: SimulatedProcess): void {
  const { running, jobs } = runtime;
  if (running.length === 0) return;
  const { callId } = world.dice.of(running);
  const wasJob = jobs.get(callId) !== undefined;
  const isPromoted = jobs.promote(callId);
  if (wasJob && isPromoted) throw new Broken(17, `${callId} was promoted, and is a job.`);
  if (isPromoted && jobs.promote(callId)) throw new Broken(17, `${callId} was promoted twice.`);
  if (isPromoted) world.seen("call promoted");
}

/** Sends it something, reads it or cancels it; one that has ended refuses to be sent anything. */
export function steerOne(world: World, { runtime }: SimulatedProcess): void {
  const { jobs } = runtime;
  const all = jobs.list();
  if (all.length === 0) return;
  const { id, endedAt } = world.dice.of(all);
  const deed = world.dice.of(["send", "send", "read", "cancel"] as const);
  if (deed === "read") jobs.read(id, { tail: 10 });
  else if (deed === "cancel" && jobs.cancel(id) !== (endedAt === undefined)) throw new Broken(17, `${id} was cancelled after its end.`);
  if (deed !== "send") return;
  try {
    jobs.send(id, "an answer");
    if (endedAt !== undefined) throw new Broken(17, `${id} was sent something after its end.`);
    world.seen("job answered");
  } catch (thrown: unknown) {
    if (!isToolError(thrown)) throw thrown;
  }
}

export function waitForOne(world: World, process: SimulatedProcess): void {
  const { jobs } = process.runtime;
  const all = jobs.list();
  if (all.length === 0) return;
  const { id } = world.dice.of(all);
  const timeoutMs = world.dice.of([0, 10, 100]);
  world.expect(process, "wait for a job", jobs.wait(id, { timeoutMs, untilAsked: world.dice.chance(0.5) }), (job) => {
    if (job.id !== id) throw new Broken(7, `${id} was waited for, and ${job.id} came.`);
    const session = process.sessions.get(job.sessionId);
    if (!("result" in job) || session === undefined) return;
    world.invariants.acknowledged(session, job.result);
    world.seen("end of a job waited for");
  });
}

/** A call of the tool that is talked to. */
export function talkCall(call: ToolCall): ToolCall {
  return { ...call, name: "parts::talk" };
}
