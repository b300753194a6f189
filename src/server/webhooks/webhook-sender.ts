/** Sends the webhooks of a store, signed and retried until they arrive; any process of the store may send them. */
import { hash } from "node:crypto";
import { ToolError, describeThrown } from "../../core/error.ts";
import { checkArgument, checkString } from "../../core/check-argument.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import type { Clock, Log } from "../../core/ports.ts";
import { readRetryAfter } from "../../core/formats/retry-after.ts";
import { safeLog } from "../../core/system/safe-log.ts";
import type { Store } from "../../core/store/store.ts";
import { plural } from "../../core/base/wording.ts";
import { systemPorts } from "../../core/system/system-ports.ts";
import { WEBHOOK_TYPES, type WebhookDelivery, type WebhookType } from "../../core/store/webhook-store.ts";
import { describeFetchFailure, guardedFetch } from "../../net/guarded-fetch.ts";
import { httpClient } from "../../net/http-client.ts";
import type { HttpClient } from "../../net/http-request.ts";
import { failureLog } from "../store-failures.ts";
import { signWebhook, decodeWebhookSecret } from "./sign-webhook.ts";

/** A receiver of webhooks. */
export interface WebhookOptions {
  /** An http or https address. Redirects are not followed. */
  readonly url: string;
  /** The secret that messages are signed with: `whsec_` and 24 to 64 bytes in base64. */
  readonly secret: string;
  /** @default all */
  readonly types?: readonly WebhookType[];
}

/** Options of `WebhookSender`. */
export interface WebhookSenderOptions {
  readonly store: Pick<Store, "webhooks">;
  readonly webhooks: readonly WebhookOptions[];
  /** Hosts with private addresses that may receive webhooks; as in `allowPrivate` of a REST engine. @default none */
  readonly allowPrivate?: readonly string[];
  /** Clock and log, for tests. @default those of the system */
  readonly ports?: { readonly clock: Clock; readonly log: Log };
}

interface Receiver {
  readonly url: string;
  readonly key: Buffer;
}

/** Why a message did not arrive. */
interface Failure {
  readonly reason: string;
  /** Whether the receiver is gone, so that the message is not sent again. */
  readonly isFinal?: boolean;
  readonly retryAfterMs?: number | undefined;
}

const POLL_MS = 1_000;
const CLAIM_LIMIT = 20;
/** Maximum wait for a response, in milliseconds. */
const ATTEMPT_TIMEOUT_MS = 15_000;
/** Lease on a claimed message, in milliseconds; afterwards its sender counts as gone and another process may claim it. */
const LEASE_MS = 60_000;
/** Waits between attempts, in milliseconds; after the last one the message is given up. */
const DELAYS_MS: readonly number[] = [5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 50_400_000, 72_000_000, 86_400_000];
const MAX_RESPONSE_BYTES = 16 * 1024;

/**
 * Sends the webhooks that the store keeps for these receivers, until `close`.
 *
 * Each message arrives at least once, with the same `webhook-id` each time; it is attempted up to ten times over three days. Any response but 2xx is
 * a failure, also a redirect; 410 discards the message. The next attempt comes no earlier than `Retry-After` of the last response, at most a day. Several processes over one store share the work; the receivers of the process that started
 * last apply.
 */
export class WebhookSender {
  readonly #options: WebhookSenderOptions;
  readonly #ports: { readonly clock: Clock; readonly log: Log };
  readonly #receivers: ReadonlyMap<string, Receiver>;
  readonly #client: HttpClient;
  readonly #fetch: typeof fetch;
  readonly #closing = new AbortController();
  /** Functions that cancel the next poll, by endpoint: an endpoint that does not answer does not delay the others. */
  readonly #cancelPolls = new Map<string, () => void>();
  readonly #sending = new Map<string, Promise<void>>();

  /** @throws ToolError `invalid_argument` */
  constructor(options: WebhookSenderOptions) {
    checkKnownKeys(options, { store: "object", webhooks: "array", allowPrivate: "strings", ports: "object" }, "new WebhookSender()");
    checkArgument(options.webhooks !== undefined, "new WebhookSender({ webhooks })", "an array of webhooks", options.webhooks);
    const { allowPrivate = [], ports = systemPorts } = options;
    this.#options = options;
    this.#ports = { clock: ports.clock, log: safeLog(ports.log) };
    this.#receivers = new Map(options.webhooks.map((webhook) => [endpointId(webhook.url), toReceiver(webhook)]));
    if (this.#receivers.size < options.webhooks.length)
      throw new ToolError("invalid_argument", "Two webhooks have the same url.", { hint: "List the types of both in one webhook." });
    this.#client = httpClient({ allowPrivate, maxBytes: MAX_RESPONSE_BYTES }, this.#ports);
    this.#fetch = guardedFetch(this.#client);
  }

  /** Registers the receivers in the store, and begins to send. @throws ToolError `store_failed`, as a rejection */
  async start(): Promise<void> {
    const endpoints = this.#options.webhooks.map(({ url, types = WEBHOOK_TYPES }) => ({ id: endpointId(url), types }));
    await this.#options.store.webhooks.setEndpoints(endpoints);
    for (const endpoint of this.#receivers.keys()) this.#schedulePoll(endpoint, 0);
  }

  /** Stops sending. Requests in flight are cancelled; the next sender sends their messages again. */
  async close(): Promise<void> {
    this.#closing.abort();
    for (const stop of this.#cancelPolls.values()) stop();
    await Promise.all(this.#sending.values());
    this.#client.close();
  }

  #schedulePoll(endpoint: string, delayMs: number): void {
    if (this.#closing.signal.aborted) return;
    const look = (): void => void this.#sending.set(endpoint, this.#sendDue(endpoint));
    this.#cancelPolls.set(endpoint, this.#ports.clock.timer(look, delayMs, { background: true }));
  }

  /** Claims and sends the due messages of one endpoint. Messages for endpoints that only other processes registered are not claimed. */
  async #sendDue(endpoint: string): Promise<void> {
    let found = 0;
    try {
      const now = this.#ports.clock.wallTime();
      const due = await this.#options.store.webhooks.claim({ now, until: now + LEASE_MS, limit: CLAIM_LIMIT, endpoint });
      found = due.length;
      const sent = await Promise.allSettled(due.map((delivery) => this.#deliver(delivery))); // `close` waits for all of them
      const failed = sent.find(({ status }) => status === "rejected");
      if (failed?.status === "rejected") throw failed.reason;
    } catch (thrown: unknown) {
      if (!this.#closing.signal.aborted) failureLog(this.#ports).warn(`Webhooks could not be sent: ${describeThrown(thrown)}`);
    }
    this.#schedulePoll(endpoint, found === CLAIM_LIMIT ? 0 : POLL_MS);
  }

  async #deliver(delivery: WebhookDelivery): Promise<void> {
    const { endpoint, messageId, attempts } = delivery;
    const { webhooks } = this.#options.store;
    const receiver = this.#receivers.get(endpoint);
    if (receiver === undefined) return;
    const failure = await this.#attempt(receiver, delivery);
    const now = this.#ports.clock.wallTime();
    if (this.#closing.signal.aborted && failure !== undefined) return webhooks.retry({ endpoint, messageId, attempts, now, dueAt: now });
    const delayMs = DELAYS_MS[attempts - 1];
    if (failure === undefined) return webhooks.remove({ endpoint, messageId });
    const { reason, isFinal = false, retryAfterMs = 0 } = failure;
    if (!isFinal && delayMs !== undefined)
      return webhooks.retry({ endpoint, messageId, attempts, now, dueAt: now + Math.max(delayMs, retryAfterMs) });
    this.#ports.log.warn(
      `The webhook ${messageId} to ${new URL(receiver.url).host} was given up after ${plural(attempts, "try", "tries")}: ${reason}`,
    );
    return webhooks.remove({ endpoint, messageId });
  }

  /** Returns why the message did not arrive; undefined if it did. */
  async #attempt({ url, key }: Receiver, { messageId: id, payload: body }: WebhookDelivery): Promise<Failure | undefined> {
    const { clock } = this.#ports;
    const late = new AbortController();
    const stop = clock.timer(
      () => late.abort(new ToolError("timeout", `no answer came within ${ATTEMPT_TIMEOUT_MS} ms`)),
      ATTEMPT_TIMEOUT_MS,
    );
    try {
      const signed = signWebhook(key, { id, timestamp: Math.floor(clock.wallTime() / 1_000), body });
      const headers = { ...signed, "content-type": "application/json" };
      const signal = AbortSignal.any([late.signal, this.#closing.signal]);
      const answer = await this.#fetch(url, { method: "POST", headers, body, signal, redirect: "manual" });
      await answer.body?.cancel();
      if (answer.status >= 200 && answer.status < 300) return undefined;
      const retryAfterMs = readRetryAfter((name) => answer.headers.get(name), clock.wallTime());
      const redirected = answer.status >= 300 && answer.status < 400 ? ", and redirects are not followed" : "";
      return { reason: `it was answered with status ${answer.status}${redirected}`, isFinal: answer.status === 410, retryAfterMs };
    } catch (thrown: unknown) {
      return { reason: describeFetchFailure(thrown) };
    } finally {
      stop();
    }
  }
}

/** An id that every process derives from the same address, without anything secret in it. */
function endpointId(url: string): string {
  checkString(url, "new WebhookSender({ webhooks: [{ url }] })", "an address");
  return `endpoint_${hash("sha256", url).slice(0, 24)}`;
}

const WEBHOOK_OPTIONS: OptionNames<WebhookOptions> = { url: true, secret: true, types: "array" };

function toReceiver(webhook: WebhookOptions): Receiver {
  checkKnownKeys(webhook, WEBHOOK_OPTIONS, "A webhook");
  const { url, secret, types = [] } = webhook;
  if (!URL.canParse(url) || !["http:", "https:"].includes(new URL(url).protocol))
    throw new ToolError("invalid_argument", "The url of a webhook must be an http or https address.");
  const { username, password } = new URL(url);
  if (username !== "" || password !== "")
    throw new ToolError("invalid_argument", "The url of a webhook must not contain a user name or password.");
  const unknown = types.find((type) => !WEBHOOK_TYPES.includes(type));
  if (unknown !== undefined)
    throw new ToolError(
      "invalid_argument",
      `A webhook cannot have the type ${JSON.stringify(unknown)}; the types are ${WEBHOOK_TYPES.join(", ")}.`,
    );
  return { url, key: decodeWebhookSecret(secret) };
}
