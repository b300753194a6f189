/** The words of the audit, for the API and its clients. */
import type { AuditedCall } from "../../core/access-store.ts";

/** Outcomes of calls in the audit. */
export const AUDIT_OUTCOMES = Object.freeze([
  "ok",
  "partial",
  "error",
  "cancelled",
  "skipped",
  "open",
] as const satisfies readonly AuditedCall["outcome"][]);

/** Types of audit entries. */
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
