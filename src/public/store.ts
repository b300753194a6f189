/** The public names of `haft/store`, listed by hand: the seam behind which sessions outlive their process. @packageDocumentation */
export type {
  AccessStore,
  AuditedCall,
  AuditedCallPage,
  AuditedCallPlace,
  AuditedCallQuery,
  KeyQuery,
  KeyedRequest,
  NewKeyedRequest,
  RefusalQuery,
  RefusedRequest,
  RevokeKeyRequest,
  StoredKey,
} from "../core/store/access-store.ts";
export type { ApprovalPreview, PreviewedCall, PreviewedChange, PreviewedEffects } from "../core/approvals/approval-preview.ts";
export type { ApprovalKey, ApprovalVerdict, ManyApprovals, NewApprovalRule } from "../core/approvals/approvals.ts";
export type {
  AbandonedQuestions,
  ApprovalEnd,
  ApprovalRecord,
  ApprovalRule,
  ApprovalScope,
  ApprovalStatus,
  ApprovalStore,
  CoveredCall,
  ListApprovalsOptions,
  NewApproval,
  StoredApprovalQuery,
} from "../core/store/approval-store.ts";
export { artifactId, artifactOf, artifactUri, type Artifact, type ArtifactStore } from "../core/artifact.ts";
export type { ProcessDescription, StoredProcess } from "../core/store/process-store.ts";
export { type ChangedPart, type StoreChange, type StoreFollower, CHANGED_PARTS } from "../core/store/store-changes.ts";
export type {
  CancelRequest,
  JobKey,
  JobStore,
  ListStoredJobsOptions,
  ListUnattendedOptions,
  PruneJobsOptions,
  StoredJob,
} from "../core/store/job-store.ts";
export type { SessionQueue, TakeSessionsOptions, TakenSessions } from "../core/store/session-queue.ts";
export type { LeaseAnswer, LeaseRequest, LeaseStore, LeaseUpdate, StoredLease } from "../core/store/lease-store.ts";
export type {
  CacheRecord,
  CacheStore,
  EventLog,
  EventPage,
  ListOptions,
  LogDamage,
  LogOptions,
  ReadOptions,
  Store,
  StoredSession,
} from "../core/store/store.ts";
export type { DeliveryKey, WebhookClaim, WebhookDelivery, WebhookEndpoint, WebhookStore } from "../core/store/webhook-store.ts";
export { StoredApprovals, type StoredApprovalsOptions } from "../policy/approval/stored-approvals.ts";
export type { FeedEntry, FeedPage, ReadFeedOptions, StoreFeed } from "../core/store/store-feed.ts";
export { attachArtifacts } from "../session/attach-artifacts.ts";
export { artifactsOf } from "../runtime/runtime-session.ts";
export { folderArtifacts, type FolderArtifactsOptions } from "../store/folder-artifacts.ts";
export { memoryStore } from "../store/memory-store.ts";
export type { ChannelEntry, ChannelEntryKey, ChannelStore, NewChannelEntry, ReadChannel, TakeEntry } from "../core/store/channel-store.ts";
export type { KeyMaker, RequestHold } from "../core/store/access-store.ts";
