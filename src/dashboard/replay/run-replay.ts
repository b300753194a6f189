/** Makes calls again in a branch of their session. */
import type { AnswerOf, HaftClient } from "../../client/client.ts";
import type { ComparedCall } from "../diff/align-calls.ts";
import { isSameJson } from "../diff/json-diff.ts";
import { formatPlural } from "../show/format.ts";
import type { Step } from "./steps.ts";

/** A step, and the input that it is made with. */
export interface PlannedCall {
  readonly step: Step;
  readonly input: unknown;
}

/** Where the answers come from. Calls have effects only if it is `live`. */
export type Answerer = "simulated" | "recorded" | "live";

export interface ReplayPlan {
  readonly sessionId: string;
  /** Number of events that the branch begins with; undefined = all. */
  readonly at: number | undefined;
  readonly calls: readonly PlannedCall[];
  readonly answerer: Answerer;
}

export type Diff = AnswerOf<"getDiff">;

export interface ReplayEnd {
  readonly plan: ReplayPlan;
  /** The calls that were made, one for each call of the plan. */
  readonly made: readonly ComparedCall[];
  readonly diff: Diff;
  /** The branch of live calls, which is kept. */
  readonly branchId: string | undefined;
}

export interface ReplayProgress {
  readonly branchId: string;
  readonly done: number;
}

export interface ReplayOptions {
  readonly client: HaftClient;
  /** The idempotency key of the run. A live run with the key of one that failed continues it: no call is made twice. */
  readonly key: string;
  readonly onProgress: (progress: ReplayProgress) => void;
}

/** The error of a live run that has made some of its calls. It is no answer to the whole run, whatever the server answered to the last request. */
class PartlyMadeError extends Error {
  constructor(made: number, cause: unknown) {
    super(`${formatPlural(made, "call")} had been made. ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

/**
 * Runs a plan. Calls that ran in parallel are made in parallel.
 *
 * @throws ApiError; PartlyMadeError if live calls were made before; as a rejection. A simulated branch is discarded even then
 */
export async function runReplay(plan: ReplayPlan, { client, key, onProgress }: ReplayOptions): Promise<ReplayEnd> {
  const { sessionId, at, answerer } = plan;
  const isLive = answerer === "live";
  const branch = await client.call("forkSession", {
    params: { sessionId },
    body: { simulated: !isLive, ...(at === undefined ? {} : { at }) },
    idempotencyKey: key,
  });
  const params = { sessionId: branch.id };
  const made: ComparedCall[] = [];
  try {
    for (const [index, calls] of groupBatches(plan).entries()) {
      onProgress({ branchId: branch.id, done: made.length });
      const isRecorded = answerer === "recorded" && calls.every(isUnchanged);
      const { results } = await client.call("executeInSession", {
        params,
        body: {
          calls: calls.map(({ step, input }) => ({ name: step.name, input: castJson(input) })),
          background: false,
          ...(isRecorded ? { answerFrom: ["replay"], recording: sessionId } : {}),
        },
        ...(isLive ? { idempotencyKey: `${key}-${index}` } : {}),
      });
      for (const [place, result] of results.entries())
        made.push({ callId: result.callId, sessionId: branch.id, name: result.name, input: calls[place]?.input, result });
    }
    const diff = await client.call("getDiff", { params });
    return { plan, made, diff, branchId: isLive ? branch.id : undefined };
  } catch (thrown: unknown) {
    throw isLive && made.length > 0 ? new PartlyMadeError(made.length, thrown) : thrown;
  } finally {
    if (!isLive) await client.call("discardSession", { params }).catch(() => {}); // the first error is reported
  }
}

/** Returns a key for a plan, the same for the same calls from the same point, so that only simulated plans can run live. */
export function planKeyOf({ sessionId, at, calls }: Pick<ReplayPlan, "sessionId" | "at" | "calls">): string {
  return JSON.stringify([sessionId, at, calls.map(({ step, input }) => [step.callId, input])]);
}

export function isUnchanged({ step, input }: PlannedCall): boolean {
  return isSameJson(step.input, input);
}

/** Returns the calls of each group together. If the recording answers, edited calls are separate, as they are simulated. */
function groupBatches({ calls, answerer }: ReplayPlan): readonly (readonly PlannedCall[])[] {
  const batches: PlannedCall[][] = [];
  let last = "";
  for (const call of calls) {
    const key = `${call.step.group} ${answerer === "recorded" && isUnchanged(call)}`;
    if (key === last) batches.at(-1)?.push(call);
    else batches.push([call]);
    last = key;
  }
  return batches;
}

/** Casts an input of a form, which is always JSON. */
function castJson(input: unknown): null {
  return (input ?? null) as null;
}
