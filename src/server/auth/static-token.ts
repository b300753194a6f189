/** Authenticates by one secret that all clients share, for a server of one person. */
import { ToolError } from "../../core/error.ts";
import { checkString } from "../../core/check-argument.ts";
import { checkKnownKeys } from "../../core/known-keys.ts";
import { bearerToken, isBearerToken } from "./credentials.ts";
import { createSecretCheck } from "../../net/secret.ts";
import type { RequestHead } from "../http/request-head.ts";
import { SCOPES, markHeadOnly, type Authenticator, type Principal, type Scope } from "./principal.ts";

/** Options of `staticToken`. */
export interface StaticTokenOptions {
  /** The secret, of at least 16 characters: letters, digits and `-._~+/`, with `=` only at its end. */
  readonly token: string;
  /** @default "local" */
  readonly id?: string;
  /** @default all */
  readonly scopes?: readonly Scope[];
}

const MIN_LENGTH = 16;

/** Makes an authenticator for requests with the secret as their bearer token. @throws ToolError `invalid_argument` */
export function staticToken(options: StaticTokenOptions): Authenticator {
  checkKnownKeys(options, { token: "string", id: "string", scopes: "strings" }, "staticToken()");
  checkString(options.token, "staticToken({ token })", "a secret");
  const { token, id = "local", scopes = SCOPES } = options;
  if (typeof token !== "string" || token.length < MIN_LENGTH)
    throw new ToolError("invalid_argument", `The token of a server must have at least ${MIN_LENGTH} characters.`);
  if (!isBearerToken(token))
    throw new ToolError("invalid_argument", "The token of a server has a character that clients cannot send in a bearer token.", {
      hint: "Use letters, digits and -._~+/ only, without a line break at the end.",
    });
  const principal = Object.freeze({ id, name: id, scopes: new Set(scopes) });
  const isToken = createSecretCheck(token);
  const authenticate = async (head: Pick<RequestHead, "headers">): Promise<Principal | undefined> =>
    isToken(bearerToken(head) ?? "") ? principal : undefined;
  const find = async (wanted: string): Promise<Principal | undefined> => (wanted === id ? principal : undefined);
  return markHeadOnly({ authenticate, authenticateHead: authenticate, find });
}
