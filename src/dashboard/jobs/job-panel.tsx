/** One job: its state, the end of its output, its question, its result. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { Link } from "wouter";
import { ResultSection } from "../call/result-section.tsx";
import { describeFailure } from "../server/describe-failure.ts";
import { InlineFailure } from "../server/inline-failure.tsx";
import { CancelAction } from "../server/cancel-action.tsx";
import { useRequestKeys } from "../server/request-keys.ts";
import { ReadFailure } from "../server/read-failure.tsx";
import { useConnection, useHasScope } from "../server/use-connection.ts";
import { ActionButton } from "../show/action-button.tsx";
import { sessionPath, useGo } from "../show/address.ts";
import { UntrustedText, TextBlock, ToolName } from "../show/untrusted-text.tsx";
import { Panel } from "../show/panel.tsx";
import { Fact, Loading, Section } from "../show/basic-components.tsx";
import { formatCount, formatFullTime } from "../show/format.ts";
import { JobState, isWaitingForApproval, type Job } from "./job-state.tsx";
import { RetryJob } from "./retry-job.tsx";

const EVERY_MS = 1_500;
const TAIL = 8_000;

export function JobPanel({ jobId }: { readonly jobId: string }): ReactNode {
  const { client } = useConnection();
  const go = useGo();
  const { data, error } = useQuery({
    queryKey: ["job", jobId],
    queryFn: ({ signal }) => client.call("getJob", { params: { jobId }, signal }),
    refetchInterval: ({ state }) => (state.data !== undefined && hasEnded(state.data) ? false : EVERY_MS),
  });
  const close = (): void => go("/jobs", { keepQuery: true });
  return (
    <Panel label="Job" subject="job" title={data === undefined ? "Job" : <ToolName name={data.toolName} />} onClose={close}>
      {data === undefined && error === null && <Loading />}
      <ReadFailure
        title={describeFailure(error).isGone ? "There is no such job." : "The job could not be read."}
        error={error}
        data={data}
      />
      {data !== undefined && <JobDetails job={data} />}
    </Panel>
  );
}

const FAILED_STATES: ReadonlySet<Job["state"]> = new Set(["error", "cancelled", "parked"]);

function hasEnded({ state }: Job): boolean {
  return !["queued", "running", "waiting"].includes(state);
}

function JobDetails({ job }: { readonly job: Job }): ReactNode {
  const may = useHasScope();
  return (
    <>
      <div className="panel-state">
        <JobState job={job} />
        {!hasEnded(job) && may("execute") && <CancelJob job={job} />}
      </div>
      {job.question !== undefined && (
        <Section title="Question">
          <p className="prose">
            <UntrustedText text={job.question} maxLength={4_000} />
          </p>
          {may("execute") && <ReplyForm job={job} />}
        </Section>
      )}
      {isWaitingForApproval(job) && (
        <p className="prose">
          A call waits for approval. <Link href="/approvals">See what waits</Link>
        </p>
      )}
      {job.error !== undefined && (
        <section className="section failure">
          <p className="prose">
            <UntrustedText text={job.error.message} maxLength={4_096} />
          </p>
        </section>
      )}
      <Output job={job} />
      {job.result !== undefined && <ResultSection sessionId={job.sessionId} result={job.result} />}
      {FAILED_STATES.has(job.state) && may("simulate") && <RetryJob key={job.id} job={job} />}
      <dl className="facts">
        <Fact name="Session">
          <Link href={sessionPath(job.sessionId, job.id)}>
            <UntrustedText text={job.sessionId} maxLength={120} />
          </Link>
        </Fact>
        <Fact name="Kind">{job.mode}</Fact>
        <Fact name="Began">{formatFullTime(job.startedAt)}</Fact>
        {job.endedAt !== undefined && <Fact name="Ended">{formatFullTime(job.endedAt)}</Fact>}
        {job.openedBy !== undefined && (
          <Fact name="Runs in">
            <UntrustedText text={job.openedBy} />
          </Fact>
        )}
      </dl>
    </>
  );
}

function Output({ job }: { readonly job: Job }): ReactNode {
  const { client } = useConnection();
  const { data, error } = useQuery({
    queryKey: ["job-output", job.id],
    queryFn: async ({ signal }) => {
      const output = await client.call("getJobOutput", { params: { jobId: job.id }, query: { tail: TAIL }, signal });
      return { ...output, isWhole: hasEnded(job) };
    },
    // Until the output was read once more after the end of the job.
    refetchInterval: ({ state }) => (state.data?.isWhole === true || (state.error !== null && hasEnded(job)) ? false : EVERY_MS),
  });
  if (data === undefined && describeFailure(error).isGone)
    return (
      <Section title="Output">
        <p className="muted">
          <UntrustedText text={describeFailure(error).text} maxLength={1_000} />
        </p>
      </Section>
    );
  if (data === undefined || data.total === 0) return null;
  return (
    <Section
      title="Output"
      aside={
        <span className="muted number">
          {data.from > 0 ? `the last ${formatCount(data.next - data.from)} of ` : ""}
          {formatCount(data.total)} characters
        </span>
      }
    >
      <TextBlock text={data.text} label="Output of the job" />
    </Section>
  );
}

function CancelJob({ job }: { readonly job: Job }): ReactNode {
  const { client } = useConnection();
  const queries = useQueryClient();
  const cancel = () =>
    client.call("cancelJob", { params: { jobId: job.id }, body: { reason: "cancelled in the dashboard", sessionId: job.sessionId } });
  return <CancelAction text="Cancel the job" cancel={cancel} onSettled={() => queries.invalidateQueries({ queryKey: ["job", job.id] })} />;
}

/** A form for the answer to a job's question, which is sent as a string. */
function ReplyForm({ job }: { readonly job: Job }): ReactNode {
  const { client } = useConnection();
  const queries = useQueryClient();
  const keys = useRequestKeys();
  const [text, setText] = useState("");
  const { mutate, isPending, error } = useMutation({
    mutationFn: (input: string) =>
      keys.send(input, (idempotencyKey) => client.call("sendToJob", { params: { jobId: job.id }, body: { input }, idempotencyKey })),
    onMutate: () => setText(""), // text that is typed from now on is another answer
    onError: (_, input) => setText((now) => (now === "" ? input : `${input} ${now}`)),
    onSettled: () => queries.invalidateQueries({ queryKey: ["job", job.id] }),
  });
  return (
    <form
      className="reply"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isPending && text !== "") mutate(text);
      }}
    >
      <label className="field">
        <span className="visually-hidden">Answer</span>
        <input
          type="text"
          value={text}
          autoComplete="off"
          placeholder="Answer"
          onChange={({ target }) => {
            if (!isPending) keys.clear(); // an edited text is another answer, even with the same words
            setText(target.value);
          }}
        />
      </label>
      <ActionButton type="submit" kind="button-main" isOff={isPending || text === ""}>
        Send
      </ActionButton>
      <InlineFailure error={error} />
    </form>
  );
}
