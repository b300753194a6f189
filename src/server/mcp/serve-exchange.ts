/** Answers requests that may ask the client something first: begins the work, puts it aside, takes it up again. */
import { hash } from "node:crypto";
import type { ServerContext } from "@modelcontextprotocol/server";
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { copyJson, type JsonObject } from "../../core/base/json.ts";
import { CallClient } from "./call-client.ts";
import { Exchange } from "./exchange.ts";
import { clientFacts, roundOf } from "./round.ts";
import { INVALID_PARAMS } from "../../engine/mcp/rpc-codes.ts";
import type { McpRequest, CallServing } from "./serving.ts";
import { tooManyWait } from "./suspensions.ts";

/** One piece of work and the client it is for. */
export interface Work<T> {
  readonly exchange: Exchange<T>;
  readonly client: CallClient;
}

/** Runs `begin` for a new request; one with a state continues where that left off. Resolves to the protocol's result. */
export async function serveExchange<T>(
  { request, context, serving }: { readonly request: McpRequest; readonly context: ServerContext; readonly serving: CallServing },
  begin: (work: Work<T>) => Promise<T>,
): Promise<T | JsonObject> {
  const { gateway, connection } = serving;
  const { suspensions, sdk } = gateway;
  const round = roundOf(context, connection, suspensions);
  const state = context.mcpReq.requestState();
  const found = state === undefined ? undefined : suspensions.resume(state, digestOf(request, context));
  if (state !== undefined && found === undefined)
    throw new sdk.ProtocolError(INVALID_PARAMS, "Invalid or expired requestState", { reason: "invalid_request_state" });
  const exchange =
    found === undefined
      ? new Exchange<T>(round, (own) => {
          const facts = { ...clientFacts(context, serving.server, connection), newId: () => gateway.settings.ids.next("ask") };
          return begin({ exchange: own, client: new CallClient(facts, own) });
        })
      : (found as Exchange<T>); // the digest says that it is the same request, which has one kind of result
  gateway.works.add(exchange);
  try {
    for (;;) {
      const end = await exchange.serve(round);
      if (end.done) return end.result;
      if (suspensions.full) {
        exchange.refuseWaiting(tooManyWait());
        continue;
      }
      const requestState = await suspensions.suspend(exchange, digestOf(request, context), context);
      const inputRequests = Object.fromEntries(Array.from(end.requests, ([key, { method, params }]) => [key, { method, params }]));
      return { resultType: "input_required", inputRequests, requestState };
    }
  } finally {
    gateway.works.delete(exchange);
  }
}

/** Of what a request asks for: its method, its name or URI, and its arguments. */
function digestOf({ params = {} }: McpRequest, { mcpReq }: ServerContext): string {
  const { name, uri, arguments: args } = params;
  const subject = { method: mcpReq.method, name, uri, arguments: args ?? {} };
  return hash("sha256", canonicalJson(copyJson(subject).value));
}
