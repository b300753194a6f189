/**
 * The document with which a client describes itself to authorization servers instead of registering: its address is the client's id.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization#client-id-metadata-documents
 * @see https://datatracker.ietf.org/doc/draft-ietf-oauth-client-id-metadata-document/
 */
import type { JsonObject } from "../../../core/base/json.ts";

/** The path at which the login pages serve the document of their own client, after the address of their server. */
export const DOCUMENT_PATH = "/upstreams/client.json";
/** Matches dot segments in the text of an address: a parsed URL no longer has them. */
const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?:[/?#]|$)/iu;

/** Why an address cannot be the id of a client, as the end of a sentence; undefined if it can. */
export function findDocumentUrlProblem(address: unknown): string | undefined {
  const text = typeof address === "string" ? address : "";
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const reason =
    url?.protocol !== "https:"
      ? "not an https address"
      : url.pathname === "/"
        ? "an address without a path"
        : url.username !== "" || url.password !== ""
          ? "an address with a name or password"
          : text.includes("#")
            ? "an address with a fragment"
            : url.href !== text || DOT_SEGMENT.test(text)
              ? `not written as ${url.href}`
              : undefined;
  return (
    reason && `is ${reason}: it takes the https address of a client's metadata document, such as https://tools.example${DOCUMENT_PATH}`
  );
}

/** The addresses of the pages that a document describes; undefined if there are none. */
export interface DocumentedPages {
  readonly server: string | undefined;
  readonly callback: string | undefined;
  readonly document: string | undefined;
}

/** The response with the document of the pages; undefined if authorization servers would not accept it. */
export function documentResponse({ server, callback, document: id }: DocumentedPages): Response | undefined {
  if (server === undefined || callback === undefined || id?.startsWith("https:") !== true) return undefined;
  const document: JsonObject = {
    client_id: id,
    client_name: "haft",
    client_uri: server,
    redirect_uris: [callback],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
  return Response.json(document, { headers: { "cache-control": "max-age=3600", "x-content-type-options": "nosniff" } });
}

/** The configured document, unless it is that of other login pages than these (`own`), as it lists only their redirect address. */
export function selectClientDocument(configured: string | undefined, own: string): string | undefined {
  return configured?.endsWith(DOCUMENT_PATH) === true && configured !== own ? undefined : configured;
}
