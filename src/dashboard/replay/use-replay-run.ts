/** A replay that is running, and how the last one ended. */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { newIdempotencyKey, useRequestKeys } from "../server/request-keys.ts";
import { useConnection } from "../server/use-connection.ts";
import { planKeyOf, runReplay, type ReplayEnd, type ReplayPlan, type ReplayProgress } from "./run-replay.ts";

export interface ReplayRun {
  readonly start: (plan: ReplayPlan) => void;
  readonly clear: () => void;
  readonly isRunning: boolean;
  readonly progress: ReplayProgress | undefined;
  readonly plan: ReplayPlan | undefined;
  readonly end: ReplayEnd | undefined;
  readonly error: Error | null;
}

/** Runs replays. @param onBranch called with the branch of live calls, even if they fail; "" = there is none */
export function useReplayRun(onBranch: (branchId: string) => void): ReplayRun {
  const { client } = useConnection();
  const keys = useRequestKeys();
  const [progress, setProgress] = useState<ReplayProgress>();
  const { mutate, reset, isPending, variables, data, error } = useMutation({
    mutationFn: async (plan: ReplayPlan) => {
      let branchId = "";
      setProgress(undefined);
      try {
        const onProgress = (now: ReplayProgress): void => {
          if (plan.answerer === "live") ({ branchId } = now);
          setProgress(now);
        };
        const run = (key: string): Promise<ReplayEnd> => runReplay(plan, { client, key, onProgress });
        // A simulated run begins again, as its branch was discarded.
        return await (plan.answerer === "live" ? keys.send(planKeyOf(plan), run) : run(newIdempotencyKey()));
      } finally {
        onBranch(branchId);
      }
    },
  });
  const clear = (): void => {
    keys.clear();
    reset();
  };
  return { start: mutate, clear, isRunning: isPending, progress, plan: variables, end: data, error };
}
