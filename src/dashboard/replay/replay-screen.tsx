/** Fork and replay: makes calls of a session again in a branch, with other arguments or other answers, and compares them. */
import { useQueryClient, useMutation } from "@tanstack/react-query";
import { useMemo, useState, type ReactNode } from "react";
import { Link } from "wouter";
import { describeFailure } from "../server/describe-failure.ts";
import { ReadState } from "../server/read-failure.tsx";
import { useHasScope, useConnection } from "../server/use-connection.ts";
import { ActionButton } from "../show/action-button.tsx";
import { replayPath, sessionPath, useQueryValue, useGo } from "../show/address.ts";
import { UntrustedText } from "../show/untrusted-text.tsx";
import { showHiddenCharacters } from "../show/text-pieces.ts";
import { Icon, Notice } from "../show/basic-components.tsx";
import { useTitle } from "../show/use-title.ts";
import { InlineFailure } from "../server/inline-failure.tsx";
import { useRequestKeys } from "../server/request-keys.ts";
import { ReplayChoices, type Choices } from "./replay-choices.tsx";
import { ReplayOutcome } from "./replay-outcome.tsx";
import { planKeyOf, type Answerer, type PlannedCall, type ReplayPlan } from "./run-replay.ts";
import { RunButtons } from "./run-buttons.tsx";
import { StepList } from "./step-list.tsx";
import type { Step } from "./steps.ts";
import { useReplayRun } from "./use-replay-run.ts";
import { useSessionSteps, type SessionSteps } from "./use-session-steps.ts";

export function ReplayScreen({ sessionId }: { readonly sessionId: string }): ReactNode {
  const { data, error } = useSessionSteps(sessionId);
  useTitle(`Replay ${showHiddenCharacters(sessionId, 60)} · Haft`);
  return (
    <>
      <header className="screen-head">
        <Link href={sessionPath(sessionId)} className="button button-icon" aria-label="The session">
          <Icon name="back" />
        </Link>
        <h1>
          Fork and replay <UntrustedText text={sessionId} maxLength={60} />
        </h1>
      </header>
      <ReadState
        title={describeFailure(error).isGone ? "There is no such session." : "The session could not be read."}
        error={error}
        data={data}
      >
        <Link href="/sessions">All sessions</Link>
      </ReadState>
      {data !== undefined && <ReplayContent sessionId={sessionId} session={data} />}
    </>
  );
}

function ReplayContent({ sessionId, session }: { readonly sessionId: string; readonly session: SessionSteps }): ReactNode {
  const may = useHasScope();
  const [callId, setCallId] = useQueryValue("call");
  const first = session.steps.findIndex((step) => step.callId === callId);
  if (session.steps.length === 0)
    return (
      <Notice title="No calls yet.">There are no calls to make again. {may("execute") && <ForkButton sessionId={sessionId} />}</Notice>
    );
  const choose = <FirstCallSelect steps={session.steps} callId={callId} onChoose={setCallId} />;
  if (callId === "")
    return (
      <div className="replay">
        {choose}
        <p className="muted">Choose the call to begin at. {may("execute") && <ForkButton sessionId={sessionId} />}</p>
      </div>
    );
  if (first < 0)
    return (
      <div className="replay">
        {choose}
        <Notice isFailure title="This call of the session cannot be made again.">
          It was made by another call, was voided, or does not exist.
        </Notice>
      </div>
    );
  return (
    <div className="replay">
      {choose}
      <ReplayPlanner key={callId} sessionId={sessionId} session={session} first={first} />
    </div>
  );
}

/** A choice of the point of the session, by the call that is made first. */
function FirstCallSelect({
  steps,
  callId,
  onChoose,
}: {
  readonly steps: readonly Step[];
  readonly callId: string;
  readonly onChoose: (id: string) => void;
}): ReactNode {
  return (
    <label className="field">
      <span className="field-name">Begin at</span>
      <select value={callId} onChange={({ target }) => onChoose(target.value)}>
        {!steps.some((step) => step.callId === callId) && <option value={callId}>–</option>}
        {steps.map((step, index) => (
          <option key={step.callId} value={step.callId}>
            {`${index + 1}. ${showHiddenCharacters(step.name, 60)} ${showHiddenCharacters(JSON.stringify(step.input) ?? "", 60)}`}
          </option>
        ))}
      </select>
    </label>
  );
}

interface ReplayPlannerProps {
  readonly sessionId: string;
  readonly session: SessionSteps;
  readonly first: number;
}

function ReplayPlanner({ sessionId, session: { steps, length }, first }: ReplayPlannerProps): ReactNode {
  const go = useGo();
  const queries = useQueryClient();
  const may = useHasScope();
  const [choices, setChoices] = useChoices();
  const [branchId, setBranchId] = useQueryValue("branch");
  const [edits, setEdits] = useState<ReadonlyMap<string, unknown>>(new Map());
  const [skipped, setLeft] = useState<ReadonlySet<string>>(new Set());
  const [isUnreadable, setUnreadable] = useState(false);
  const planned = useMemo(() => {
    const to = choices.through === "one" ? first + 1 : steps.length;
    return steps
      .slice(first, to)
      .map((step): PlannedCall => ({ step, input: edits.has(step.callId) ? edits.get(step.callId) : step.input }));
  }, [steps, first, choices.through, edits]);
  const calls = planned.filter(({ step }) => !skipped.has(step.callId));
  const at = choices.from === "now" ? undefined : steps[first]?.at;
  const run = useReplayRun(setBranchId);
  const start = (answerer: Answerer): void => run.start({ sessionId, at, calls, answerer } satisfies ReplayPlan);
  return (
    <>
      <ReplayChoices choices={choices} onChange={setChoices} after={steps.length - first - 1} />
      <StepList
        planned={planned}
        skipped={skipped}
        onSkip={setLeft}
        mayEdit={may("execute")}
        onEdit={(callId, input) => setEdits((last) => new Map(last).set(callId, input))}
        onUnreadable={setUnreadable}
      />
      {may("execute") ? (
        <RunButtons
          run={run}
          answerer={choices.answerer}
          isBlocked={isUnreadable || calls.length === 0}
          planKey={planKeyOf({ sessionId, at, calls })}
          onStart={start}
        />
      ) : (
        <p className="muted">You may see these calls, but not make them again.</p>
      )}
      <ReplayOutcome
        sessionId={sessionId}
        length={length}
        original={calls.map(({ step }) => step)}
        run={run}
        branchId={branchId === "" ? undefined : branchId}
        onDone={async (isCommitted) => {
          run.clear();
          await queries.invalidateQueries({ queryKey: ["steps", sessionId] });
          go(isCommitted ? sessionPath(sessionId) : replayPath(sessionId, steps[first]?.callId));
        }}
      />
    </>
  );
}

function useChoices(): readonly [Choices, (choices: Choices) => void] {
  const [from, setFrom] = useQueryValue("from");
  const [through, setThrough] = useQueryValue("through");
  const [answerer, setAnswerer] = useQueryValue("answers");
  const choices: Choices = {
    from: from === "now" ? "now" : "point",
    through: through === "rest" ? "rest" : "one",
    answerer: answerer === "recorded" ? "recorded" : "simulated",
  };
  return [
    choices,
    (next) => {
      if (next.from !== choices.from) setFrom(next.from === "now" ? "now" : "");
      if (next.through !== choices.through) setThrough(next.through === "rest" ? "rest" : "");
      if (next.answerer !== choices.answerer) setAnswerer(next.answerer === "recorded" ? "recorded" : "");
    },
  ];
}

/** A button that forks the session as it is now, and opens the branch. */
function ForkButton({ sessionId }: { readonly sessionId: string }): ReactNode {
  const { client } = useConnection();
  const go = useGo();
  const keys = useRequestKeys();
  const { mutate, isPending, error } = useMutation({
    mutationFn: () =>
      keys.send(sessionId, (idempotencyKey) => client.call("forkSession", { params: { sessionId }, body: {}, idempotencyKey })),
    onSuccess: ({ id }) => go(sessionPath(id)),
  });
  return (
    <>
      <ActionButton isOff={isPending} onClick={() => mutate()}>
        Fork the session as it is now
      </ActionButton>
      <InlineFailure error={error} />
    </>
  );
}
