/** Fetches and caches the public keys of an issuer; fetches them again when a token names an unknown key, or its key does not verify it. */
import type { JSONWebKeySet, JWTVerifyGetKey } from "jose";
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import { ToolError } from "../../core/error.ts";
import type { Clock } from "../../core/ports.ts";

type Jose = typeof import("jose");

export interface IssuerKeysOptions {
  readonly issuer: string;
  /** The address of the keys. @default that of the issuer's metadata */
  readonly jwksUrl?: string | undefined;
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly jose: Jose;
}

/** Age at which keys are fetched again. COOLDOWN_MS is the minimum time between two fetches, also for tokens that the known keys do not verify. */
const MAX_AGE_MS = 600_000;
const COOLDOWN_MS = 30_000;
/** How long a failed fetch is not repeated, however many tokens arrive. */
const FAILURE_CACHE_MS = 1_000;
const TIMEOUT_MS = 5_000;
const MAX_CHARS = 1_048_576;

interface FetchedKeys {
  readonly at: number;
  readonly find: JWTVerifyGetKey;
}

/** Whether a token is valid is unknown, so its client should keep it. `cause`, which may name addresses, is for the log only. */
export class IssuerKeysUnavailable extends ToolError {
  constructor(issuer: string, cause: unknown) {
    super("unavailable", `Tokens of ${issuer} cannot be checked now: its keys could not be fetched.`, {
      hint: "The token may be valid: keep it, and send the request again later.",
      outcome: "not_started",
      retryable: true,
      retryAfterMs: FAILURE_CACHE_MS,
      cause,
    });
  }
}

export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  #fetched: FetchedKeys | undefined;
  #fetching: Promise<FetchedKeys> | undefined;
  #lastFetchAt = -Infinity;
  /** The last failed fetch; undefined after a success. */
  #lastFailure: { readonly at: number; readonly failure: IssuerKeysUnavailable } | undefined;

  constructor(options: IssuerKeysOptions) {
    this.#options = options;
  }

  /**
   * Finds the key of a token by its header; passed to `jwtVerify`. Rejects with the error of jose, or with `IssuerKeysUnavailable` if the key is not known and
   * the issuer could not be asked for it.
   */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    const { clock, jose } = this.#options;
    const kept = this.#fetched;
    if (kept === undefined) return (await this.#fetch()).find(header, token);
    try {
      const fresh = clock.now() - kept.at < MAX_AGE_MS ? kept : await this.#refresh(kept);
      return await fresh.find(header, token);
    } catch (thrown: unknown) {
      if (!(thrown instanceof jose.errors.JWKSNoMatchingKey)) throw thrown;
      return (await this.#fetchAfter(kept, thrown)).find(header, token);
    }
  };

  /** Fetches the keys again. Falls back to the old ones if the issuer does not answer, since they were its keys. */
  #refresh(kept: FetchedKeys): Promise<FetchedKeys> {
    return this.#canFetch() ? this.#fetch().catch(() => kept) : Promise.resolve(kept);
  }

  /**
   * The keys fetched since a token named a key that `kept` lacks. Anyone can send tokens with unknown keys, so the issuer is not asked for each of
   * them; tokens that arrive during a fetch wait for it.
   * @throws the given error, as a rejection
   */
  async #fetchAfter(kept: FetchedKeys, unknown: InstanceType<Jose["errors"]["JWKSNoMatchingKey"]>): Promise<FetchedKeys> {
    if (this.#fetched !== undefined && this.#fetched !== kept) return this.#fetched;
    if (this.#fetching === undefined && this.#lastFailure === undefined && !this.#canFetch()) throw unknown;
    return await this.#fetch();
  }

  /** The keys that tokens are verified with now, to compare with those of a later time; undefined before the first fetch. */
  get current(): object | undefined {
    return this.#fetched;
  }

  /**
   * Whether there are other keys than `before`, which did not verify a token: an issuer may replace a key without a new name. Anyone can send such
   * tokens, so the issuer is asked as rarely as for unknown keys. False if it does not answer.
   */
  async hasOthersThan(before: object | undefined): Promise<boolean> {
    const mayFetch = this.#fetched === before && (this.#fetching !== undefined || this.#canFetch());
    if (mayFetch) await this.#fetch().catch(() => {});
    return this.#fetched !== before;
  }

  #canFetch(): boolean {
    return this.#options.clock.now() - this.#lastFetchAt >= COOLDOWN_MS;
  }

  /** Fetches the keys. Concurrent callers share one request. */
  async #fetch(): Promise<FetchedKeys> {
    const { clock, issuer } = this.#options;
    if (this.#lastFailure !== undefined && clock.now() - this.#lastFailure.at < FAILURE_CACHE_MS) throw this.#lastFailure.failure;
    this.#fetching ??= this.#fetchKeys()
      .catch((thrown: unknown) => {
        const failure = new IssuerKeysUnavailable(issuer, thrown);
        this.#lastFailure = { at: clock.now(), failure };
        throw failure;
      })
      .finally(() => {
        this.#fetching = undefined;
      });
    return await this.#fetching;
  }

  async #fetchKeys(): Promise<FetchedKeys> {
    const { clock, jose, jwksUrl } = this.#options;
    this.#lastFetchAt = clock.now();
    const keys = await this.#read(jwksUrl ?? (await this.#discover()));
    if (!Array.isArray(keys["keys"])) throw unavailableError(this.#options.issuer, 'its key set has no array "keys"');
    this.#lastFailure = undefined;
    // jose validates each key that it uses
    this.#fetched = { at: clock.now(), find: jose.createLocalJWKSet(keys as unknown as JSONWebKeySet) };
    return this.#fetched;
  }

  /**
   * Finds the address of the keys in metadata that names exactly this issuer.
   *
   * @see https://www.rfc-editor.org/rfc/rfc8414#section-3.3
   */
  async #discover(): Promise<string> {
    const { issuer } = this.#options;
    const { origin, pathname } = new URL(issuer);
    const path = pathname.replace(/\/$/u, "");
    const places = [`${origin}/.well-known/oauth-authorization-server${path}`, `${origin}${path}/.well-known/openid-configuration`];
    let failure: unknown;
    for (const place of places) {
      try {
        const metadata = await this.#read(place);
        if (metadata["issuer"] !== issuer) throw unavailableError(issuer, "its metadata names another issuer");
        const uri = metadata["jwks_uri"];
        if (typeof uri !== "string" || !URL.canParse(uri)) throw unavailableError(issuer, "its metadata has no jwks_uri");
        checkSafeAddress(uri, "jwks_uri of the issuer");
        return uri;
      } catch (thrown: unknown) {
        failure = thrown;
      }
    }
    throw failure;
  }

  async #read(url: string): Promise<JsonObject> {
    const { issuer, fetch, clock } = this.#options;
    const timeout = new AbortController();
    const cancel = clock.timer(() => timeout.abort(unavailableError(issuer, "it did not answer in time")), TIMEOUT_MS, {
      background: true,
    });
    try {
      const answer = await fetch(url, { headers: { accept: "application/json" }, redirect: "error", signal: timeout.signal });
      if (!answer.ok) throw unavailableError(issuer, `it answered with the status ${answer.status}`);
      const value = parseJson(await answer.text(), { maxChars: MAX_CHARS });
      if (!isJsonObject(value)) throw unavailableError(issuer, "it answered with something other than an object");
      return value;
    } finally {
      cancel();
    }
  }
}

/** @throws ToolError `invalid_argument` for an address that is neither https nor loopback: its responses could be changed in transit */
export function checkSafeAddress(address: string, what: string): void {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const isLoopback = url !== undefined && /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/u.test(url.hostname);
  if (url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback)) return;
  throw new ToolError("invalid_argument", `The ${what} must be an https address, not ${JSON.stringify(address.slice(0, 200))}.`, {
    hint: "http is accepted only for this machine itself.",
  });
}

function unavailableError(issuer: string, why: string): ToolError {
  return new ToolError("unavailable", `The keys of the issuer ${issuer} could not be fetched: ${why}.`);
}
