/** Fetches access tokens with OAuth 2 client credentials, and keeps each until it expires. */
import { ToolError, pickHints } from "../../core/error.ts";
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import type { Clock } from "../../core/ports.ts";
import { rejectOnAbort } from "../../core/base/reject-on-abort.ts";
import type { HttpClient, HttpHeader } from "../../net/http-request.ts";
import type { OAuthClient } from "./rest-options.ts";
import { encodeClientCredentials } from "../../net/basic-credentials.ts";
import { ChunkBuffer } from "../../core/formats/chunk-buffer.ts";

/** How long before its expiry a token is no longer used, in milliseconds, as a request takes time. */
const RENEW_EARLY_MS = 30_000;
/** Lifetime of a token, in seconds, if its server does not report one. */
const DEFAULT_LIFE_S = 300;
const MAX_LIFE_S = 86_400 * 30;
const FETCH_TIMEOUT_MS = 30_000;
const MAX_ANSWER_BYTES = 256 * 1024;

export interface TokenPorts {
  readonly client: HttpClient;
  readonly clock: Clock;
  /** Called with every token, so that it can be redacted elsewhere. */
  readonly onToken: (token: string) => void;
}

interface AccessToken {
  readonly token: string;
  /** On the monotonic clock. */
  readonly usableUntil: number;
}

export class AccessTokenCache {
  readonly #auth: OAuthClient;
  readonly #ports: TokenPorts;
  readonly #closing = new AbortController();
  #cached: AccessToken | undefined;
  #fetching: Promise<AccessToken> | undefined;

  constructor(auth: OAuthClient, ports: TokenPorts) {
    this.#auth = auth;
    this.#ports = ports;
  }

  /**
   * A valid token: a kept one, or one that is fetched once for all waiting calls.
   *
   * @throws ToolError with outcome `not_started`: `unavailable` if the server refuses, `network_error` if it cannot be reached; as a rejection
   */
  async token(signal: AbortSignal): Promise<string> {
    const kept = this.#cached;
    if (kept !== undefined && this.#ports.clock.now() < kept.usableUntil) return kept.token;
    this.#fetching ??= this.#fetch().finally(() => {
      this.#fetching = undefined;
    });
    return (await rejectOnAbort(this.#fetching, signal, cancelledError)).token;
  }

  /** Discards a token that the API refused. */
  discard(token: string): void {
    if (this.#cached?.token === token) this.#cached = undefined;
  }

  close(): void {
    this.#closing.abort();
    this.#cached = undefined;
  }

  /** Fetches a token for all waiting calls, so that no call's signal ends it, only its own timeout. */
  async #fetch(): Promise<AccessToken> {
    const { client, clock, onToken } = this.#ports;
    const late = new AbortController();
    const stop = clock.timer(() => late.abort(), FETCH_TIMEOUT_MS);
    try {
      const signal = AbortSignal.any([late.signal, this.#closing.signal]);
      const response = await client.request({ ...tokenRequest(this.#auth), secretHeaders: [], keepRedirect: true, signal });
      const answer = await readJsonBody(response.body);
      if (response.status < 200 || response.status > 299) throw this.#refusalError(response.status, answer);
      const { token, lifeMs } = this.#readToken(answer);
      onToken(token);
      this.#cached = { token, usableUntil: clock.now() + lifeMs - RENEW_EARLY_MS };
      return this.#cached;
    } catch (error: unknown) {
      throw this.#fetchError(ToolError.fromUnknown(error), late.signal.aborted);
    } finally {
      stop();
    }
  }

  #readToken(answer: JsonObject): { readonly token: string; readonly lifeMs: number } {
    const { access_token: token, token_type: type, expires_in: life } = answer;
    if (typeof token !== "string" || !/^[\x21-\x7e]{1,8192}$/u.test(token))
      throw this.#unusableError("without an access_token that can be sent");
    if (typeof type === "string" && type.toLowerCase() !== "bearer")
      throw this.#unusableError(`with a token of type ${JSON.stringify(type.slice(0, 40))}, but only Bearer is supported`);
    const seconds = typeof life === "string" && /^\d{1,12}$/u.test(life) ? Number(life) : life;
    const known = typeof seconds === "number" && seconds >= 0 ? seconds : DEFAULT_LIFE_S;
    return { token, lifeMs: Math.min(known, MAX_LIFE_S) * 1_000 };
  }

  #unusableError(how: string): ToolError {
    return new ToolError("unavailable", `The token server ${this.#host()} answered ${how}.`);
  }

  #refusalError(status: number, answer: JsonObject): ToolError {
    const reported = [answer["error"], answer["error_description"]]
      .filter((text) => typeof text === "string")
      .map((text) => text.slice(0, 200));
    const message = `The token server ${this.#host()} answered HTTP ${status}${reported.length === 0 ? "" : ` (${reported.join(": ")})`} to the client credentials.`;
    if (status >= 500 || status === 429) return new ToolError("network_error", message, { outcome: "not_started" });
    return new ToolError("unavailable", message, { operatorHint: "Check clientId, clientSecret, scopes and tokenUrl." });
  }

  /** The error of a fetch, with the outcome `not_started`: the call itself was not sent. */
  #fetchError(error: ToolError, isLate: boolean): ToolError {
    const { code, retryable } = error;
    if (isLate)
      return new ToolError("network_error", `The token server ${this.#host()} did not answer within ${FETCH_TIMEOUT_MS} ms.`, {
        outcome: "not_started",
      });
    if (this.#closing.signal.aborted)
      return new ToolError("unavailable", "The REST engine was closed while an access token was fetched.", { outcome: "not_started" });
    const message = error.message.startsWith("The token server") ? error.message : `No access token could be fetched: ${error.message}`;
    return new ToolError(code, message, { retryable, outcome: "not_started", ...pickHints(error) });
  }

  #host(): string {
    return new URL(this.#auth.tokenUrl).host;
  }
}

/** @see https://www.rfc-editor.org/rfc/rfc6749#section-4.4 */
function tokenRequest(auth: OAuthClient): {
  readonly method: string;
  readonly url: URL;
  readonly headers: readonly HttpHeader[];
  readonly body: Uint8Array;
} {
  const form = new URLSearchParams({ grant_type: "client_credentials" });
  if (auth.scopes !== undefined && auth.scopes.length > 0) form.set("scope", auth.scopes.join(" "));
  if (auth.audience !== undefined) form.set("audience", auth.audience);
  const headers: HttpHeader[] = [
    ["accept", "application/json"],
    ["content-type", "application/x-www-form-urlencoded"],
  ];
  if (auth.send === "body") {
    form.set("client_id", auth.clientId);
    form.set("client_secret", auth.clientSecret);
  } else {
    headers.push(["authorization", `Basic ${encodeClientCredentials(auth.clientId, auth.clientSecret)}`]);
  }
  return { method: "POST", url: new URL(auth.tokenUrl), headers, body: Buffer.from(form.toString()) };
}

/** The JSON object in the answer; an empty object for anything else. */
async function readJsonBody(body: AsyncIterable<Uint8Array>): Promise<JsonObject> {
  const pieces = new ChunkBuffer();
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > MAX_ANSWER_BYTES) return {};
    pieces.add(chunk);
  }
  try {
    const value = parseJson(new TextDecoder().decode(pieces.concat()));
    return isJsonObject(value) ? value : {};
  } catch {
    return {}; // the status says enough, or the missing token is reported
  }
}

function cancelledError(): ToolError {
  return new ToolError("cancelled", "The call was cancelled while its access token was fetched.", { outcome: "not_started" });
}
