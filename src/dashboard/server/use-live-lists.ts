/** Reads lists again when something in them has changed. */
import { useQueryClient, type QueryFilters } from "@tanstack/react-query";
import { useEffect } from "react";
import { ThrottledReader } from "./throttled-reader.ts";
import { useConnection, useConnectionState } from "./use-connection.ts";

const EVENT_TYPES =
  "session-start,batch-start,call-end,round-end,message-add,approval-ask,approval-answer,job-start,job-run,job-end,branch-commit";
const LISTS: ReadonlySet<unknown> = new Set(["sessions", "approvals", "jobs"]);
/** Minimum time between two reads, in milliseconds. */
const MIN_INTERVAL_MS = 800;

/** Watches for changes while the page is visible. @param isOn false while another stream is open: browsers open few connections to a server */
export function useLiveLists(isOn: boolean): void {
  const connection = useConnection();
  const queries = useQueryClient();
  const { returnedAt } = useConnectionState();
  // Requests that failed while the server was unreachable are repeated, including those that are not polled.
  useEffect(() => {
    if (returnedAt !== undefined) void queries.invalidateQueries({ predicate: ({ state }) => state.status === "error" });
  }, [queries, returnedAt]);
  useEffect(() => {
    if (!isOn) return;
    let stop: AbortController | undefined;
    const which: QueryFilters = { predicate: ({ queryKey: [name] }) => LISTS.has(name) };
    const read = async (): Promise<void> => {
      const isFetching = queries.isFetching(which) > 0;
      // Cancelling would also drop a page of older rows that the reader asked for.
      await queries.invalidateQueries(which, { cancelRefetch: false });
      if (isFetching) lists.markChanged(); // that read may have begun before the change
    };
    const lists = new ThrottledReader(read, MIN_INTERVAL_MS);
    const stopWatching = (): void => {
      stop?.abort();
      stop = undefined;
    };
    const watchWhileVisible = (): void => {
      if (document.visibilityState !== "visible") return stopWatching();
      stop ??= new AbortController();
      void connection.watch(EVENT_TYPES, () => lists.markChanged(), stop.signal);
    };
    const restartWatching = (): void => {
      stopWatching();
      watchWhileVisible();
    };
    watchWhileVisible();
    document.addEventListener("visibilitychange", restartWatching);
    return () => {
      document.removeEventListener("visibilitychange", restartWatching);
      stopWatching();
      lists.stop();
    };
  }, [connection, queries, isOn]);
}

/** Returns how often a list is polled: rarely if a stream reports changes. */
export function pollIntervalMs(isLive: boolean, otherwiseMs: number): number {
  return isLive ? Math.max(20_000, otherwiseMs) : otherwiseMs;
}
