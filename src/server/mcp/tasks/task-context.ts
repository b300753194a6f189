/** The part of the context of a request that looking for a task needs. */
import type { ServerContext } from "@modelcontextprotocol/server";

export interface TaskContext {
  readonly mcpReq: Pick<ServerContext["mcpReq"], "signal" | "envelope">;
  /** undefined over standard input and output. */
  readonly http?: { readonly req?: Pick<Request, "headers"> } | undefined;
}
