/** The answer to a request without the right credentials: how to get them, by RFC 6750, and by RFC 9728 where an issuer gives them. */
import type { JsonObject } from "../../core/base/json.ts";

export interface ChallengeOptions {
  /** The address of the metadata document; undefined where no issuer gives tokens. */
  readonly resourceMetadata?: string | undefined;
  /** Left out where the request brought no credentials: RFC 6750 says nothing of an error then. */
  readonly error?: "invalid_token" | "insufficient_scope" | undefined;
  /** The scope that is needed: a client can ask its user for it. */
  readonly scope?: string | undefined;
}

/**
 * The value of `WWW-Authenticate`.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6750#section-3 and https://www.rfc-editor.org/rfc/rfc9728#section-5.1
 */
export function challenge({ resourceMetadata, error, scope }: ChallengeOptions): string {
  const parameters = { realm: "haft", error, scope, resource_metadata: resourceMetadata };
  const parts = Object.entries(parameters).flatMap(([name, value]) => (value === undefined ? [] : [`${name}="${value}"`]));
  return `Bearer ${parts.join(", ")}`;
}

/** A server as a protected resource. */
export interface ProtectedResource {
  /** The address of the server as its clients know it, which is the audience of their tokens: `https://tools.example/mcp`. */
  readonly resource: string;
  /** The issuers whose tokens are let in. */
  readonly issuers: readonly string[];
  /** The names of scopes that clients can ask an issuer for. */
  readonly scopes: readonly string[];
}

/** Where the metadata document of a resource is found: before the path of the resource, as section 3.1 of RFC 9728 says. */
export function metadataUrl(resource: string): URL {
  const { origin, pathname, search } = new URL(resource);
  return new URL(`/.well-known/oauth-protected-resource${pathname === "/" ? "" : pathname}${search}`, origin);
}

/** @see https://www.rfc-editor.org/rfc/rfc9728#section-2 */
export function resourceMetadata({ resource, issuers, scopes }: ProtectedResource): JsonObject {
  return {
    resource,
    authorization_servers: [...issuers],
    scopes_supported: [...scopes],
    bearer_methods_supported: ["header"],
    resource_name: "Haft",
  };
}
