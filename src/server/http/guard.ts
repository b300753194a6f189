/** Checks the origin, host and form of every HTTP request before its body is read. */
import { isSameSecret } from "../../net/secret.ts";
import type { HttpSettings } from "../mcp/http-options.ts";
import type { RequestHead } from "./request-head.ts";

/** Which hosts and pages a server answers. */
export interface Trusted {
  readonly allowedHosts: readonly string[];
  /** Besides the server's own origin, its port included. */
  readonly allowedOrigins: readonly string[] | undefined;
  /** Origins that are let in besides. */
  readonly corsOrigins?: readonly string[];
}

const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/u;

/** The answer to a request that is let in no further; undefined for one that is. */
export function refuseUntrusted(request: RequestHead, settings: HttpSettings): Response | undefined {
  const distrust = distrustOf(request, settings);
  if (distrust !== undefined) return refusal(403, `${distrust.reason} ${distrust.operatorHint}`);
  if (settings.token === undefined || hasToken(request.headers.get("authorization"), settings.token)) return undefined;
  return refusal(401, "A bearer token is needed.", { "www-authenticate": "Bearer" });
}

/** Why a request is let in no further, and what the operator can do where it should be. */
export interface Distrust {
  readonly reason: string;
  readonly operatorHint: string;
}

const OTHER_HOST: Distrust = {
  reason: "This host name is not served.",
  operatorHint: "Start the server with each name that clients use: allowedHosts, or --allowed-host.",
};
const OTHER_ORIGIN: Distrust = {
  reason: "This origin is not served.",
  operatorHint:
    "A proxy in front of the server must send the Host header of its client on. Other pages are named when the server is started: allowedOrigins, or --allowed-origin of haft serve.",
};

/** The reason is another host name, or a page of another origin. Undefined for a request that is let in. */
export function distrustOf(request: RequestHead, trusted: Trusted): Distrust | undefined {
  const sentTo = (request.headers.get("host") ?? new URL(request.url).host).toLowerCase();
  const host = HOST.exec(sentTo)?.[1];
  if (host === undefined || !trusted.allowedHosts.includes(host)) return OTHER_HOST;
  const origin = request.headers.get("origin");
  if (origin !== null && !isAllowedOrigin(origin.toLowerCase(), sentTo, trusted)) return OTHER_ORIGIN;
  return undefined;
}

const HEALTH_PATHS: ReadonlySet<string> = new Set(["/healthz", "/readyz"]);

/** Answered whatever the host: a balancer that looks whether the server takes requests names it by its address, or not at all. */
export function isHealth({ method, url }: Pick<RequestHead, "method" | "url">): boolean {
  return (method === "GET" || method === "HEAD") && HEALTH_PATHS.has(new URL(url).pathname);
}

/** The same request as of no page: for an answer that pages of every origin may read. */
export function withoutOrigin({ method, url, headers }: RequestHead): RequestHead {
  return { method, url, headers: { get: (name) => (name === "origin" ? null : headers.get(name)) } };
}

/** The answer to a request that is not a JSON message; undefined for one that may be. */
export function refuseForm({ method, headers }: RequestHead): Response | undefined {
  if (method === "GET" || method === "DELETE") return undefined;
  if (method !== "POST") return refusal(405, `${method} is not served.`, { allow: "POST, GET, DELETE" });
  if (!isJson(headers.get("content-type"))) return refusal(415, "The body must be application/json, in UTF-8.");
  const encoding = headers.get("content-encoding");
  return encoding === null || encoding === "identity" ? undefined : refusal(415, "The body must not be compressed.");
}

/** An error of the protocol without a request that it answers. */
export function refusal(status: number, message: string, headers: Readonly<Record<string, string>> = {}, code: number = -32_000): Response {
  return Response.json({ jsonrpc: "2.0", error: { code, message }, id: null }, { status, headers });
}

/** Another port of this machine is another origin: whatever runs there is another program, and its pages may be anybody's. */
function isAllowedOrigin(origin: string, sentTo: string, { allowedOrigins, corsOrigins }: Trusted): boolean {
  if (corsOrigins?.includes(origin) === true) return true;
  if (origin === `http://${sentTo}` || origin === `https://${sentTo}`) return true;
  if (allowedOrigins === undefined) return false;
  if (allowedOrigins.includes(origin) && origin.includes("://")) return true;
  if (!/^https?:\/\//u.test(origin)) return false;
  const host = HOST.exec(origin.slice(origin.indexOf("//") + 2))?.[1];
  return host !== undefined && allowedOrigins.includes(host);
}

/** Takes as long for a token that is nearly right. */
function hasToken(authorization: string | null, token: string): boolean {
  const given = /^bearer +(\S+)$/iu.exec(authorization ?? "")?.[1] ?? "";
  return isSameSecret(given, token);
}

/** Parameters other than UTF-8 as the charset could make others read it differently. */
function isJson(contentType: string | null): boolean {
  const [type = "", ...parameters] = (contentType ?? "")
    .toLowerCase()
    .split(";")
    .map((part) => part.replaceAll(/^[ \t]+|(?<![ \t])[ \t]+$/gu, ""));
  return type === "application/json" && parameters.every((parameter) => /^charset="?utf-?8"?$/u.test(parameter));
}
