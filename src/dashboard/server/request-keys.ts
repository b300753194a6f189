/** Idempotency keys of the requests of one button or form. */
import { useState } from "react";
import { ApiError } from "../../client/client.ts";

/** Returns a random idempotency key. `crypto.randomUUID` exists only in secure contexts, which a page over plain HTTP from another machine is not. */
export function newIdempotencyKey(): string {
  return crypto.getRandomValues(new Uint8Array(16)).reduce((key, byte) => key + byte.toString(16).padStart(2, "0"), "");
}

/**
 * Gives each request a key, and the same content the same key again until the server has answered. Browsers repeat even a POST whose connection was
 * closed without a response, and people press a button again after a failure: with the key, the server does the work once.
 */
export class RequestKeys {
  /** Keys of requests without an answer, by their content. */
  readonly #unanswered = new Map<string, string>();

  /**
   * @param content JSON that is the same for the same request
   * @throws UnansweredError, as a rejection, if the request may have taken effect; otherwise as `send`
   */
  async send<Answer>(content: unknown, send: (idempotencyKey: string) => Promise<Answer>): Promise<Answer> {
    const text = JSON.stringify(content);
    const earlier = this.#unanswered.get(text);
    const key = earlier ?? newIdempotencyKey();
    this.#unanswered.set(text, key);
    try {
      const answer = await send(key);
      this.#unanswered.delete(text);
      return answer;
    } catch (thrown: unknown) {
      if (mayHaveTakenEffect(thrown)) throw new UnansweredError(thrown);
      // a refusal, as for too many requests, says nothing about an earlier attempt, unless its session is gone
      if (earlier === undefined || isGone(thrown)) this.#unanswered.delete(text);
      throw thrown;
    }
  }

  /** Forgets the requests without an answer: the next ones are new requests. */
  clear(): void {
    this.#unanswered.clear();
  }
}

/** The error of a request that may have taken effect. */
class UnansweredError extends Error {
  constructor(cause: unknown) {
    const message = (cause instanceof Error ? cause.message : String(cause)).replace(/[^.!?]$/u, "$&.");
    super(
      `${message} It may have taken effect. Press again to repeat the same request: it takes effect once, if the server kept its store.`,
      {
        cause,
      },
    );
  }
}

/** Whether the work may have been done: there was no response, an unreadable one, or one of a server or gateway that failed. */
function mayHaveTakenEffect(thrown: unknown): boolean {
  return !(thrown instanceof ApiError) || thrown.status < 400 || thrown.status >= 500;
}

function isGone(thrown: unknown): boolean {
  return thrown instanceof ApiError && thrown.status === 404;
}

/** Returns the keys of the requests of a component, for as long as it is shown. */
export function useRequestKeys(): RequestKeys {
  const [keys] = useState(() => new RequestKeys());
  return keys;
}
