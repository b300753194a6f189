/** Reads lists again when something in them changed. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { ReadAfterChanges } from "./read-after-changes.ts";
import { useConnection, useConnectionState } from "./use-server.ts";

const TYPES =
  "session-start,batch-start,call-end,round-end,message-add,approval-ask,approval-answer,job-start,job-run,job-end,branch-commit";
const LISTS: ReadonlySet<unknown> = new Set(["sessions", "approvals", "jobs"]);
/** However much happens. */
const AT_MOST_EVERY_MS = 800;

/**
 * @param isOn false while another stream is read: browsers open few connections to a server. A page that is not seen has none.
 */
export function useLiveLists(isOn: boolean): void {
  const connection = useConnection();
  const queries = useQueryClient();
  const { returnedAt } = useConnectionState();
  // Requests that failed while the server was away are made again, also where no timer does so.
  useEffect(() => {
    if (returnedAt !== undefined) void queries.invalidateQueries({ predicate: ({ state }) => state.status === "error" });
  }, [queries, returnedAt]);
  useEffect(() => {
    if (!isOn) return;
    let stop: AbortController | undefined;
    const read = () => queries.invalidateQueries({ predicate: ({ queryKey: [name] }) => LISTS.has(name) });
    const lists = new ReadAfterChanges(read, AT_MOST_EVERY_MS);
    const end = (): void => {
      stop?.abort();
      stop = undefined;
    };
    const look = (): void => {
      if (document.visibilityState !== "visible") return end();
      stop ??= new AbortController();
      void connection.watch(TYPES, () => lists.change(), stop.signal);
    };
    const seen = (): void => {
      end();
      look();
    };
    look();
    document.addEventListener("visibilitychange", seen);
    return () => {
      document.removeEventListener("visibilitychange", seen);
      end();
      lists.stop();
    };
  }, [connection, queries, isOn]);
}

/** How often a list is read again: seldom while a stream tells of changes. */
export function pollMs(isLive: boolean, otherwiseMs: number): number {
  return isLive ? Math.max(20_000, otherwiseMs) : otherwiseMs;
}
