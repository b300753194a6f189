/** The caller on its way through the SDK, which ties the state of a request to it. */
import type { AuthInfo } from "@modelcontextprotocol/server";
import { LOCAL_CALLER, type Caller } from "./serving.ts";

/** Without the token: no handler needs it. */
export function authInfoOf(caller: Caller): AuthInfo {
  return { token: "", clientId: caller.id, scopes: [...(caller.principal?.scopes ?? [])], extra: { caller } };
}

export function callerIn(authInfo: AuthInfo | undefined): Caller {
  const caller: unknown = authInfo?.extra?.["caller"];
  return isCaller(caller) ? caller : LOCAL_CALLER;
}

function isCaller(value: unknown): value is Caller {
  return typeof value === "object" && value !== null && "id" in value && "principal" in value;
}
