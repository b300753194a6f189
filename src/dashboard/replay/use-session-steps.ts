/** Reads a session's events page by page, and returns its calls. */
import { pushAll } from "../../core/collections/push-all.ts";
import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import type { HaftClient } from "../../client/client.ts";
import { useConnection } from "../server/use-connection.ts";
import { collectSteps, type PositionedEvent, type Step } from "./steps.ts";

const PAGE = 1_000;

export interface SessionSteps {
  readonly steps: readonly Step[];
  /** Number of events that the session had. */
  readonly length: number;
}

/** Reads the calls of a session. @param sessionId undefined = reads nothing */
export function useSessionSteps(sessionId: string | undefined): UseQueryResult<SessionSteps> {
  const { client } = useConnection();
  return useQuery({
    queryKey: ["steps", sessionId],
    queryFn: ({ signal }) => fetchSteps(client, sessionId ?? "", signal),
    enabled: sessionId !== undefined,
  });
}

async function fetchSteps(client: HaftClient, sessionId: string, signal: AbortSignal): Promise<SessionSteps> {
  const events: PositionedEvent[] = [];
  for (let after: number | undefined = 0; after !== undefined;) {
    const page: { readonly events: readonly PositionedEvent[]; readonly next?: number } = await client.call("listSessionEvents", {
      params: { sessionId },
      query: { after, limit: PAGE },
      signal,
    });
    pushAll(events, page.events);
    after = page.next;
  }
  return { steps: collectSteps(events), length: events.at(-1)?.position ?? 0 };
}
