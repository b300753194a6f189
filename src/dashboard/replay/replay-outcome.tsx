/** How a replay differs from the original, and buttons to commit or discard its branch. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, type ReactNode } from "react";
import { Link } from "wouter";
import { alignCalls, type ComparedCall } from "../diff/align-calls.ts";
import { CompareList } from "../diff/compare-list.tsx";
import { StateChanges } from "../diff/state-changes.tsx";
import { describeFailure } from "../server/describe-failure.ts";
import { InlineFailure } from "../server/inline-failure.tsx";
import { useRequestKeys } from "../server/request-keys.ts";
import { useConnection, useHasScope } from "../server/use-connection.ts";
import { ActionButton } from "../show/action-button.tsx";
import { diffPath, sessionPath } from "../show/address.ts";
import { UntrustedText } from "../show/untrusted-text.tsx";
import { Badge, Loading, Notice, Section } from "../show/basic-components.tsx";
import type { Diff, ReplayEnd } from "./run-replay.ts";
import type { Step } from "./steps.ts";
import type { ReplayRun } from "./use-replay-run.ts";
import { useSessionSteps } from "./use-session-steps.ts";

interface OutcomeProps {
  readonly sessionId: string;
  /** Number of events of the session. */
  readonly length: number;
  readonly original: readonly Step[];
  readonly run: ReplayRun;
  /** The branch of live calls that the address names. */
  readonly branchId: string | undefined;
  readonly onDone: (isCommitted: boolean) => Promise<void>;
}

export function ReplayOutcome({ run, branchId, ...props }: OutcomeProps): ReactNode {
  if (run.isRunning) return null;
  if (run.end !== undefined) return <FinishedReplay {...props} end={run.end} />;
  if (branchId !== undefined) return <StoredBranch {...props} branchId={branchId} />;
  return null;
}

function FinishedReplay({ end, ...props }: Omit<OutcomeProps, "run" | "branchId"> & { readonly end: ReplayEnd }): ReactNode {
  const { plan, made, diff, branchId } = end;
  const pairs = plan.calls.map(({ step }, index) => ({ before: step, after: made[index] }));
  return (
    <ReplayComparison {...props} branchId={branchId} diff={diff} pairs={pairs}>
      <Badge tone={plan.answerer === "live" ? "good" : "warn"}>{plan.answerer}</Badge>
      {plan.answerer !== "live" && <span className="muted">None of this is kept.</span>}
    </ReplayComparison>
  );
}

/** A branch of an earlier visit: its own calls next to those of the session. */
function StoredBranch({ branchId, ...props }: Omit<OutcomeProps, "run" | "branchId"> & { readonly branchId: string }): ReactNode {
  const { client } = useConnection();
  const { sessionId, original } = props;
  const branch = useSessionSteps(branchId);
  const diff = useQuery({
    queryKey: ["diff", branchId, sessionId],
    queryFn: ({ signal }) => client.call("getDiff", { params: { sessionId: branchId }, query: { with: sessionId }, signal }),
  });
  const pairs = useMemo(() => {
    const own: readonly ComparedCall[] = branch.data?.steps.filter((step) => step.sessionId === branchId) ?? [];
    return alignCalls(original, own);
  }, [branch.data, branchId, original]);
  const error = branch.error ?? diff.error;
  if (error !== null)
    return (
      <Notice isFailure title={describeFailure(error).isGone ? "The branch no longer exists." : "The branch could not be read."}>
        <UntrustedText text={describeFailure(error).text} maxLength={1_000} />
      </Notice>
    );
  if (branch.data === undefined || diff.data === undefined) return <Loading />;
  return (
    <ReplayComparison {...props} branchId={branchId} diff={diff.data} pairs={pairs}>
      <Badge tone="good">live</Badge>
    </ReplayComparison>
  );
}

interface ReplayComparisonProps extends Pick<OutcomeProps, "sessionId" | "length" | "onDone"> {
  readonly branchId: string | undefined;
  readonly diff: Diff;
  readonly pairs: Parameters<typeof CompareList>[0]["pairs"];
  readonly children: ReactNode;
}

function ReplayComparison({ sessionId, length, branchId, diff, pairs, children, onDone }: ReplayComparisonProps): ReactNode {
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    title.current?.focus({ preventScroll: true });
    title.current?.scrollIntoView({ block: "start" });
  }, [diff]); // each run has a diff of its own
  return (
    <div className="replay-outcome">
      <div className="replay-outcome-head">
        <h2 ref={title} tabIndex={-1}>
          Compared with the original
        </h2>
        {children}
      </div>
      {branchId !== undefined && <BranchButtons sessionId={sessionId} length={length} branchId={branchId} onDone={onDone} />}
      <CompareList pairs={pairs} sides={["Original", "Replay"]} linksAfter={branchId !== undefined} />
      <Section title="State that it changed">
        <StateChanges state={diff.state} />
      </Section>
      {diff.pretended.length > 0 && (
        <Section title="Writes that were pretended">
          <ul className="lines">
            {diff.pretended.slice(0, 200).map((key) => (
              <li key={key}>
                <code className="wrap">
                  <UntrustedText text={key} />
                </code>
              </li>
            ))}
          </ul>
        </Section>
      )}
    </div>
  );
}

function BranchButtons({
  sessionId,
  length,
  branchId,
  onDone,
}: Pick<OutcomeProps, "sessionId" | "length" | "onDone"> & { readonly branchId: string }): ReactNode {
  const { client } = useConnection();
  const may = useHasScope();
  const keys = useRequestKeys();
  const { data } = useQuery({
    queryKey: ["session", branchId],
    queryFn: ({ signal }) => client.call("getSession", { params: { sessionId: branchId }, signal }),
  });
  const hasMovedOn = data?.parent?.length !== undefined && data.parent.length < length;
  const end = useMutation({
    mutationFn: async (isCommitted: boolean) => {
      const operation = isCommitted ? "commitSession" : "discardSession";
      await keys.send(operation, (idempotencyKey) => client.call(operation, { params: { sessionId: branchId }, idempotencyKey }));
      await onDone(isCommitted);
    },
  });
  return (
    <div className="button-row">
      {may("execute") && (
        <>
          {data !== undefined && !hasMovedOn && (
            <ActionButton kind="button-main" isOff={end.isPending} onClick={() => end.mutate(true)}>
              Commit the branch
            </ActionButton>
          )}
          <ActionButton kind="button-danger" isOff={end.isPending} onClick={() => end.mutate(false)}>
            Drop the branch
          </ActionButton>
        </>
      )}
      {hasMovedOn && <span className="muted">It cannot be committed: the session has more calls than those it began with.</span>}
      {end.isPending && <span className="muted">Waits until the calls of the session are over…</span>}
      <Link href={sessionPath(branchId)}>Its timeline</Link>
      <Link href={diffPath(branchId, { with: sessionId })}>All differences</Link>
      <InlineFailure error={end.error} />
    </div>
  );
}
