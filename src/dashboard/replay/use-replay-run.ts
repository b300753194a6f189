/** A replay that is running, and how the last one ended. */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useConnection } from "../server/use-connection.ts";
import { runReplay, type ReplayEnd, type ReplayPlan, type ReplayProgress } from "./run-replay.ts";

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
  const [progress, setProgress] = useState<ReplayProgress>();
  const { mutate, reset, isPending, variables, data, error } = useMutation({
    mutationFn: async (plan: ReplayPlan) => {
      let branchId = "";
      setProgress(undefined);
      try {
        return await runReplay(client, plan, (now) => {
          if (plan.answerer === "live") ({ branchId } = now);
          setProgress(now);
        });
      } finally {
        onBranch(branchId);
      }
    },
  });
  return { start: mutate, clear: reset, isRunning: isPending, progress, plan: variables, end: data, error };
}
