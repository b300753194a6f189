/** Converts the SDK's context of a request to Haft's types. */
import type { Server, ServerContext } from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { ClientFacts } from "./call-client.ts";
import type { McpLogLevel } from "./client.ts";
import type { ExchangeRound } from "./exchange.ts";
import type { Suspensions } from "./suspensions.ts";

/** Log levels, from the least to the most urgent. */
const LEVELS: readonly McpLogLevel[] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
/** The SDK's timeout must never end a question to a person, so this is the maximum of a timer. */
const NO_TIMEOUT_MS = 2_147_483_647;
const CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities";

/** State that the handlers of one server instance share. */
export interface Connection {
  readonly era: "legacy" | "modern";
  /** The least urgent log level that a client of the older era wants. @default all */
  logLevel: McpLogLevel | undefined;
}

export function isLogLevel(value: unknown): value is McpLogLevel {
  return LEVELS.some((level) => level === value);
}

export function allowsLevel({ logLevel }: Connection, level: unknown): boolean {
  return logLevel === undefined || (isLogLevel(level) && LEVELS.indexOf(level) >= LEVELS.indexOf(logLevel));
}

/** The least urgent of the levels that are set; undefined if none is. */
export function leastUrgent(levels: readonly (McpLogLevel | undefined)[]): McpLogLevel | undefined {
  return LEVELS.find((level) => levels.includes(level));
}

/** Sends requests to the client of the older era, within the request it has open. */
export function createSender({ mcpReq, http }: ServerContext, suspensions: Suspensions): NonNullable<ExchangeRound["send"]> {
  return ({ method, params }, signal) => {
    const send = (until: AbortSignal): Promise<unknown> =>
      mcpReq.send({ method, params: { ...params } }, { signal: until, timeout: NO_TIMEOUT_MS });
    return http === undefined ? send(signal) : suspensions.askWithTimeout(signal, send);
  };
}

export function createRound(context: ServerContext, connection: Connection, suspensions: Suspensions): ExchangeRound {
  const { mcpReq } = context;
  return {
    signal: mcpReq.signal,
    answers: new Map(Object.entries(mcpReq.inputResponses ?? {})),
    send: connection.era === "modern" ? undefined : createSender(context, suspensions),
    notify: (method: string, params: JsonObject) => ignoreFailure(mcpReq.notify({ method, params: { ...params } })),
    progressToken: mcpReq["_meta"]?.progressToken,
    log: (level: McpLogLevel, data: JsonValue, logger: string | undefined) => {
      if (connection.era === "modern" || allowsLevel(connection, level)) ignoreFailure(mcpReq.log(level, data, logger));
    },
  };
}

/** The client's description of itself, which it sends with each request in the newer era, once in the older one. */
export function readClientFacts(
  context: { readonly mcpReq: Pick<ServerContext["mcpReq"], "envelope"> },
  server: Pick<Server, "getClientCapabilities">,
  connection: Connection,
): Omit<ClientFacts, "newId"> {
  const { era } = connection;
  const declared: unknown =
    era === "modern" ? Reflect.get(context.mcpReq.envelope ?? {}, CAPABILITIES_KEY) : server.getClientCapabilities();
  return { era, capabilities: isJsonObject(declared) ? declared : {} };
}

/** Ignores failures: a client that has disconnected must not fail the work. */
function ignoreFailure(sent: Promise<void>): void {
  sent.catch(() => {});
}
