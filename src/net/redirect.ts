/** Makes the next request of a redirect. */
import { ToolError } from "../core/error.ts";
import type { HttpHeader } from "./http-request.ts";

/** One request in a series of redirects. */
export interface Hop {
  readonly method: string;
  readonly url: URL;
  readonly headers: readonly HttpHeader[];
  readonly body: Uint8Array | undefined;
}

export interface HopSecrets {
  /** Names in lower case. */
  readonly headers: ReadonlySet<string>;
  readonly query: readonly string[];
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const BODY_HEADERS: ReadonlySet<string> = new Set(["content-encoding", "content-language", "content-location", "content-type"]);

/**
 * Returns the request that a redirect asks for, as fetch makes it; undefined if `status` and `location` are not a redirect.
 *
 * If the origin changes, which includes scheme and port, the secrets are dropped, also for later redirects.
 *
 * @see https://fetch.spec.whatwg.org/#http-redirect-fetch
 * @throws ToolError `network_error` for a location that is not an address
 */
export function resolveRedirect(
  hop: Hop,
  answer: { readonly status: number; readonly location: string | undefined },
  secrets: HopSecrets,
): Hop | undefined {
  const { status, location } = answer;
  if (location === undefined || !REDIRECTS.has(status)) return undefined;
  const url = readLocation(location, hop.url);
  const becomesGet = status === 303 ? hop.method !== "GET" && hop.method !== "HEAD" : status < 303 && hop.method === "POST";
  const moved = becomesGet ? removeBody(hop) : hop;
  if (url.origin === hop.url.origin) return { ...moved, url };
  // `delete()` rewrites the whole query, even if there is nothing to delete
  for (const name of secrets.query) if (url.searchParams.has(name)) url.searchParams.delete(name);
  return { ...moved, url, headers: moved.headers.filter(([name]) => !secrets.headers.has(name.toLowerCase())) };
}

function removeBody(hop: Hop): Hop {
  const headers = hop.headers.filter(([name]) => !BODY_HEADERS.has(name.toLowerCase()));
  return { method: "GET", url: hop.url, headers, body: undefined };
}

/** Node decodes headers as Latin-1; servers write non-ASCII text there as UTF-8. */
function readLocation(location: string, base: URL): URL {
  const text = Buffer.from(location, "latin1").toString("utf8");
  if (URL.canParse(text, base.href)) return new URL(text, base.href);
  throw new ToolError("network_error", `${base.host} redirects to something that is not a URL.`, { retryable: false });
}
