/** Clients of a fleet: each asks one node after another, with the same key, until it is answered. */
import type { ToolResult } from "../../../src/core/result.ts";
import type { Order } from "./fleet-orders.ts";

const PAUSE_MS = 60;

export interface ClientOptions {
  readonly urls: () => readonly string[];
  readonly token: string;
  readonly random: () => number;
  /** A node that does not answer for so long is asked no more; another one is. */
  readonly answerMs: number;
  /** Called for each answer that is not a success: `409 conflict`, `no answer`. */
  readonly onTry: (what: string) => void;
}

interface OpenQuestion {
  readonly id: string;
  readonly digest: string;
}

interface Answer {
  readonly results?: readonly ToolResult[];
  readonly code?: string;
}

export class FleetClient {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** @throws Error when it has no answer at a time that `until` names, of the clock of `performance.now()` */
  async ask(order: Order, until: () => number, node?: number): Promise<readonly ToolResult[]> {
    for (;;) {
      const { urls, random } = this.#options;
      const all = urls();
      const url = all[node ?? Math.floor(random() * all.length)] ?? "";
      const results = await this.#try(url, order);
      if (results !== undefined) return results;
      if (performance.now() > until()) throw new Error(`${order.key} had no answer long after everything worked again.`);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  /** What a person does: allows the calls that wait, at one node. Not all that fails is tried again here. */
  async allow(): Promise<void> {
    const { urls, random, token } = this.#options;
    const all = urls();
    const url = all[Math.floor(random() * all.length)] ?? "";
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    try {
      const listed = await fetch(`${url}/v1/approvals`, { headers, signal: AbortSignal.timeout(2_000) });
      const { approvals = [] } = (await listed.json()) as { readonly approvals?: readonly OpenQuestion[] }; // the server's own JSON
      for (const { id, digest } of approvals) {
        const body = JSON.stringify({ answer: "allow-once", digest });
        await fetch(`${url}/v1/approvals/${id}`, { method: "POST", headers, body, signal: AbortSignal.timeout(2_000) });
      }
    } catch {
      // The node is away: another one is asked.
    }
  }

  async #try(url: string, order: Order): Promise<readonly ToolResult[] | undefined> {
    const { key, sessionId, calls, background } = order;
    const path = `/v1/sessions/${sessionId}/execute`;
    const first = await this.#send(url + path, { calls, background, waitMs: this.#options.answerMs }, key);
    if (first?.code === "not_found") await this.#send(`${url}/v1/sessions`, { id: sessionId });
    return first?.results;
  }

  async #send(url: string, body: unknown, key?: string): Promise<Answer | undefined> {
    const { token, onTry, answerMs } = this.#options;
    try {
      const answer = await fetch(url, {
        method: "POST",
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          ...(key === undefined ? {} : { "idempotency-key": key }),
        },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(answerMs + 500),
      });
      const read = JSON.parse((await answer.text()) || "{}") as Answer; // the server's own JSON
      if (answer.status >= 400) onTry(`${answer.status} ${read.code ?? ""}`);
      else if (read.results === undefined) onTry(`${answer.status}`);
      return read;
    } catch {
      onTry("no answer");
      return undefined;
    }
  }
}
