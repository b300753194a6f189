/** Webhooks in memory. */
import type { DeliveryKey, WebhookClaim, WebhookDelivery, WebhookEndpoint, WebhookStore } from "../../core/webhook-store.ts";
import type { WebhookMessage } from "../records/webhook-messages.ts";

interface Waiting {
  readonly delivery: WebhookDelivery;
  readonly dueAt: number;
}

export class MemoryWebhooks implements WebhookStore {
  #endpoints: readonly WebhookEndpoint[] = [];
  /** By endpoint and message, oldest first. */
  readonly #waiting = new Map<string, Waiting>();

  /** Queues a message for each endpoint that receives its type. */
  keep({ id: messageId, type, payload }: WebhookMessage): void {
    for (const { id: endpoint, types } of this.#endpoints) {
      const delivery = { endpoint, messageId, payload, attempts: 0 };
      if (types.includes(type) && !this.#waiting.has(placeOf(delivery))) this.#waiting.set(placeOf(delivery), { delivery, dueAt: 0 });
    }
  }

  async setEndpoints(endpoints: readonly WebhookEndpoint[]): Promise<void> {
    this.#endpoints = endpoints;
    const ids = new Set(endpoints.map(({ id }) => id));
    for (const [at, { delivery }] of this.#waiting) if (!ids.has(delivery.endpoint)) this.#waiting.delete(at);
  }

  async claim({ now, until, limit, endpoint }: WebhookClaim): Promise<readonly WebhookDelivery[]> {
    const isWanted = ({ dueAt, delivery }: Waiting): boolean => dueAt <= now && delivery.endpoint === (endpoint ?? delivery.endpoint);
    const due = [...this.#waiting.values()].filter(isWanted).slice(0, limit);
    return due.map(({ delivery }) => {
      const tried = { ...delivery, attempts: delivery.attempts + 1 };
      this.#waiting.set(placeOf(tried), { delivery: tried, dueAt: until });
      return tried;
    });
  }

  async retry({ dueAt, ...key }: DeliveryKey & { readonly dueAt: number }): Promise<void> {
    const waiting = this.#waiting.get(placeOf(key));
    if (waiting !== undefined) this.#waiting.set(placeOf(key), { ...waiting, dueAt });
  }

  async remove(key: DeliveryKey): Promise<void> {
    this.#waiting.delete(placeOf(key));
  }
}

function placeOf({ endpoint, messageId }: DeliveryKey): string {
  return JSON.stringify([endpoint, messageId]);
}
