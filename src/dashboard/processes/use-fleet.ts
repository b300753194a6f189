/** The processes that use the server's store. */
import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import type { AnswerOf } from "../../client/client.ts";
import { useConnection } from "../server/use-connection.ts";

export type Fleet = AnswerOf<"getFleet">;
export type Process = Fleet["processes"][number];

const EVERY_MS = 3_000;

export function useFleet(): UseQueryResult<Fleet> {
  const { client } = useConnection();
  return useQuery({
    queryKey: ["fleet"],
    queryFn: ({ signal }) => client.call("getFleet", { signal }),
    refetchInterval: EVERY_MS,
  });
}

export function formatProcessName({ name, host, pid }: Process): string {
  return name ?? `process ${pid} on ${host}`;
}
