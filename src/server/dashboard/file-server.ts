/** Serves the dashboard for one file, which it shows without a runtime; serves the page and the file only. */
import { HttpError } from "../http/http-error.ts";
import { errorResponse } from "../api/requests/error-response.ts";
import { bearerToken } from "../auth/credentials.ts";
import { isSameSecret } from "../../net/secret.ts";
import { findDistrust } from "../http/guard.ts";
import { listenOn, type FetchHandler, type PortListener } from "../http/listen.ts";
import { securityHeaders } from "../http/security-headers.ts";
import { LOCAL_HOST_NAMES } from "../mcp/http-options.ts";
import { DashboardFiles } from "./dashboard-files.ts";
import type { Clock, Ids, Log } from "../../core/ports.ts";

export interface FileServerOptions {
  /** The token that the file needs. The page gets it after the `#` of its address, which browsers do not send. */
  readonly token: string;
  /** Opens the file, for each request; its bytes are sent as they are. */
  readonly open: () => ReadableStream<Uint8Array> | Promise<ReadableStream<Uint8Array>>;
  readonly port: number;
  readonly ports: { readonly clock: Clock; readonly ids: Ids; readonly log: Log };
}

export interface FileServer extends PortListener {
  /** The address to open in a browser, with the token. */
  readonly pageUrl: string;
}

/** Serves a file on this machine only. @throws ToolError `unavailable` for an unusable port; HttpError without a built dashboard; as a rejection */
export async function serveFile(options: FileServerOptions): Promise<FileServer> {
  const { port, ports } = options;
  const page = new DashboardFiles();
  page.response(new Request("http://localhost/file")); // throws at once if the files are missing
  const secured = securityHeaders();
  const handler: FetchHandler = (request) =>
    secured(request, async () => {
      try {
        return await answer(request, page, options);
      } catch (thrown: unknown) {
        return errorResponse(thrown, ports).toResponse();
      }
    });
  const listener = await listenOn(handler, { port, host: "127.0.0.1", clock: ports.clock, log: ports.log });
  return { ...listener, pageUrl: `${listener.origin}/file#${options.token}` };
}

async function answer(request: Request, page: DashboardFiles, { token, open }: FileServerOptions): Promise<Response> {
  const distrust = findDistrust(request, { allowedHosts: LOCAL_HOST_NAMES, allowedOrigins: undefined });
  if (distrust !== undefined) throw new HttpError(403, "permission_denied", distrust.reason);
  const { pathname } = new URL(request.url);
  if (pathname === "/opened-file" && request.method === "GET") {
    if (!isSameSecret(bearerToken(request) ?? "", token))
      throw new HttpError(401, "permission_denied", "The address of this page is incomplete.");
    return new Response(await open(), { headers: { "content-type": "application/octet-stream" } });
  }
  const shown = page.response(request);
  if (shown === undefined) throw new HttpError(404, "not_found", "This program serves one file to the dashboard, and has no API.");
  return shown;
}
