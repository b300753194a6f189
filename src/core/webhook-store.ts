/** The seam behind which webhooks wait until they are delivered: kept with what they report, so that none is lost with its process. */

/** The events that webhooks report. */
export const WEBHOOK_TYPES = Object.freeze(["approval.asked", "job.ended"] as const);
/** The name of an event that webhooks report. */
export type WebhookType = (typeof WEBHOOK_TYPES)[number];

/** A receiver of webhooks, as a store knows it. */
export interface WebhookEndpoint {
  readonly id: string;
  readonly types: readonly WebhookType[];
}

/** A message that is to be sent to one endpoint. Plain JSON. */
export interface WebhookDelivery {
  readonly endpoint: string;
  /** The same each time that it is sent. */
  readonly messageId: string;
  /** The body, as JSON text. */
  readonly payload: string;
  /** How often it was tried. */
  readonly attempts: number;
}

/** The key of a delivery. */
export type DeliveryKey = Pick<WebhookDelivery, "endpoint" | "messageId">;

/** Which messages a sender takes. A store with a clock of its own goes by that: from `now` to `until` is only how long they are the sender's. */
export interface WebhookClaim {
  readonly now: number;
  readonly until: number;
  readonly limit: number;
  /** Those for this endpoint only. @default all */
  readonly endpoint?: string;
}

/**
 * Keeps webhooks until they are delivered.
 *
 * A message is written for each endpoint in the transaction of its event: with an approval that is put, and with the end of a job. It is due at
 * once, whatever the time of the event says.
 */
export interface WebhookStore {
  /** Sets the endpoints that messages are kept for from now on; messages to others that wait are dropped. */
  setEndpoints(endpoints: readonly WebhookEndpoint[]): Promise<void>;
  /** The messages that are due, the oldest first; none of them is due again before `until`. */
  claim(request: WebhookClaim): Promise<readonly WebhookDelivery[]>;
  /** A try has failed: the message is due again at `dueAt`. With a clock of its own, a store takes from `now` to `dueAt` for how long it waits. */
  retry(request: DeliveryKey & { readonly now: number; readonly dueAt: number }): Promise<void>;
  /** It was delivered, or is given up. */
  remove(key: DeliveryKey): Promise<void>;
}
