/** Background jobs in all their states, and the chosen one. */
import { useInfiniteQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { useNow } from "../server/use-now.ts";
import { ReadState } from "../server/read-failure.tsx";
import { useConnection } from "../server/use-connection.ts";
import { jobPath, useQueryValue } from "../show/address.ts";
import { SelectField } from "../show/select-field.tsx";
import { UntrustedText, ToolName } from "../show/untrusted-text.tsx";
import { TimeAgo, Notice, ScreenHeader } from "../show/basic-components.tsx";
import { formatDuration } from "../show/format.ts";
import { ListTable } from "../show/list-table.tsx";
import { useTitle } from "../show/use-title.ts";
import { JobState, isWaitingForApproval, type Job } from "./job-state.tsx";
import { JobPanel } from "./job-panel.tsx";

const EVERY_MS = 2_000;
const PAGE = 100;

const STATE_OPTIONS = [
  ["", "All"],
  ["queued,running,waiting", "Not ended"],
  ["waiting", "Waiting for an answer"],
  ["done", "Done"],
  ["error,parked", "Failed"],
  ["cancelled", "Cancelled"],
] as const;

export function JobsScreen({ jobId }: { readonly jobId: string | undefined }): ReactNode {
  const { client } = useConnection();
  const [chosen, setChosen] = useQueryValue("states");
  const states = STATE_OPTIONS.some(([value]) => value === chosen) ? chosen : "";
  const { data, error, hasNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: ["jobs", states],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      client.call("listJobs", {
        query: { limit: PAGE, ...(states === "" ? {} : { states }), ...(pageParam === undefined ? {} : { cursor: pageParam }) },
        signal,
      }),
    getNextPageParam: ({ next }) => next,
    refetchInterval: EVERY_MS,
  });
  useTitle("Jobs · Haft");
  const jobs = data?.pages.flatMap((page) => page.jobs) ?? [];
  const isChosen = jobId !== undefined && jobId !== "";
  return (
    <div className={isChosen ? "split with-panel" : "split"}>
      <div className="split-main">
        <ScreenHeader title="Jobs">
          <SelectField label="Which jobs" value={states} onChange={setChosen} options={STATE_OPTIONS} />
        </ScreenHeader>
        <ReadState title="The jobs could not be read." error={error} data={data} />
        {data !== undefined && jobs.length === 0 && (
          <Notice title={states === "" ? "There are no jobs." : "No job is in this state."}>
            Calls that continue in the background are jobs.
          </Notice>
        )}
        {jobs.length > 0 && <JobTable jobs={jobs} jobId={jobId} />}
        {hasNextPage && (
          <button type="button" className="button list-more" onClick={() => void fetchNextPage()}>
            Older jobs
          </button>
        )}
      </div>
      {isChosen && <JobPanel key={jobId} jobId={jobId} />}
    </div>
  );
}

function JobTable({ jobs, jobId }: { readonly jobs: readonly Job[]; readonly jobId: string | undefined }): ReactNode {
  const now = useNow(1_000);
  return (
    <ListTable columns={[["Job"], ["State"], ["Session", "wide-only"], ["Time", "number"], ["Began"]]}>
      {jobs.map((job) => (
        <tr key={job.id} className={job.id === jobId ? "chosen" : undefined}>
          <td className="main-cell">
            <Link href={jobPath(job.id) + window.location.search} className="row-link" data-row="">
              <ToolName name={job.toolName} />
            </Link>
            {job.question !== undefined && (
              <span className="sub-line">
                asks: <UntrustedText text={job.question} maxLength={120} />
              </span>
            )}
            {isWaitingForApproval(job) && <span className="sub-line">waits for approval</span>}
          </td>
          <td>
            <JobState job={job} />
          </td>
          <td className="wide-only muted">
            <UntrustedText text={job.sessionId} maxLength={60} />
          </td>
          <td className="number">{formatDuration((job.endedAt ?? now) - job.startedAt)}</td>
          <td className="muted">
            <TimeAgo at={job.startedAt} now={now} />
          </td>
        </tr>
      ))}
    </ListTable>
  );
}
