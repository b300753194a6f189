/** Security headers of every response, and CORS for pages of allowed origins. */
import { quoteValue } from "../../core/base/wording.ts";
import { ToolError } from "../../core/error.ts";
import { checkKnownKeys } from "../../core/known-keys.ts";

/** Options of `securityHeaders`. */
export interface SecurityHeadersOptions {
  /** Origins whose pages may read responses, such as `https://app.example`; never `*`. @default none */
  readonly corsOrigins?: readonly string[];
}

/** Wraps the function that answers a request. */
export type Middleware = (request: Request, answer: () => Promise<Response>) => Promise<Response>;

/**
 * Responses are data: a page that a browser makes from one may load nothing, run nothing and not be framed. A response with a policy of its own, such
 * as the dashboard, keeps it.
 *
 * @see https://cheatsheetseries.owasp.org/cheatsheets/HTTP_Headers_Cheat_Sheet.html
 */
const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=()",
  "cache-control": "no-store",
};

/** The headers of every response to a request without an origin, given the origins whose pages may read responses. */
export function plainHeaders({ corsOrigins = [] }: SecurityHeadersOptions): Readonly<Record<string, string>> {
  return corsOrigins.length === 0 ? SECURITY_HEADERS : { ...SECURITY_HEADERS, vary: "origin" };
}

const ALLOWED_METHODS = "GET, POST, PUT, PATCH, DELETE";
const ALLOWED_HEADERS =
  "authorization, content-type, idempotency-key, if-match, if-none-match, if-range, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id, range, traceparent, tracestate";
/** Parameters of tools that MCP clients also send as headers, named after the parameters. */
const PARAM_HEADER = /^mcp-param-[\w-]+$/u;
const EXPOSED_HEADERS =
  "accept-ranges, content-range, etag, idempotency-replayed, location, retry-after, x-should-retry, www-authenticate, mcp-session-id";
const PREFLIGHT_SECONDS = "600";

/**
 * Sets the headers of every response. Pages of `corsOrigins` may read responses and send credentials in the header `Authorization`; cookies are never
 * sent, and pages of other origins get no access.
 *
 * @throws ToolError `invalid_argument` for an invalid origin
 */
export function securityHeaders(options: SecurityHeadersOptions = {}): Middleware {
  checkKnownKeys(options, { corsOrigins: "strings" }, "securityHeaders()");
  const { corsOrigins = [] } = options;
  const origins = new Set(corsOrigins.map(checkOrigin));
  return async (request, answer) => {
    const origin = request.headers.get("origin");
    const isAllowed = origin !== null && origins.has(origin);
    const isPreflight = request.method === "OPTIONS" && request.headers.has("access-control-request-method");
    const given = isPreflight && isAllowed ? new Response(null, { status: 204 }) : await answer();
    const response = withHeaders(given);
    if (origins.size > 0) response.headers.append("vary", "origin");
    if (isAllowed)
      allowOrigin(response.headers, origin, isPreflight ? (request.headers.get("access-control-request-headers") ?? "") : undefined);
    return response;
  };
}

function withHeaders(given: Response): Response {
  try {
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) if (!given.headers.has(name)) given.headers.set(name, value);
    return given;
  } catch {
    return withHeaders(new Response(given.body, given)); // headers of responses by `fetch` and `Response.redirect` are immutable
  }
}

/** @param asked the headers that a page wants to send, of a preflight; undefined for the request itself */
function allowOrigin(headers: Headers, origin: string, asked: string | undefined): void {
  headers.set("access-control-allow-origin", origin);
  headers.set("cross-origin-resource-policy", "cross-origin");
  if (asked === undefined) return headers.set("access-control-expose-headers", EXPOSED_HEADERS);
  headers.set("access-control-allow-methods", ALLOWED_METHODS);
  const parameters = asked
    .toLowerCase()
    .split(",")
    .map((name) => name.trim())
    .filter((name) => PARAM_HEADER.test(name));
  headers.set("access-control-allow-headers", [ALLOWED_HEADERS, ...parameters].join(", "));
  headers.set("access-control-max-age", PREFLIGHT_SECONDS);
}

function checkOrigin(origin: string): string {
  if (
    typeof origin === "string" &&
    URL.canParse(origin) &&
    !origin.includes("*") &&
    /^https?:/u.test(origin) &&
    new URL(origin).origin === origin
  )
    return origin;
  throw new ToolError("invalid_argument", `${quoteValue(origin)} is not the origin of a page.`, {
    hint: "Write only scheme, host and port, such as https://app.example: no path, no wildcard.",
  });
}
