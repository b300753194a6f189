import { isJsonObject, type JsonObject } from "../../../core/base/json.ts";
import { createRedactor, type Redact } from "../../../core/secrets/redact.ts";

/** The tokens of a logged-in user, and their expiry. */
export interface Tokens {
  readonly access_token: string;
  readonly refresh_token?: string;
  /** When the access token expires, in milliseconds since 1970. */
  readonly expiresAt?: number;
  /** The authorization server that issued them. */
  readonly issuer?: string;
  /** The scopes that the user granted, space-separated. */
  readonly scope?: string;
  /** The redirect address of the client that got them. */
  readonly redirectUrl?: string;
  /** The scopes that the client was registered for, if there are several clients: those of a login for more scopes. */
  readonly clientScope?: string;
  /** The id of the client, if it is the address of its metadata document. */
  readonly clientMetadataUrl?: string;
}

/** The tokens in an entry of a store; undefined if it has none. */
export function readTokens(kept: JsonObject | undefined): Tokens | undefined {
  const tokens = kept?.["tokens"];
  if (!isJsonObject(tokens) || typeof tokens["access_token"] !== "string") return undefined;
  const { access_token, refresh_token, issuer, scope } = tokens;
  const { expiresAt, redirectUrl, clientScope, clientMetadataUrl } = kept ?? {};
  return {
    access_token,
    ...(typeof refresh_token === "string" ? { refresh_token } : {}),
    ...(typeof issuer === "string" ? { issuer } : {}),
    ...(typeof scope === "string" ? { scope } : {}),
    ...(typeof expiresAt === "number" ? { expiresAt } : {}),
    ...(typeof redirectUrl === "string" ? { redirectUrl } : {}),
    ...(typeof clientScope === "string" ? { clientScope } : {}),
    ...(typeof clientMetadataUrl === "string" ? { clientMetadataUrl } : {}),
  };
}

/** Whether a user is logged in to a server. */
export interface UserLogin {
  /** The name of the toolset. */
  readonly server: string;
  readonly loggedIn: boolean;
  /** When the token expires, in milliseconds since 1970; left out if it is renewed automatically, or its expiry is not known. */
  readonly endsAt?: number;
}

/** @param tokens undefined for a user without tokens */
export function toUserLogin(server: string, tokens: Tokens | undefined, wallTime: number): UserLogin {
  const { refresh_token: refresh, expiresAt: endsAt } = tokens ?? { expiresAt: 0 };
  const isOver = refresh === undefined && endsAt !== undefined && endsAt <= wallTime;
  return { server, loggedIn: !isOver, ...(isOver || refresh !== undefined || endsAt === undefined ? {} : { endsAt }) };
}

/**
 * The scopes to request from a user whose token lacks some: those, and the ones granted before, which a new token would otherwise lose. Undefined if
 * the token has them all, as a new one would be refused as well.
 */
export function widenScope({ scope = "" }: Tokens, lacking: string): string | undefined {
  const given = new Set(scope.split(" ").filter((name) => name !== ""));
  const wanted = lacking.split(" ").filter((name) => name !== "" && !given.has(name));
  if (wanted.length === 0) return undefined;
  const kept = [...given].filter((name) => !wanted.some((other) => scopesConflict(name, other)));
  return [...kept, ...wanted].join(" ");
}

/**
 * The scopes, space-separated, that a token lacks although the user's last login requested them: another login would end the same way. Undefined if
 * there are none.
 */
export function findWithheldScope({ scope = "", clientScope = "" }: Tokens, lacking: string): string | undefined {
  const [given, asked] = [new Set(scope.split(" ")), new Set(clientScope.split(" "))];
  const withheld = lacking.split(" ").filter((name) => name !== "" && asked.has(name) && !given.has(name));
  return withheld.length === 0 ? undefined : withheld.join(" ");
}

/**
 * Whether an authorization server refuses two scopes together. Entra does so for `api://<id>/.default`, which means everything granted before, and
 * single scopes of a resource.
 *
 * @see https://learn.microsoft.com/en-us/entra/identity-platform/scopes-oidc#the-default-scope (2026-11)
 */
function scopesConflict(one: string, other: string): boolean {
  const isAll = (name: string): boolean => name.endsWith("/.default");
  const isOfResource = (name: string): boolean => name.includes("://");
  return (isAll(one) && isOfResource(other)) || (isAll(other) && isOfResource(one));
}

/** Removes the tokens from a text. */
export function redactTokens(tokens: Tokens | undefined): Redact {
  const { access_token: token = "", refresh_token: refresh = "" } = tokens ?? {};
  return createRedactor({ token, "refresh token": refresh });
}
