/** Hooks for the connection to the server. */
import { useQuery } from "@tanstack/react-query";
import { createContext, useContext, useSyncExternalStore } from "react";
import type { AnswerOf } from "../../client/client.ts";
import type { Connection, ConnectionState } from "./connection.ts";

export const ConnectionContext = createContext<Connection | undefined>(undefined);

export function useConnection(): Connection {
  const connection = useContext(ConnectionContext);
  if (connection === undefined) throw new Error("There is no connection around this component.");
  return connection;
}

export function useConnectionState(): ConnectionState {
  const { subscribe, getState } = useConnection();
  return useSyncExternalStore(subscribe, getState);
}

/** Returns what the server says about itself and the key. @param everyMs how often it is read again while the page is visible; undefined = not by itself */
export function useInfo(everyMs?: number): AnswerOf<"getInfo"> | undefined {
  const connection = useConnection();
  const { key } = useConnectionState();
  return useQuery({
    queryKey: ["info"],
    queryFn: async ({ signal }) => {
      const sentWith = connection.getState().key;
      const info = await connection.client.call("getInfo", { signal });
      connection.recordPrincipal(sentWith, info.principal.id);
      return info;
    },
    staleTime: 30_000,
    refetchInterval: everyMs ?? false,
    enabled: key !== undefined, // files can be viewed without a key
  }).data;
}

export type Scope = "read" | "execute" | "simulate" | "approve" | "admin";

/** Returns a function that tells whether the key has a scope; actions without it are not offered. In read-only mode only `read` is allowed. */
export function useHasScope(): (scope: Scope) => boolean {
  const scopes = useInfo()?.principal.scopes ?? [];
  const { readOnly } = useConnectionState();
  return (scope) => (scope === "read" || !readOnly) && (scopes.includes(scope) || scopes.includes("admin"));
}
