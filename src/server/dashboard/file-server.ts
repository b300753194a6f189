/** Serves one file to the dashboard, which shows it without a runtime: the page, the file, and nothing else. */
import { HttpError } from "../http/http-error.ts";
import { errorAnswer } from "../api/requests/error-answer.ts";
import { bearerToken } from "../auth/credentials.ts";
import { isSameSecret } from "../../net/secret.ts";
import { distrustOf } from "../http/guard.ts";
import { listenOn, type FetchHandler, type PortListener } from "../http/listen.ts";
import { securityHeaders } from "../http/security-headers.ts";
import { LOCAL_NAMES } from "../mcp/http-options.ts";
import { DashboardFiles } from "./dashboard-files.ts";
import type { Clock, Ids, Log } from "../../core/ports.ts";

export interface FileServerOptions {
  /** Needed for the file. The page gets it behind the `#` of its address, which browsers do not send. */
  readonly token: string;
  /** Opens the file for each request; its bytes are sent as they are. */
  readonly open: () => ReadableStream<Uint8Array> | Promise<ReadableStream<Uint8Array>>;
  readonly port: number;
  readonly ports: { readonly clock: Clock; readonly ids: Ids; readonly log: Log };
}

export interface FileServer extends PortListener {
  /** The address to look at, with the token. */
  readonly pageUrl: string;
}

/** Listens on this machine only. @throws ToolError `unavailable` for a port that cannot be used; HttpError where the dashboard was not built. By rejecting */
export async function serveFile(options: FileServerOptions): Promise<FileServer> {
  const { port, ports } = options;
  const page = new DashboardFiles();
  page.response(new Request("http://localhost/file")); // throws at once where it is missing
  const secured = securityHeaders();
  const handler: FetchHandler = (request) =>
    secured(request, async () => {
      try {
        return await answer(request, page, options);
      } catch (thrown: unknown) {
        return errorAnswer(thrown, ports).toResponse();
      }
    });
  const listener = await listenOn(handler, { port, host: "127.0.0.1", clock: ports.clock, log: ports.log });
  return { ...listener, pageUrl: `${listener.origin}/file#${options.token}` };
}

async function answer(request: Request, page: DashboardFiles, { token, open }: FileServerOptions): Promise<Response> {
  const distrust = distrustOf(request, { allowedHosts: LOCAL_NAMES, allowedOrigins: undefined });
  if (distrust !== undefined) throw new HttpError(403, "permission_denied", distrust.reason);
  const { pathname } = new URL(request.url);
  if (pathname === "/opened-file" && request.method === "GET") {
    if (!isSameSecret(bearerToken(request) ?? "", token))
      throw new HttpError(401, "permission_denied", "The address of this page is not whole.");
    return new Response(await open(), { headers: { "content-type": "application/octet-stream" } });
  }
  const shown = page.response(request);
  if (shown === undefined) throw new HttpError(404, "not_found", "This program serves one file to the dashboard, and has no API.");
  return shown;
}
