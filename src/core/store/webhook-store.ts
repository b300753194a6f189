/** The seam that stores webhooks until they are delivered, together with the events they report, so that none is lost when its process dies. */

/** The events that webhooks report. */
export const WEBHOOK_TYPES = Object.freeze(["approval.asked", "job.ended"] as const);
/** The name of an event that webhooks report. */
export type WebhookType = (typeof WEBHOOK_TYPES)[number];

/** A webhook receiver, as a store keeps it. */
export interface WebhookEndpoint {
  readonly id: string;
  readonly types: readonly WebhookType[];
}

/** A message to be sent to one endpoint. Plain JSON. */
export interface WebhookDelivery {
  readonly endpoint: string;
  /** The same for every attempt to send the message. */
  readonly messageId: string;
  /** The body, as JSON text. */
  readonly payload: string;
  /** How many times sending was attempted. */
  readonly attempts: number;
}

/** Identifies a delivery. */
export type DeliveryKey = Pick<WebhookDelivery, "endpoint" | "messageId">;

/** Which messages a sender claims. A store with its own clock uses only the duration from `now` to `until`. */
export interface WebhookClaim {
  readonly now: number;
  readonly until: number;
  readonly limit: number;
  /** Only messages for this endpoint. @default all */
  readonly endpoint?: string;
}

/**
 * Stores webhooks until they are delivered.
 *
 * A message is written for each endpoint in the transaction of its event: when an approval question is stored, and when a job ends. It is due at
 * once, whatever the time of the event says.
 */
export interface WebhookStore {
  /** Sets the endpoints for which messages are stored from now on; waiting messages for other endpoints are dropped. */
  setEndpoints(endpoints: readonly WebhookEndpoint[]): Promise<void>;
  /** Returns messages that are due, oldest first; none of them is due again before `until`. */
  claim(request: WebhookClaim): Promise<readonly WebhookDelivery[]>;
  /**
   * Records a failed attempt: the message is due again at `dueAt`. `attempts` is as `claim` returned it; if the message was claimed again since,
   * nothing changes. A store with its own clock uses only the duration from `now` to `dueAt`.
   */
  retry(request: Omit<WebhookDelivery, "payload"> & { readonly now: number; readonly dueAt: number }): Promise<void>;
  /** Removes a message that was delivered or given up. */
  remove(key: DeliveryKey): Promise<void>;
}
