/** Passes the caller through the SDK, which binds the state of a request to it. */
import type { AuthInfo } from "@modelcontextprotocol/server";
import { LOCAL_CALLER, type Caller } from "./handler-context.ts";

/** Leaves out the token, which no handler needs. */
export function toAuthInfo(caller: Caller): AuthInfo {
  return { token: "", clientId: caller.id, scopes: [...(caller.principal?.scopes ?? [])], extra: { caller } };
}

export function readCaller(authInfo: AuthInfo | undefined): Caller {
  const caller: unknown = authInfo?.extra?.["caller"];
  return isCaller(caller) ? caller : LOCAL_CALLER;
}

function isCaller(value: unknown): value is Caller {
  return typeof value === "object" && value !== null && "id" in value && "principal" in value;
}
