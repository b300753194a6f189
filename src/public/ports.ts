/** The public names of `haft/ports`, listed by hand: what a runtime takes from outside: time, randomness, ids, log, locks, slots and approvals. @packageDocumentation */
export type { ApprovalInbox, ApprovalNote, ApprovalQuestion, Approvals, PendingApproval, ShownTool } from "../core/approvals/approvals.ts";
export type { AskRequest } from "../core/approvals/ask.ts";
export type { LockRequest, Locks, LockTicket } from "../core/resources/locks.ts";
export type { Clock, Expiring, Ids, Log, LogFields, Random, Timer } from "../core/ports.ts";
export type { SlotLimit, Slots, SlotWaiter } from "../core/resources/slots.ts";
export type {
  ServedRequest,
  ServedSession,
  TracedRequest,
  TracedRequestEnd,
  TracedRequestWork,
  TracedRun,
  TracedRunEnd,
  TracedWork,
  Tracing,
} from "../core/tracing.ts";
