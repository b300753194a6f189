/** Challenges for requests without the right credentials, by RFC 6750, and by RFC 9728 if an issuer gives tokens. */
import type { JsonObject } from "../../core/base/json.ts";

export interface ChallengeOptions {
  /** The address of the metadata document; undefined if no issuer gives tokens. */
  readonly resourceMetadata?: string | undefined;
  /** undefined if the request had no credentials: RFC 6750 defines no error for that. */
  readonly error?: "invalid_token" | "insufficient_scope" | undefined;
  /** The scope that is needed, which a client can ask its user for. */
  readonly scope?: string | undefined;
}

/**
 * Returns the value of `WWW-Authenticate`.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6750#section-3 and https://www.rfc-editor.org/rfc/rfc9728#section-5.1
 */
export function formatChallenge({ resourceMetadata, error, scope }: ChallengeOptions): string {
  const parameters = { realm: "haft", error, scope, resource_metadata: resourceMetadata };
  const parts = Object.entries(parameters).flatMap(([name, value]) => (value === undefined ? [] : [`${name}="${value}"`]));
  return `Bearer ${parts.join(", ")}`;
}

/** A server as a protected resource. */
export interface ProtectedResource {
  /** The address of the server as its clients know it, which is the audience of their tokens: `https://tools.example/mcp`. */
  readonly resource: string;
  /** Issuers whose tokens are accepted. */
  readonly issuers: readonly string[];
  /** Names of scopes that clients can ask an issuer for. */
  readonly scopes: readonly string[];
}

/** The address of a resource's metadata document: `.well-known` goes before the path of the resource (RFC 9728, section 3.1). */
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
