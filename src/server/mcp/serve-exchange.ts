/** Answers requests that may need input of the client first: begins the work, suspends and resumes it. */
import { hash } from "node:crypto";
import type { ServerContext } from "@modelcontextprotocol/server";
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { copyJson, type JsonObject } from "../../core/base/json.ts";
import { CallClient } from "./call-client.ts";
import { Exchange } from "./exchange.ts";
import { readClientFacts, createRound } from "./round.ts";
import { INVALID_PARAMS } from "../../engine/mcp/rpc-codes.ts";
import type { McpRequest, CallHandlerContext } from "./handler-context.ts";
import { tooManyWaitingError } from "./suspensions.ts";

/** Work in progress, and its client. */
export interface ExchangeWork<T> {
  readonly exchange: Exchange<T>;
  readonly client: CallClient;
}

/** Runs `begin` for a new request; a request with a state continues the suspended work. Resolves to the result for the protocol. */
export async function serveExchange<T>(
  {
    request,
    context,
    handlerContext,
  }: { readonly request: McpRequest; readonly context: ServerContext; readonly handlerContext: CallHandlerContext },
  begin: (work: ExchangeWork<T>) => Promise<T>,
): Promise<T | JsonObject> {
  const { gateway, connection } = handlerContext;
  const { suspensions, sdk } = gateway;
  const round = createRound(context, connection, suspensions);
  const state = context.mcpReq.requestState();
  const found = state === undefined ? undefined : suspensions.resume(state, digestOf(request, context));
  if (state !== undefined && found === undefined)
    throw new sdk.ProtocolError(INVALID_PARAMS, "Invalid or expired requestState", { reason: "invalid_request_state" });
  const exchange =
    found === undefined
      ? new Exchange<T>(round, (own) => {
          const facts = { ...readClientFacts(context, handlerContext.server, connection), newId: () => gateway.settings.ids.next("ask") };
          return begin({ exchange: own, client: new CallClient(facts, own) });
        })
      : (found as Exchange<T>); // an equal digest means the same request, so the result has the same type
  gateway.activeWork.add(exchange);
  try {
    for (;;) {
      const end = await exchange.runRound(round);
      if (end.done) return end.result;
      if (suspensions.isFull) {
        exchange.refusePending(tooManyWaitingError());
        continue;
      }
      const requestState = await suspensions.suspend(exchange, digestOf(request, context), context);
      const inputRequests = Object.fromEntries(Array.from(end.requests, ([key, { method, params }]) => [key, { method, params }]));
      return { resultType: "input_required", inputRequests, requestState };
    }
  } finally {
    gateway.activeWork.delete(exchange);
  }
}

/** Digest of what a request asks for: its method, name or URI, and arguments. */
function digestOf({ params = {} }: McpRequest, { mcpReq }: ServerContext): string {
  const { name, uri, arguments: args } = params;
  const subject = { method: mcpReq.method, name, uri, arguments: args ?? {} };
  return hash("sha256", canonicalJson(copyJson(subject).value));
}
