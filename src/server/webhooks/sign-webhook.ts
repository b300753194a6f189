/**
 * Signs webhooks so that a receiver can verify their sender and time.
 *
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md — headers and signature, 2026-11-26
 */
import { createHmac } from "node:crypto";
import { ToolError } from "../../core/error.ts";

const PREFIX = "whsec_";
const MIN_SECRET_BYTES = 24;
const MAX_SECRET_BYTES = 64;

/** Decodes a secret to its key: `whsec_` and 24 to 64 bytes in base64. @throws ToolError `invalid_argument`, which does not contain the secret */
export function decodeWebhookSecret(secret: string): Buffer {
  const text = typeof secret === "string" && secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : "";
  const key = /^[A-Za-z0-9+/]+={0,2}$/u.test(text) ? Buffer.from(text, "base64") : Buffer.alloc(0);
  if (key.length >= MIN_SECRET_BYTES && key.length <= MAX_SECRET_BYTES) return key;
  throw new ToolError(
    "invalid_argument",
    `The secret of a webhook must be "${PREFIX}" and ${MIN_SECRET_BYTES} to ${MAX_SECRET_BYTES} bytes in base64.`,
    {
      hint: `Make one: node -p "'whsec_' + require('crypto').randomBytes(32).toString('base64')"`,
    },
  );
}

export interface SignedMessage {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly timestamp: number;
  readonly body: string;
}

export function signWebhook(key: Buffer, { id, timestamp, body }: SignedMessage): Readonly<Record<string, string>> {
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": String(timestamp), "webhook-signature": `v1,${signature}` };
}
