/** The calls that wait for approval, and the chosen one. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { useNow } from "../server/use-now.ts";
import { ReadState } from "../server/read-failure.tsx";
import { useConnection } from "../server/use-connection.ts";
import { approvalPath, useQueryValue } from "../show/address.ts";
import { JsonLine, UntrustedText, ToolName } from "../show/untrusted-text.tsx";
import { TimeAgo, Notice, ScreenHeader, SearchField } from "../show/basic-components.tsx";
import { formatCount, containsWords } from "../show/format.ts";
import { useListKeys } from "../show/use-list-keys.ts";
import { useTitle } from "../show/use-title.ts";
import type { Approval } from "./approval.ts";
import { ApprovalPanel } from "./approval-panel.tsx";

const EVERY_MS = 2_000;

export function ApprovalsScreen({ callId }: { readonly callId: string | undefined }): ReactNode {
  const { client } = useConnection();
  const [words, setWords] = useQueryValue("q");
  const { data, error } = useQuery({
    queryKey: ["approvals"],
    queryFn: ({ signal }) => client.call("listApprovals", { signal }),
    refetchInterval: EVERY_MS,
  });
  useTitle("Approvals · Haft");
  const all = data?.approvals ?? [];
  const shown = all.filter((one) => matchesSearch(one, words));
  const isChosen = callId !== undefined && callId !== "";
  const listed = isChosen ? all.find((one) => one.callId === callId) : undefined;
  // The list has only the oldest ones, up to a limit.
  const isPart = data?.next !== undefined;
  const unlisted = useQuery({
    queryKey: ["approvals", callId],
    queryFn: ({ signal }) => client.call("getApproval", { params: { callId: callId ?? "" }, signal }),
    enabled: isChosen && isPart && listed === undefined,
    refetchInterval: EVERY_MS,
  });
  const chosen = listed ?? (isPart && unlisted.data?.status === "open" ? unlisted.data : undefined);
  const isRead = data !== undefined && (listed !== undefined || !isPart || !unlisted.isPending);
  return (
    <div className={isChosen ? "split with-panel" : "split"}>
      <div className="split-main">
        <ScreenHeader title="Approvals">
          <SearchField label="Filter by tool or session" value={words} onChange={setWords} />
        </ScreenHeader>
        <ReadState title="The approvals could not be read." error={error} data={data} />
        {data !== undefined && all.length === 0 && (
          <Notice title="No calls are waiting for approval.">Calls of destructive tools appear here before they run.</Notice>
        )}
        {all.length > 0 && shown.length === 0 && <Notice title="No calls match the filter." />}
        {shown.length > 0 && <ApprovalList approvals={shown} callId={callId} />}
        {isPart && <p className="list-more muted">The oldest {formatCount(all.length)} are shown. More calls wait.</p>}
      </div>
      {isChosen && isRead && <ApprovalPanel key={callId} approval={chosen} others={all} />}
    </div>
  );
}

function ApprovalList({ approvals, callId }: { readonly approvals: readonly Approval[]; readonly callId: string | undefined }): ReactNode {
  const now = useNow(1_000);
  const keys = useListKeys();
  return (
    <ul className="cards" onKeyDown={keys}>
      {approvals.map((one) => (
        <li key={one.id}>
          <Link
            href={approvalPath(one.callId) + window.location.search}
            className="card"
            data-row=""
            aria-current={one.callId === callId ? "true" : undefined}
          >
            <span className="card-title">
              <ToolName name={one.toolName} />
              <span className="muted">
                <TimeAgo at={one.askedAt} now={now} />
              </span>
            </span>
            <span className="card-text mono">
              <JsonLine text={JSON.stringify(one.input)} maxLength={160} />
            </span>
            <span className="card-text muted">
              <UntrustedText text={one.sessionId} maxLength={80} />
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

function matchesSearch({ toolName, sessionId, callId }: Approval, words: string): boolean {
  return containsWords(`${toolName} ${sessionId} ${callId}`, words);
}
