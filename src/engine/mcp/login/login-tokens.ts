/** The tokens of a user who has logged in, as a store keeps them. */
import { isJsonObject, type JsonObject } from "../../../core/base/json.ts";
import { redactor, type Redact } from "../../../core/base/redact.ts";

/** The tokens of a user who has logged in, and how long they last. */
export interface Tokens {
  readonly access_token: string;
  readonly refresh_token?: string;
  /** In milliseconds since 1970. */
  readonly expiresAt?: number;
  /** That of the client that got them. */
  readonly redirectUrl?: string;
}

/** Undefined where the entry has none. */
export function tokensIn(kept: JsonObject | undefined): Tokens | undefined {
  const tokens = kept?.["tokens"];
  if (!isJsonObject(tokens) || typeof tokens["access_token"] !== "string") return undefined;
  const { access_token, refresh_token } = tokens;
  const { expiresAt, redirectUrl } = kept ?? {};
  return {
    access_token,
    ...(typeof refresh_token === "string" ? { refresh_token } : {}),
    ...(typeof expiresAt === "number" ? { expiresAt } : {}),
    ...(typeof redirectUrl === "string" ? { redirectUrl } : {}),
  };
}

/** Takes the tokens out of a text. */
export function redactTokens(tokens: Tokens | undefined): Redact {
  const { access_token: token = "", refresh_token: refresh = "" } = tokens ?? {};
  return redactor({ token, "refresh token": refresh });
}
