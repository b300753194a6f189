/** A person who logs in at once: follows the authorization server's redirect and brings back what it says. */
import type { OAuthClientProvider } from "@modelcontextprotocol/client";
import type { McpOAuth } from "../../src/engine/mcp.ts";

const CALLBACK = "http://localhost:3000/callback";

export interface PersonOptions {
  /** A client that the authorization server knows already. */
  readonly client?: { readonly clientId: string; readonly clientSecret: string; readonly issuer: string };
  /** Where the client describes itself. */
  readonly metadataUrl?: string;
}

export function loggedInAtOnce({ client, metadataUrl }: PersonOptions): McpOAuth {
  let answer = new URLSearchParams();
  const kept: Record<string, unknown> = {};
  const provider = {
    redirectUrl: CALLBACK,
    clientMetadata: { client_name: "haft conformance client", redirect_uris: [CALLBACK] },
    ...(metadataUrl === undefined ? {} : { clientMetadataUrl: metadataUrl }),
    clientInformation: () =>
      client === undefined
        ? kept["information"]
        : { client_id: client.clientId, client_secret: client.clientSecret, issuer: client.issuer },
    ...(client === undefined ? { saveClientInformation: (information: unknown) => void (kept["information"] = information) } : {}),
    tokens: () => kept["tokens"],
    saveTokens: (tokens: unknown) => void (kept["tokens"] = tokens),
    saveCodeVerifier: (verifier: string) => void (kept["verifier"] = verifier),
    codeVerifier: () => kept["verifier"],
    redirectToAuthorization: async (url: URL) => {
      const response = await fetch(url, { redirect: "manual" });
      answer = new URL(response.headers.get("location") ?? CALLBACK).searchParams;
    },
  } as unknown as OAuthClientProvider; // what is kept has the shape that the official client gave it
  return { type: "oauth", provider, callback: () => Promise.resolve(answer) };
}
