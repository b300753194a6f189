/** Outcomes and types of audit entries, for the API and its clients. */
import type { AuditedCall } from "../../core/store/access-store.ts";

export const AUDIT_OUTCOMES = Object.freeze([
  "ok",
  "partial",
  "error",
  "cancelled",
  "skipped",
  "open",
] as const satisfies readonly AuditedCall["outcome"][]);

export const AUDIT_TYPES = Object.freeze([
  "call",
  "approval-ask",
  "approval-answer",
  "message",
  "input",
  "key-add",
  "key-revoke",
  "refusal",
] as const);
