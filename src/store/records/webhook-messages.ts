/** The messages of webhooks. They say what happened and where to look it up, without inputs and outputs, which may contain secrets. */
import { hash } from "node:crypto";
import type { NewApproval } from "../../core/store/approval-store.ts";
import type { WebhookType } from "../../core/store/webhook-store.ts";
import type { JsonObject } from "../../core/base/json.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { replaceLoneSurrogates } from "../../core/base/lone-surrogates.ts";
import type { JobChange } from "./job-changes.ts";

export interface WebhookMessage {
  readonly id: string;
  readonly type: WebhookType;
  /** Wall-clock milliseconds since the epoch. */
  readonly at: number;
  readonly payload: string;
}

export function createApprovalMessage(question: NewApproval): WebhookMessage {
  const { id, sessionId, callId, toolName, reason, digest, askedAt: at, expiresAt } = question;
  const data = { id, sessionId, callId, toolName, reason, digest, ...omitUndefined({ expiresAt }) };
  return createMessage("approval.asked", at, { key: [id, digest], data });
}

export function createJobMessage(
  sessionId: string,
  { id, toolName, state, at, errorCode }: JobChange & { readonly type: "end" },
): WebhookMessage {
  return createMessage("job.ended", at, { key: [sessionId, id], data: { id, sessionId, toolName, state, errorCode } });
}

/** Makes a message with a deterministic id, so that a message sent twice, for example after a crash, can be recognized. */
function createMessage(
  type: WebhookType,
  at: number,
  { key, data }: { readonly key: readonly string[]; readonly data: JsonObject },
): WebhookMessage {
  const payload = replaceLoneSurrogates(JSON.stringify({ type, timestamp: new Date(at).toISOString(), data }));
  return { id: `msg_${hash("sha256", JSON.stringify([type, ...key])).slice(0, 32)}`, type, at, payload };
}
