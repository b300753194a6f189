/** Selects the credentials that an operation needs from those of the program, and adds them to requests. */
import type { HttpHeader } from "../../net/http-request.ts";
import { ToolError } from "../../core/error.ts";
import type { HttpOperation, SecurityScheme } from "./http-operation.ts";
import { AccessTokenCache, type TokenPorts } from "./access-token-cache.ts";
import { authEntries, type ApiKey, type RestAuth, type RestOptions } from "./rest-options.ts";
import { encodeBasicCredentials } from "../../net/basic-credentials.ts";

interface Credential {
  readonly scheme: string | undefined;
  readonly auth: RestAuth;
  readonly tokenCache: AccessTokenCache | undefined;
}

/** The credentials of one call. */
export interface RequestCredentials {
  readonly headers: readonly HttpHeader[];
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly cookies: readonly string[];
  /** The kinds of credentials, without their values, as the end of the sentence "It was sent …". */
  readonly described: string;
  /** Discards a fetched token that was refused. Returns false if there is none, so that another attempt would not help. */
  discardToken(): boolean;
}

export class Credentials {
  readonly #credentials: readonly Credential[];
  /** Whether the credentials are not bound to security schemes: all of them are used for every operation that needs any. */
  readonly #isUnbound: boolean;

  constructor(auth: RestOptions["auth"], ports: TokenPorts) {
    const entries = authEntries(auth);
    this.#isUnbound = entries.length > 0 && entries.every(([scheme]) => scheme === undefined);
    this.#credentials = entries.map(([scheme, each]) => ({
      scheme,
      auth: each,
      tokenCache: each.type === "oauth2" ? new AccessTokenCache(each, ports) : undefined,
    }));
  }

  /** Rejects if a token is needed and cannot be fetched; see `AccessTokenCache.token`. */
  async getCredentials(operation: HttpOperation, signal: AbortSignal): Promise<RequestCredentials> {
    const chosen = this.#selectCredentials(operation);
    if (chosen.length === 0) return noCredentials(operation);
    const parts = new CredentialsBuilder();
    for (const credential of chosen) await parts.add(credential, operation, signal);
    return parts.build();
  }

  close(): void {
    for (const { tokenCache } of this.#credentials) tokenCache?.close();
  }

  /** The credentials of the first requirement that can be met; all credentials if the document declares no security. */
  #selectCredentials({ security }: HttpOperation): readonly Credential[] {
    if (security === undefined) return this.#credentials;
    const needs = security.filter((requirement) => requirement.length > 0);
    if (this.#isUnbound) return needs.length === 0 ? [] : this.#credentials;
    for (const requirement of needs) {
      const found = requirement.map(({ name }) => this.#credentials.find(({ scheme }) => scheme === name));
      const complete = found.filter((credential) => credential !== undefined);
      if (complete.length === requirement.length) return complete;
    }
    return [];
  }
}

/** Which credential is used if several would set the Authorization header: tokens rank higher than a password. */
const RANKS = { bearer: 3, oauth2: 2, basic: 1, apiKey: 0 } as const satisfies Record<RestAuth["type"], number>;

class CredentialsBuilder {
  readonly #headers: HttpHeader[] = [];
  readonly #query: (readonly [string, string])[] = [];
  readonly #cookies: string[] = [];
  readonly #described: string[] = [];
  #authorization:
    | { readonly rank: number; readonly value: string; readonly described: string; readonly discardToken: () => boolean }
    | undefined;

  async add({ auth, tokenCache, scheme }: Credential, operation: HttpOperation, signal: AbortSignal): Promise<void> {
    if (auth.type === "apiKey") return this.#addKey(auth.value, resolveKeyPlace(auth, scheme, operation));
    const rank = RANKS[auth.type];
    if (this.#authorization !== undefined && this.#authorization.rank >= rank) return;
    const never = (): boolean => false;
    if (auth.type === "basic") {
      this.#authorization = {
        rank,
        value: `Basic ${encodeBasicCredentials(auth)}`,
        described: "a user name and password",
        discardToken: never,
      };
    } else if (auth.type === "bearer") {
      this.#authorization = { rank, value: `Bearer ${auth.token}`, described: "a bearer token", discardToken: never };
    } else if (tokenCache !== undefined) {
      const token = await tokenCache.token(signal);
      const discardToken = (): boolean => {
        tokenCache.discard(token);
        return true;
      };
      this.#authorization = { rank, value: `Bearer ${token}`, described: "an access token of OAuth client credentials", discardToken };
    }
  }

  build(): RequestCredentials {
    const authorization = this.#authorization;
    const described = [...(authorization === undefined ? [] : [authorization.described]), ...this.#described];
    return {
      headers: [...(authorization === undefined ? [] : [["authorization", authorization.value] as const]), ...this.#headers],
      query: this.#query,
      cookies: this.#cookies,
      described: `with ${described.join(" and ")}`,
      discardToken: authorization?.discardToken ?? (() => false),
    };
  }

  #addKey(value: string, place: KeyPlace | undefined): void {
    if (place === undefined)
      throw new ToolError("unavailable", "The document does not say where this operation takes its API key; nothing was sent.", {
        operatorHint: "Set name in auth, and in: header, query or cookie.",
      });
    if (place.in === "header") this.#headers.push([place.name.toLowerCase(), value]);
    else if (place.in === "query") this.#query.push([place.name, value]);
    else this.#cookies.push(`${place.name}=${value}`);
    this.#described.push(`an API key (${place.in} ${place.name})`);
  }
}

type KeyPlace = Required<Pick<ApiKey, "in" | "name">>;

/** The header, query parameter or cookie of a key: as the program says, else as the security scheme says. Undefined if neither names it. */
export function resolveKeyPlace(
  auth: ApiKey,
  scheme: string | undefined,
  { security = [] }: Pick<HttpOperation, "security">,
): KeyPlace | undefined {
  const declared = security
    .flat()
    .filter((use) => scheme === undefined || use.name === scheme)
    .map((use) => use.scheme)
    .find(
      (one) =>
        one.type === "apiKey" && (auth.in === undefined || auth.in === one.in) && (auth.name === undefined || isSameName(auth.name, one)),
    );
  const name = auth.name ?? (declared?.type === "apiKey" ? declared.name : undefined);
  if (name === undefined) return undefined;
  return { in: auth.in ?? (declared?.type === "apiKey" ? declared.in : "header"), name };
}

function isSameName(name: string, declared: SecurityScheme & { readonly type: "apiKey" }): boolean {
  return declared.in === "header" ? declared.name.toLowerCase() === name.toLowerCase() : declared.name === name;
}

function noCredentials({ security }: HttpOperation): RequestCredentials {
  const wanted = (security ?? []).flatMap((requirement) =>
    requirement.length === 0 ? [] : [requirement.map(({ name }) => name).join(" and ")],
  );
  const names = wanted.length === 0 ? "" : `; the document asks for ${wanted.slice(0, 5).join(" or ")}`;
  return { headers: [], query: [], cookies: [], described: `without credentials${names}`, discardToken: () => false };
}
