/** Accepts bearer tokens that an issuer signs for this server, as a protected resource of OAuth 2.1. Tokens are verified, never passed on. */
import { quoteValue } from "../../core/base/wording.ts";
import type { JWTPayload, JWTVerifyOptions, JWTVerifyResult } from "jose";
import { copyJson, isJsonObject, type JsonValue } from "../../core/base/json.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { ToolError } from "../../core/error.ts";
import { checkArgument, checkString } from "../../core/check-argument.ts";
import { loadPackage } from "../../core/system/lazy-package.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import type { Clock, Log } from "../../core/ports.ts";
import { describeFetchFailure } from "../../net/guarded-fetch.ts";
import type { RequestHead } from "../http/request-head.ts";
import { bearerToken } from "./credentials.ts";
import { IssuerKeys, IssuerKeysUnavailable, checkSafeAddress } from "./issuer-keys.ts";
import { readScopeNames, grantedScopes, type IssuerScopes } from "./issuer-scopes.ts";
import { SCOPES, markHeadOnly, type Authenticator, type Principal } from "./principal.ts";

/** An issuer, and which of its tokens are accepted. */
export interface IssuerTokensOptions extends IssuerScopes {
  /** The exact `iss` of its tokens. */
  readonly issuer: string;
  /** The `aud` that a token must have, or several of which it must have one: the address of this server. Tokens for other servers are refused. */
  readonly audience: string | readonly string[];
  /** Accepted signature algorithms: asymmetric ones, whose keys the issuer publishes. @default RS256, PS256, ES256, EdDSA and Ed25519 */
  readonly algorithms?: readonly string[];
  /** The address of the keys. @default that of the issuer's metadata */
  readonly jwksUrl?: string;
  /** The `typ` that a token must have, such as `at+jwt`. @default `at+jwt` or `JWT` */
  readonly tokenType?: string;
  /** Maximum difference of the clocks, in seconds. @default 30 */
  readonly clockToleranceSeconds?: number;
}

/** The clock by which tokens expire, the log, and how the issuer is reached. */
export interface IssuerTokensPorts {
  readonly clock: Clock;
  readonly log: Log;
  /** Fetches the keys. Use a guarded `fetch`: the issuer chooses the addresses. */
  readonly fetch: typeof fetch;
}

const OPTIONS: OptionNames<IssuerTokensOptions> = {
  issuer: true,
  audience: true,
  algorithms: "strings",
  jwksUrl: true,
  scopeClaim: "string",
  scopes: "object",
  tokenType: "string",
  clockToleranceSeconds: true,
};
const DEFAULT_ALGORITHMS: readonly string[] = ["RS256", "PS256", "ES256", "EdDSA", "Ed25519"];
/** Asymmetric algorithms only: a symmetric signature could be forged with the public keys. */
const ALGORITHM = /^(?:(?:RS|PS|ES)(?:256|384|512)|EdDSA|Ed25519)$/u;
const TOKEN_TYPES: readonly string[] = ["at+jwt", "application/at+jwt", "jwt"];
const DEFAULT_TOLERANCE_SECONDS = 30;

type Jose = typeof import("jose");

/**
 * Makes an authenticator for requests with a token of the issuer. Needs the package `jose`, which is loaded at once so that a missing one is found
 * before the first request.
 *
 * A token is accepted if a published key and an allowed algorithm verify its signature, it is meant for this audience, it has begun and not expired,
 * and it has a subject (`sub`). While the key of a token is unknown and the issuer cannot be asked for it, the token is neither accepted nor refused:
 * the authenticator rejects with `unavailable`.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9068#section-4 and https://modelcontextprotocol.io/specification/draft/basic/authorization
 * @throws ToolError `invalid_argument`; `unavailable` if `jose` is not installed; as a rejection
 */
export async function issuerTokens(options: IssuerTokensOptions, ports: IssuerTokensPorts): Promise<Authenticator> {
  checkOptions(options);
  checkArgument(
    typeof ports?.fetch === "function",
    "issuerTokens(options, ports)",
    "ports with fetch",
    ports,
    "{ ...runtime.ports, fetch }",
  );
  const jose = await loadJose();
  const { issuer, jwksUrl } = options;
  const keys = new IssuerKeys({ issuer, jwksUrl, fetch: ports.fetch, clock: ports.clock, jose });
  return new IssuerTokens(options, { ...ports, jose, keys });
}

interface TokenParts extends IssuerTokensPorts {
  readonly jose: Jose;
  readonly keys: IssuerKeys;
}

class IssuerTokens implements Authenticator {
  static {
    markHeadOnly(this.prototype);
  }

  readonly #options: IssuerTokensOptions;
  readonly #parts: TokenParts;
  #loggedAt = -Infinity;

  constructor(options: IssuerTokensOptions, parts: TokenParts) {
    this.#options = options;
    this.#parts = parts;
  }

  authenticate(request: Request): Promise<Principal | undefined> {
    return this.authenticateHead(request);
  }

  async authenticateHead(head: RequestHead): Promise<Principal | undefined> {
    const token = bearerToken(head);
    // a JWT has three parts; other credentials are for other authenticators
    if (token === undefined || token.split(".").length !== 3) return undefined;
    try {
      return this.#principalOf(await this.#verify(token));
    } catch (thrown: unknown) {
      this.#logFailure(thrown);
      if (thrown instanceof IssuerKeysUnavailable) throw thrown;
      return undefined;
    }
  }

  async #verify(token: string): Promise<JWTPayload> {
    const {
      issuer,
      audience,
      algorithms = DEFAULT_ALGORITHMS,
      tokenType,
      clockToleranceSeconds = DEFAULT_TOLERANCE_SECONDS,
    } = this.#options;
    const { jose, keys, clock } = this.#parts;
    // checked first, so that this issuer's keys are not fetched for a token of another issuer
    if (jose.decodeJwt(token).iss !== issuer) throw new jose.errors.JWTInvalid("The token is of another issuer.");
    const wanted: JWTVerifyOptions = {
      issuer,
      audience: typeof audience === "string" ? audience : [...audience],
      algorithms: [...algorithms],
      requiredClaims: ["exp", "sub"],
      clockTolerance: clockToleranceSeconds,
      currentDate: new Date(clock.wallTime()),
      ...omitUndefined({ typ: tokenType }),
    };
    const before = keys.current;
    const { payload, protectedHeader } = await this.#verifySignature(token, wanted).catch(async (thrown: unknown) => {
      if (thrown instanceof jose.errors.JWSSignatureVerificationFailed && (await keys.hasOthersThan(before)))
        return this.#verifySignature(token, wanted);
      throw thrown;
    });
    if (tokenType === undefined && !TOKEN_TYPES.includes((protectedHeader.typ ?? "jwt").toLowerCase()))
      throw new jose.errors.JWTInvalid("The token is of another type.");
    return payload;
  }

  async #verifySignature(token: string, wanted: JWTVerifyOptions): Promise<JWTVerifyResult> {
    const { jose, keys } = this.#parts;
    try {
      return await jose.jwtVerify(token, keys.find, wanted);
    } catch (thrown: unknown) {
      if (thrown instanceof jose.errors.JWKSMultipleMatchingKeys) return await verifyWithAny(thrown, token, wanted, jose);
      throw thrown;
    }
  }

  #principalOf(payload: JWTPayload): Principal | undefined {
    const claims = copyClaims(payload);
    if (!isJsonObject(claims) || typeof claims["sub"] !== "string" || claims["sub"] === "") return undefined;
    const { issuer, scopes: meanings } = this.#options;
    const id = `token:${issuer}#${claims["sub"]}`;
    if (id.length > MAX_ID_LENGTH) return undefined;
    const allowed = readScopeNames(claims, this.#options).flatMap((scope) => grantedScopes(scope, meanings));
    const name = [claims["name"], claims["client_id"], claims["sub"]].find((text) => typeof text === "string" && text !== "");
    const scopes = new Set(SCOPES.filter((scope) => allowed.includes(scope)));
    const { clockToleranceSeconds = DEFAULT_TOLERANCE_SECONDS } = this.#options;
    const expiresAt = ((payload.exp ?? 0) + clockToleranceSeconds) * 1_000;
    return Object.freeze({ id, name: String(name), scopes, claims, expiresAt });
  }

  /** Logs once in a while that the issuer cannot be reached, or publishes keys that cannot be used, for the operator. Wrong tokens are not logged. */
  #logFailure(thrown: unknown): void {
    const { jose, clock, log } = this.#parts;
    const isOfToken = thrown instanceof jose.errors.JOSEError && !(thrown instanceof jose.errors.JWKSInvalid);
    if (isOfToken || clock.now() - this.#loggedAt < LOG_EVERY_MS) return;
    this.#loggedAt = clock.now();
    const reason = thrown instanceof IssuerKeysUnavailable ? thrown.cause : thrown;
    log.warn(`Tokens of ${this.#options.issuer} cannot be checked: ${describeFetchFailure(reason)}`);
  }
}

/** The claims; undefined if they are nested too deeply, which is a fault of the token and not of its issuer's keys. */
function copyClaims(payload: JWTPayload): JsonValue | undefined {
  try {
    return copyJson(payload).value;
  } catch {
    return undefined;
  }
}

/** Verifies a token that names no key with each of the issuer's keys that fit. @throws the error of jose, as a rejection */
async function verifyWithAny(
  candidates: InstanceType<Jose["errors"]["JWKSMultipleMatchingKeys"]>,
  token: string,
  wanted: JWTVerifyOptions,
  jose: Jose,
): Promise<JWTVerifyResult> {
  for await (const key of candidates) {
    try {
      return await jose.jwtVerify(token, key, wanted);
    } catch (thrown: unknown) {
      if (!(thrown instanceof jose.errors.JWSSignatureVerificationFailed)) throw thrown;
    }
  }
  throw new jose.errors.JWSSignatureVerificationFailed();
}

/** Maximum length of a principal's id, equal to that of an id in an event. */
const MAX_ID_LENGTH = 1_024;
const LOG_EVERY_MS = 60_000;

function checkOptions(options: IssuerTokensOptions): void {
  checkKnownKeys(options, OPTIONS, "issuerTokens()");
  const { issuer, audience, algorithms = DEFAULT_ALGORITHMS, jwksUrl, clockToleranceSeconds: tolerance = 0, scopes = {} } = options;
  checkString(issuer, "issuerTokens({ issuer })", "an address");
  if (jwksUrl !== undefined) checkString(jwksUrl, "issuerTokens({ jwksUrl })", "an address");
  checkSafeAddress(issuer, "issuer of tokens");
  if (jwksUrl !== undefined) checkSafeAddress(jwksUrl, "jwksUrl of an issuer");
  const audiences: readonly unknown[] = Array.isArray(audience) ? audience : [audience];
  if (audiences.length === 0 || audiences.some((one) => typeof one !== "string" || one === ""))
    throw new ToolError(
      "invalid_argument",
      `The issuer ${issuer} needs an audience, so that a token for another server is not accepted here.`,
    );
  const weak = algorithms.find((algorithm) => typeof algorithm !== "string" || !ALGORITHM.test(algorithm));
  if (weak !== undefined || algorithms.length === 0)
    throw new ToolError(
      "invalid_argument",
      `The algorithms of ${issuer} must be asymmetric, such as ES256, not ${weak === undefined ? "[]" : quoteValue(weak)}.`,
    );
  if (!Number.isFinite(tolerance) || tolerance < 0 || tolerance > 600)
    throw new ToolError("invalid_argument", `clockToleranceSeconds is ${quoteValue(tolerance)}; it takes 0 to 600.`);
  for (const [scope, meant] of Object.entries(scopes))
    if (!Array.isArray(meant) || meant.some((one) => !SCOPES.includes(one)))
      throw new ToolError(
        "invalid_argument",
        `The scope ${JSON.stringify(scope)} of ${issuer} can allow only scopes of this server: ${SCOPES.join(", ")}.`,
      );
}

function loadJose(): Promise<Jose> {
  return loadPackage(() => import("jose"), { name: "jose", need: "bearer tokens of an issuer need it" });
}
