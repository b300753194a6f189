/** Runs an MCP server on a port of this machine. */
import { ToolError } from "../../core/error.ts";
import { PORT, checkNumber } from "../../core/base/number-bounds.ts";
import { checkKnownKeys } from "../../core/known-keys.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { readsHeadOnly } from "../auth/principal.ts";
import { ServerAccess } from "../auth/server-access.ts";
import { findDistrust, refusal, withoutOrigin } from "../http/guard.ts";
import { listenOn } from "../http/listen.ts";
import { HttpGateway } from "./http.ts";
import { HTTP_OPTIONS, isLocalAddress, type McpHttpOptions } from "./http-options.ts";
import { settingsOf } from "./options.ts";
import { loadServerModule } from "./sdk.ts";

export interface McpListenOptions extends McpHttpOptions {
  /** 0 picks a free port. */
  readonly port: number;
  /** The address to listen on. One that other machines reach needs `token` and `allowedHosts`. @default "127.0.0.1" */
  readonly host?: string;
  /** @default "/mcp" */
  readonly path?: string;
  /** Login pages for users of the MCP servers behind this one, such as `UserLogins` of `haft/mcp`. @default none */
  readonly logins?: LoginPages;
}

/** Pages for browsers, which have no key. Returns undefined for every path that is not a page's. */
export interface LoginPages {
  response(request: Request): Promise<Response | undefined>;
}

/** A server that listens on a port. */
export interface McpListener {
  /** The address for clients: `http://127.0.0.1:3000/mcp`. */
  readonly url: string;
  readonly port: number;
  /** Like `McpHandler.close`, then releases the port. */
  close(): Promise<void>;
}

/** Answered for every client, since it reveals only that the server runs. */
const HEALTH_PATH = "/health";

/** Implements `listenMcp` of `../mcp.ts`. */
export async function listen(runtime: Runtime, options: McpListenOptions): Promise<McpListener> {
  checkKnownKeys(options, { ...HTTP_OPTIONS, port: true, host: "string", path: "string", logins: true }, "listenMcp()");
  checkNumber(options.port, "port of listenMcp()", PORT);
  const { port, host = "127.0.0.1", path = "/mcp", token, authenticator, allowedHosts } = options;
  if (!isLocalAddress(host) && ((token ?? authenticator) === undefined || allowedHosts === undefined)) {
    throw new ToolError("invalid_argument", `An MCP server on ${host} can be reached by others, and needs a token and allowedHosts.`, {
      hint: "Give it both, or leave out host to listen on this machine only.",
    });
  }
  await loadServerModule(); // at once, so that a missing library fails here and not at the first client
  const gateway = new HttpGateway(runtime, options);
  const { log, clock } = settingsOf(options);
  const answer = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url);
    const metadata = authenticator instanceof ServerAccess ? authenticator.metadataResponse(request) : undefined;
    if (metadata !== undefined && findDistrust(withoutOrigin(request), gateway.settings) === undefined) return metadata;
    if (pathname === HEALTH_PATH && request.method === "GET" && path !== HEALTH_PATH) return gateway.healthResponse();
    const page = findDistrust(request, gateway.settings) === undefined ? await options.logins?.response(request) : undefined;
    if (page !== undefined) return page;
    const isElsewhere = pathname !== path;
    return gateway.refusalFor(request) ?? (isElsewhere ? refusal(404, "There is nothing here.") : gateway.handle(request));
  };
  const direct = authenticator === undefined || readsHeadOnly(authenticator) ? [gateway.createDirectHandler(path)] : [];
  const listener = await listenOn(answer, { port, host, clock, log, direct });
  return { port: listener.port, url: `${listener.origin}${path}`, close: () => listener.close(() => gateway.close()) };
}
