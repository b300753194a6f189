/** Webhooks in memory. */
import type { DeliveryKey, WebhookClaim, WebhookDelivery, WebhookEndpoint, WebhookStore } from "../../core/store/webhook-store.ts";
import type { WebhookMessage } from "../records/webhook-messages.ts";

interface PendingDelivery {
  readonly delivery: WebhookDelivery;
  readonly dueAt: number;
}

export class MemoryWebhooks implements WebhookStore {
  #endpoints: readonly WebhookEndpoint[] = [];
  /** By endpoint and message, oldest first. */
  readonly #pending = new Map<string, PendingDelivery>();

  /** Queues a message for each endpoint that receives its type. */
  enqueue({ id: messageId, type, payload }: WebhookMessage): void {
    for (const { id: endpoint, types } of this.#endpoints) {
      const delivery = { endpoint, messageId, payload, attempts: 0 };
      if (types.includes(type) && !this.#pending.has(keyOf(delivery))) this.#pending.set(keyOf(delivery), { delivery, dueAt: 0 });
    }
  }

  async setEndpoints(endpoints: readonly WebhookEndpoint[]): Promise<void> {
    this.#endpoints = endpoints;
    const ids = new Set(endpoints.map(({ id }) => id));
    for (const [at, { delivery }] of this.#pending) if (!ids.has(delivery.endpoint)) this.#pending.delete(at);
  }

  async claim({ now, until, limit, endpoint }: WebhookClaim): Promise<readonly WebhookDelivery[]> {
    const isWanted = ({ dueAt, delivery }: PendingDelivery): boolean =>
      dueAt <= now && delivery.endpoint === (endpoint ?? delivery.endpoint);
    const due = [...this.#pending.values()].filter(isWanted).slice(0, limit);
    return due.map(({ delivery }) => {
      const tried = { ...delivery, attempts: delivery.attempts + 1 };
      this.#pending.set(keyOf(tried), { delivery: tried, dueAt: until });
      return tried;
    });
  }

  async retry({ attempts, dueAt, ...key }: Parameters<WebhookStore["retry"]>[0]): Promise<void> {
    const waiting = this.#pending.get(keyOf(key));
    if (waiting?.delivery.attempts === attempts) this.#pending.set(keyOf(key), { ...waiting, dueAt });
  }

  async remove(key: DeliveryKey): Promise<void> {
    this.#pending.delete(keyOf(key));
  }
}

function keyOf({ endpoint, messageId }: DeliveryKey): string {
  return JSON.stringify([endpoint, messageId]);
}
