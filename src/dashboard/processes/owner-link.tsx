import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { useConnection } from "../server/use-connection.ts";
import { processPath } from "../show/address.ts";
import { UntrustedText } from "../show/untrusted-text.tsx";
import { formatProcessName, useFleet } from "./use-fleet.ts";

const EVERY_MS = 5_000;

/** A link to the process that has a session open; nothing if only one process uses the store. */
export function OwnerLink({ sessionId }: { readonly sessionId: string }): ReactNode {
  const { client } = useConnection();
  const { data: session } = useQuery({
    queryKey: ["session", sessionId],
    queryFn: ({ signal }) => client.call("getSession", { params: { sessionId }, signal }),
    refetchInterval: EVERY_MS,
  });
  const { data: fleet } = useFleet();
  const owner = fleet?.processes.find(({ id }) => id === session?.openedIn);
  if (owner === undefined || (fleet?.processes.length ?? 0) < 2) return null;
  return (
    <span className="muted nowrap wide-only">
      open in{" "}
      <Link href={processPath(owner.id)}>
        <UntrustedText text={formatProcessName(owner)} maxLength={40} />
      </Link>
    </span>
  );
}
