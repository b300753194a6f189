/** The tokens of a user who has logged in, as a store keeps them. */
import { isJsonObject, type JsonObject } from "../../../core/base/json.ts";
import { redactor, type Redact } from "../../../core/base/redact.ts";

/** The tokens of a user who has logged in, and how long they last. */
export interface Tokens {
  readonly access_token: string;
  readonly refresh_token?: string;
  /** In milliseconds since 1970. */
  readonly expiresAt?: number;
  /** The authorization server that gave them. */
  readonly issuer?: string;
  /** The scopes that the user gave, with spaces between. */
  readonly scope?: string;
  /** That of the client that got them. */
  readonly redirectUrl?: string;
  /** The scopes that it was registered for, where there are several clients: those that a login for a wider token asked for. */
  readonly clientScope?: string;
  /** The id of the client, where it is the address of its metadata document. */
  readonly clientMetadataUrl?: string;
}

/** Undefined where the entry has none. */
export function tokensIn(kept: JsonObject | undefined): Tokens | undefined {
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
  /** The toolset. */
  readonly server: string;
  readonly loggedIn: boolean;
  /** When the token ends, in milliseconds since 1970; left out where it is renewed by itself, or its end is not known. */
  readonly endsAt?: number;
}

/** @param tokens undefined for a user who has none */
export function loginOf(server: string, tokens: Tokens | undefined, wallTime: number): UserLogin {
  const { refresh_token: refresh, expiresAt: endsAt } = tokens ?? { expiresAt: 0 };
  const isOver = refresh === undefined && endsAt !== undefined && endsAt <= wallTime;
  return { server, loggedIn: !isOver, ...(isOver || refresh !== undefined || endsAt === undefined ? {} : { endsAt }) };
}

/**
 * The scopes to ask a user for who lacks some: those and the ones that they gave before, which a new token would lack otherwise. Undefined where the token
 * has them all, so that another one would be refused as well.
 */
export function widenedScope({ scope = "" }: Tokens, lacking: string): string | undefined {
  const given = new Set(scope.split(" ").filter((name) => name !== ""));
  const wanted = lacking.split(" ").filter((name) => name !== "" && !given.has(name));
  if (wanted.length === 0) return undefined;
  const kept = [...given].filter((name) => !wanted.some((other) => excludes(name, other)));
  return [...kept, ...wanted].join(" ");
}

/**
 * The scopes, with spaces between, that a token lacks though its user's last login asked for them: another login would end as that one did. Undefined where
 * there are none.
 */
export function withheldScope({ scope = "", clientScope = "" }: Tokens, lacking: string): string | undefined {
  const [given, asked] = [new Set(scope.split(" ")), new Set(clientScope.split(" "))];
  const withheld = lacking.split(" ").filter((name) => name !== "" && asked.has(name) && !given.has(name));
  return withheld.length === 0 ? undefined : withheld.join(" ");
}

/**
 * Whether an authorization server refuses two scopes together. Entra does with `api://<id>/.default`, which means all that was allowed before, and
 * single scopes of a resource.
 *
 * @see https://learn.microsoft.com/en-us/entra/identity-platform/scopes-oidc#the-default-scope (2026-11)
 */
function excludes(one: string, other: string): boolean {
  const isAll = (name: string): boolean => name.endsWith("/.default");
  const isOfResource = (name: string): boolean => name.includes("://");
  return (isAll(one) && isOfResource(other)) || (isAll(other) && isOfResource(one));
}

/** Takes the tokens out of a text. */
export function redactTokens(tokens: Tokens | undefined): Redact {
  const { access_token: token = "", refresh_token: refresh = "" } = tokens ?? {};
  return redactor({ token, "refresh token": refresh });
}
