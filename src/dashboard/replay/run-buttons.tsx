/** Buttons to run calls: simulated first, then live if the same calls were simulated. */
import { useEffect, useState, type ReactNode } from "react";
import { Link } from "wouter";
import { InlineFailure } from "../server/inline-failure.tsx";
import { ActionButton } from "../show/action-button.tsx";
import { sessionPath } from "../show/address.ts";
import { formatCount } from "../show/format.ts";
import { planKeyOf, type Answerer } from "./run-replay.ts";
import type { ReplayRun } from "./use-replay-run.ts";

interface RunButtonsProps {
  readonly run: ReplayRun;
  readonly answerer: Exclude<Answerer, "live">;
  readonly isBlocked: boolean;
  /** The key of the plan; differs for other calls. */
  readonly planKey: string;
  readonly onStart: (answerer: Answerer) => void;
}

export function RunButtons({ run, answerer, isBlocked, planKey, onStart }: RunButtonsProps): ReactNode {
  const [triedKey, setTriedKey] = useState<string>();
  const { end, isRunning, progress, plan, error } = run;
  useEffect(() => {
    if (end !== undefined) setTriedKey(planKeyOf(end.plan));
  }, [end]);
  const isTried = triedKey === planKey;
  return (
    <div className="replay-run">
      <div className="button-row">
        <ActionButton kind="button-main" isOff={isBlocked || isRunning} onClick={() => onStart(answerer)}>
          {answerer === "recorded" ? "Replay recorded" : "Run simulated"}
        </ActionButton>
        <ActionButton kind="button-danger" isOff={isBlocked || isRunning || !isTried} onClick={() => onStart("live")}>
          Run for real
        </ActionButton>
        {!isTried && !isRunning && <span className="muted">Real calls are possible after a simulated run of the same calls.</span>}
        {isRunning && (
          <span className="muted" role="status">
            {plan === undefined ? "Running…" : `${formatCount(progress?.done ?? 0)} of ${formatCount(plan.calls.length)} calls were made…`}{" "}
            {plan?.answerer === "live" && progress !== undefined && (
              <>
                <Link href={sessionPath(progress.branchId)}>Watch the branch</Link> · <Link href="/approvals">Approvals</Link>
              </>
            )}
          </span>
        )}
      </div>
      <InlineFailure error={error} />
    </div>
  );
}
