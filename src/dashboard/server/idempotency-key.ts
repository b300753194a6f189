/** Returns a random idempotency key. `crypto.randomUUID` exists only in secure contexts, which a page over plain HTTP from another machine is not. */
export function newIdempotencyKey(): string {
  return crypto.getRandomValues(new Uint8Array(16)).reduce((key, byte) => key + byte.toString(16).padStart(2, "0"), "");
}
