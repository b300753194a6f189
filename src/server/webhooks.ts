/** The public names of `haft/webhooks`, listed by hand: signed messages to other services when a call waits for approval or a job has ended. @packageDocumentation */
export { type WebhookType, WEBHOOK_TYPES } from "../core/store/webhook-store.ts";
export { WebhookSender, type WebhookOptions, type WebhookSenderOptions } from "./webhooks/webhook-sender.ts";
