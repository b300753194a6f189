/** Bearer tokens that an issuer signs for this server, as a protected resource of OAuth 2.1: verified, never passed on. */
import { quoted } from "../../core/base/wording.ts";
import type { JWTPayload, JWTVerifyOptions, JWTVerifyResult } from "jose";
import { copyJson, isJsonObject } from "../../core/base/json.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { ToolError } from "../../core/error.ts";
import { checkArgument, checkText } from "../../core/check-argument.ts";
import { cannotLoad } from "../../core/late-package.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import type { Clock, Log } from "../../core/ports.ts";
import { describeFetchFailure } from "../../net/guarded-fetch.ts";
import type { RequestHead } from "../http/request-head.ts";
import { bearerToken } from "./credentials.ts";
import { IssuerKeys, NoIssuerKeys, requireSafe } from "./issuer-keys.ts";
import { givenNames, meaningOf, type IssuerScopes } from "./issuer-scopes.ts";
import { SCOPES, byHeadAlone, type Authenticator, type Principal } from "./principal.ts";

/** An issuer of tokens, and the tokens of it that count. */
export interface IssuerTokensOptions extends IssuerScopes {
  /** As it is in `iss` of its tokens, to the letter. */
  readonly issuer: string;
  /** The `aud` that a token must have, or one of them: the address of this server. Tokens for others are not let in. */
  readonly audience: string | readonly string[];
  /** Signatures that are taken: asymmetric ones, whose keys the issuer publishes. @default RS256, PS256, ES256, EdDSA and Ed25519 */
  readonly algorithms?: readonly string[];
  /** Where its keys are. @default what the metadata of the issuer says */
  readonly jwksUrl?: string;
  /** The `typ` that a token must have, such as `at+jwt`. @default `at+jwt` or `JWT` */
  readonly tokenType?: string;
  /** How far the clocks may be apart, in seconds. @default 30 */
  readonly clockToleranceSeconds?: number;
}

/** The clock by which tokens expire, and how an issuer is reached. */
export interface IssuerTokensPorts {
  readonly clock: Clock;
  readonly log: Log;
  /** Fetches the keys. Guard it: the issuer says where they are. */
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
/** A symmetric one could be signed with what the issuer publishes. */
const ALGORITHM = /^(?:(?:RS|PS|ES)(?:256|384|512)|EdDSA|Ed25519)$/u;
const TOKEN_TYPES: readonly string[] = ["at+jwt", "application/at+jwt", "jwt"];
const DEFAULT_TOLERANCE_SECONDS = 30;

type Jose = typeof import("jose");

/**
 * Knows the sender of requests with a token of the issuer. Needs the package `jose`, which is loaded at once so that a missing one is
 * found before the first request.
 *
 * A token counts when its signature is right by a published key and an allowed algorithm, it is meant for this audience, it has begun and
 * not expired, and says whom it is for (`sub`). While the key of a token is not known and the issuer cannot be asked for it, the token is neither let in nor refused: the authenticator
 * rejects with `unavailable`.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9068#section-4 and https://modelcontextprotocol.io/specification/draft/basic/authorization
 * @throws ToolError `invalid_argument`; `unavailable` where `jose` is not installed. By rejecting
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
    byHeadAlone(this.prototype);
  }

  readonly #options: IssuerTokensOptions;
  readonly #parts: TokenParts;
  #saidAt = -Infinity;

  constructor(options: IssuerTokensOptions, parts: TokenParts) {
    this.#options = options;
    this.#parts = parts;
  }

  authenticate(request: Request): Promise<Principal | undefined> {
    return this.authenticateHead(request);
  }

  async authenticateHead(head: RequestHead): Promise<Principal | undefined> {
    const token = bearerToken(head);
    // Other kinds of credentials are for other authenticators: three parts, or it is none of these.
    if (token === undefined || token.split(".").length !== 3) return undefined;
    try {
      return this.#principalOf(await this.#verify(token));
    } catch (thrown: unknown) {
      this.#note(thrown);
      if (thrown instanceof NoIssuerKeys) throw thrown;
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
    // This issuer is not asked for its keys, nor waited for, where the token is another's.
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
    const { payload, protectedHeader } = await jose.jwtVerify(token, keys.find, wanted).catch((thrown: unknown) => {
      if (thrown instanceof jose.errors.JWKSMultipleMatchingKeys) return verifyWithAny(thrown, token, wanted, jose);
      throw thrown;
    });
    if (tokenType === undefined && !TOKEN_TYPES.includes((protectedHeader.typ ?? "jwt").toLowerCase()))
      throw new jose.errors.JWTInvalid("The token is of another type.");
    return payload;
  }

  #principalOf(payload: JWTPayload): Principal | undefined {
    const claims = copyJson(payload).value;
    if (!isJsonObject(claims) || typeof claims["sub"] !== "string" || claims["sub"] === "") return undefined;
    const { issuer, scopes: meanings } = this.#options;
    const id = `token:${issuer}#${claims["sub"]}`;
    if (id.length > MAX_ID_LENGTH) return undefined;
    const allowed = givenNames(claims, this.#options).flatMap((scope) => meaningOf(scope, meanings));
    const name = [claims["name"], claims["client_id"], claims["sub"]].find((text) => typeof text === "string" && text !== "");
    const scopes = new Set(SCOPES.filter((scope) => allowed.includes(scope)));
    const { clockToleranceSeconds = DEFAULT_TOLERANCE_SECONDS } = this.#options;
    const expiresAt = ((payload.exp ?? 0) + clockToleranceSeconds) * 1_000;
    return Object.freeze({ id, name: String(name), scopes, claims, expiresAt });
  }

  /** An issuer that cannot be reached is the operator's business, once in a while; a wrong token is not. */
  #note(thrown: unknown): void {
    const { jose, clock, log } = this.#parts;
    if (thrown instanceof jose.errors.JOSEError || clock.now() - this.#saidAt < LOG_EVERY_MS) return;
    this.#saidAt = clock.now();
    const reason = thrown instanceof NoIssuerKeys ? thrown.cause : thrown;
    log.warn(`Tokens of ${this.#options.issuer} cannot be checked: ${describeFetchFailure(reason)}`);
  }
}

/** A token that does not name its key, of an issuer that has published several which fit. @throws what jose says. By rejecting */
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

/** As long as an id in an event may be. */
const MAX_ID_LENGTH = 1_024;
const LOG_EVERY_MS = 60_000;

function checkOptions(options: IssuerTokensOptions): void {
  checkKnownKeys(options, OPTIONS, "issuerTokens()");
  const { issuer, audience, algorithms = DEFAULT_ALGORITHMS, jwksUrl, clockToleranceSeconds: tolerance = 0, scopes = {} } = options;
  checkText(issuer, "issuerTokens({ issuer })", "an address");
  if (jwksUrl !== undefined) checkText(jwksUrl, "issuerTokens({ jwksUrl })", "an address");
  requireSafe(issuer, "issuer of tokens");
  if (jwksUrl !== undefined) requireSafe(jwksUrl, "jwksUrl of an issuer");
  const audiences: readonly unknown[] = Array.isArray(audience) ? audience : [audience];
  if (audiences.length === 0 || audiences.some((one) => typeof one !== "string" || one === ""))
    throw new ToolError("invalid_argument", `The issuer ${issuer} needs an audience: a token for another server is not to be let in here.`);
  const weak = algorithms.find((algorithm) => typeof algorithm !== "string" || !ALGORITHM.test(algorithm));
  if (weak !== undefined || algorithms.length === 0)
    throw new ToolError(
      "invalid_argument",
      `The algorithms of ${issuer} are asymmetric ones such as ES256, not ${weak === undefined ? "[]" : quoted(weak)}.`,
    );
  if (!Number.isFinite(tolerance) || tolerance < 0 || tolerance > 600)
    throw new ToolError("invalid_argument", `clockToleranceSeconds is ${quoted(tolerance)}; it takes 0 to 600.`);
  for (const [scope, meant] of Object.entries(scopes))
    if (!Array.isArray(meant) || meant.some((one) => !SCOPES.includes(one)))
      throw new ToolError(
        "invalid_argument",
        `The scope ${JSON.stringify(scope)} of ${issuer} allows some of ${SCOPES.join(", ")}, and nothing else.`,
      );
}

async function loadJose(): Promise<Jose> {
  try {
    return await import("jose");
  } catch (error: unknown) {
    throw cannotLoad({ name: "jose", need: "bearer tokens of an issuer need it" }, error);
  }
}
