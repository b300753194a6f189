/** Makes calls again in a branch of their session. */
import type { AnswerOf, HaftClient } from "../../client/client.ts";
import type { ComparedCall } from "../diff/align-calls.ts";
import { isSameJson } from "../diff/json-diff.ts";
import { newIdempotencyKey } from "../server/idempotency-key.ts";
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

/** Runs a plan. Calls that ran in parallel are made in parallel. @throws ApiError, as a rejection; a simulated branch is discarded even then */
export async function runReplay(client: HaftClient, plan: ReplayPlan, onProgress: (progress: ReplayProgress) => void): Promise<ReplayEnd> {
  const { sessionId, at, answerer } = plan;
  const isLive = answerer === "live";
  const branch = await client.call("forkSession", {
    params: { sessionId },
    body: { simulated: !isLive, ...(at === undefined ? {} : { at }) },
    idempotencyKey: newIdempotencyKey(),
  });
  const params = { sessionId: branch.id };
  try {
    const made: ComparedCall[] = [];
    for (const calls of groupBatches(plan)) {
      onProgress({ branchId: branch.id, done: made.length });
      const isRecorded = answerer === "recorded" && calls.every(isUnchanged);
      const { results } = await client.call("executeInSession", {
        params,
        body: {
          calls: calls.map(({ step, input }) => ({ name: step.name, input: castJson(input) })),
          background: false,
          ...(isRecorded ? { answerFrom: ["replay"], recording: sessionId } : {}),
        },
        ...(isLive ? { idempotencyKey: newIdempotencyKey() } : {}),
      });
      for (const [index, result] of results.entries())
        made.push({ callId: result.callId, sessionId: branch.id, name: result.name, input: calls[index]?.input, result });
    }
    const diff = await client.call("getDiff", { params });
    return { plan, made, diff, branchId: isLive ? branch.id : undefined };
  } finally {
    if (!isLive) await client.call("discardSession", { params }).catch(() => {}); // the first error is reported
  }
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
