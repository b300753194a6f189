/** One token that may do everything: for a server that one person uses. */
import { createHash, timingSafeEqual } from "node:crypto";
import { ToolError } from "../../core/error.ts";
import type { Authenticator, Principal, Scope } from "./principal.ts";

/** What the bearer of a static token is taken for. */
export interface StaticTokenOptions {
  /** @default "local" */
  readonly id?: string;
  /** @default "local" */
  readonly name?: string;
  /** @default all */
  readonly scopes?: readonly Scope[];
}

const LEAST_TOKEN_LENGTH = 16;

/**
 * Knows one principal by `Authorization: Bearer <token>`. Takes as long for a token that is nearly right.
 *
 * @throws ToolError `invalid_argument` for a token of less than 16 characters
 */
export function staticToken(token: string, { id = "local", name = "local", scopes = ["admin"] }: StaticTokenOptions = {}): Authenticator {
  if (typeof token !== "string" || token.length < LEAST_TOKEN_LENGTH)
    throw new ToolError("invalid_argument", `The token of a server is a string of at least ${LEAST_TOKEN_LENGTH} characters.`);
  const wanted = digest(token);
  const principal: Principal = Object.freeze({ id, name, scopes: new Set(scopes) });
  return {
    async authenticate(request) {
      const given = bearerToken(request.headers.get("authorization"));
      return given !== undefined && timingSafeEqual(digest(given), wanted) ? principal : undefined;
    },
  };
}

/** The token of an `Authorization` header; undefined where it has none. */
export function bearerToken(authorization: string | null): string | undefined {
  return /^bearer +(\S+)$/iu.exec(authorization ?? "")?.[1];
}

function digest(text: string): Uint8Array {
  return createHash("sha256").update(text).digest();
}
