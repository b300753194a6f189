/** Checks the origin, host and media type of every HTTP request before its body is read. */
import { isSameSecret } from "../../net/secret.ts";
import type { HttpSettings } from "../mcp/http-options.ts";
import type { RequestHead } from "./request-head.ts";

/** The hosts and origins that a server accepts. */
export interface Trusted {
  readonly allowedHosts: readonly string[];
  /** Accepted origins besides the server's own; a port is part of an origin. */
  readonly allowedOrigins: readonly string[] | undefined;
  /** Further accepted origins, whose pages may also read responses. */
  readonly corsOrigins?: readonly string[];
}

const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/u;

/** Returns the response that refuses a request of an untrusted host or origin, or without the token; undefined if it is accepted. */
export function refuseUntrusted(request: RequestHead, settings: HttpSettings): Response | undefined {
  const distrust = findDistrust(request, settings);
  if (distrust !== undefined) return refusal(403, `${distrust.reason} ${distrust.operatorHint}`);
  if (settings.token === undefined || hasToken(request.headers.get("authorization"), settings.token)) return undefined;
  return refusal(401, "A bearer token is needed.", { "www-authenticate": "Bearer" });
}

/** Why a request is refused, and how the operator can allow it. */
export interface Distrust {
  readonly reason: string;
  readonly operatorHint: string;
}

const UNTRUSTED_HOST: Distrust = {
  reason: "This host name is not allowed.",
  operatorHint: "Start the server with each name that clients use: allowedHosts, or --allowed-host.",
};
const UNTRUSTED_ORIGIN: Distrust = {
  reason: "This origin is not allowed.",
  operatorHint:
    "A proxy in front of the server must forward the Host header of its client. To allow other origins, start the server with them: allowedOrigins, or --allowed-origin of haft serve.",
};

/** Checks the host name and the origin of a request. undefined if it is accepted. */
export function findDistrust(request: RequestHead, trusted: Trusted): Distrust | undefined {
  const sentTo = (request.headers.get("host") ?? new URL(request.url).host).toLowerCase();
  const host = HOST.exec(sentTo)?.[1];
  if (host === undefined || !trusted.allowedHosts.includes(host)) return UNTRUSTED_HOST;
  const origin = request.headers.get("origin");
  if (origin !== null && !isAllowedOrigin(origin.toLowerCase(), sentTo, trusted)) return UNTRUSTED_ORIGIN;
  return undefined;
}

const HEALTH_PATHS: ReadonlySet<string> = new Set(["/healthz", "/readyz"]);

/** Whether a request is a health check. Those are answered for any host name: a load balancer uses the server's address, or sends none. */
export function isHealthCheck({ method, url }: Pick<RequestHead, "method" | "url">): boolean {
  return (method === "GET" || method === "HEAD") && HEALTH_PATHS.has(new URL(url).pathname);
}

/** The request without its origin, for a response that pages of every origin may read. */
export function withoutOrigin({ method, url, headers }: RequestHead): RequestHead {
  return { method, url, headers: { get: (name) => (name === "origin" ? null : headers.get(name)) } };
}

/** Returns the response that refuses a request that cannot be a JSON message; undefined if it may be one. */
export function refuseNonJson({ method, headers }: RequestHead): Response | undefined {
  if (method === "GET" || method === "DELETE") return undefined;
  if (method !== "POST") return refusal(405, `${method} is not supported.`, { allow: "POST, GET, DELETE" });
  if (!isJson(headers.get("content-type"))) return refusal(415, "The body must be application/json, in UTF-8.");
  const encoding = headers.get("content-encoding");
  return encoding === null || encoding === "identity" ? undefined : refusal(415, "The body must not be compressed.");
}

/** A JSON-RPC error response that belongs to no request. */
export function refusal(status: number, message: string, headers: Readonly<Record<string, string>> = {}, code: number = -32_000): Response {
  return Response.json({ jsonrpc: "2.0", error: { code, message }, id: null }, { status, headers });
}

/** Another port of this machine is another origin: it is another program, whose pages may be third-party. */
function isAllowedOrigin(origin: string, sentTo: string, { allowedOrigins, corsOrigins }: Trusted): boolean {
  if (corsOrigins?.includes(origin) === true) return true;
  if (origin === `http://${sentTo}` || origin === `https://${sentTo}`) return true;
  if (allowedOrigins === undefined) return false;
  if (allowedOrigins.includes(origin) && origin.includes("://")) return true;
  if (!/^https?:\/\//u.test(origin)) return false;
  const host = HOST.exec(origin.slice(origin.indexOf("//") + 2))?.[1];
  return host !== undefined && allowedOrigins.includes(host);
}

/** Compares in constant time. */
function hasToken(authorization: string | null, token: string): boolean {
  const given = /^bearer +(\S+)$/iu.exec(authorization ?? "")?.[1] ?? "";
  return isSameSecret(given, token);
}

/** Whether the body is JSON in UTF-8. Other charset parameters are refused, since another reader could decode the body differently. */
function isJson(contentType: string | null): boolean {
  const [type = "", ...parameters] = (contentType ?? "")
    .toLowerCase()
    .split(";")
    .map((part) => part.replaceAll(/^[ \t]+|(?<![ \t])[ \t]+$/gu, ""));
  return type === "application/json" && parameters.every((parameter) => /^charset="?utf-?8"?$/u.test(parameter));
}
