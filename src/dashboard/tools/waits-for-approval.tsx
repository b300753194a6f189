/** Says of a call that is being tried that it waits for approval. */
import { useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { Link } from "wouter";
import { useConnection } from "../server/use-server.ts";
import { approvalPath } from "../show/address.ts";

/** The call's id is not known before it ends, so it is the question about this tool that was not open before. The menu reads the list. */
export function WaitsForApproval({ toolName }: { readonly toolName: string }): ReactNode {
  const { client } = useConnection();
  const { data } = useQuery({ queryKey: ["approvals"], queryFn: ({ signal }) => client.call("listApprovals", { signal }) });
  const [before] = useState(() => new Set(data?.approvals.map(({ id }) => id)));
  const asked = data?.approvals.find((one) => one.toolName === toolName && !before.has(one.id));
  if (asked === undefined) return "Running…";
  return (
    <>
      Waits for approval. <Link href={approvalPath(asked.callId)}>Decide</Link>
    </>
  );
}
