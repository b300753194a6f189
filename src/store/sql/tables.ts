/** The tables of a store, for Kysely. Ids and keys are stored as JSON text, so that any string can be read back from any database. */
import type { Generated } from "kysely";

export interface Tables {
  readonly haft_migration: MigrationTable;
  readonly haft_owner: OwnerTable;
  readonly haft_process: ProcessTable;
  readonly haft_session: SessionTable;
  readonly haft_event: NumberedEventTable;
  readonly haft_job: StoredJobTable;
  readonly haft_key: KeyTable;
  readonly haft_refusal: RefusalTable;
  readonly haft_call: AuditedCallTable;
  readonly haft_request: RequestTable;
  readonly haft_approval: ApprovalTable;
  readonly haft_approval_rule: ApprovalRuleTable;
  readonly haft_webhook: WebhookTable;
  readonly haft_delivery: DeliveryTable;
  readonly haft_artifact: ArtifactTable;
  readonly haft_channel: ChannelTable;
  readonly haft_channel_message: ChannelMessageTable;
  readonly haft_lease: LeaseTable;
  readonly haft_lease_slot: LeaseSlotTable;
  readonly haft_cache: CacheTable;
  readonly haft_generation: GenerationTable;
  readonly haft_counter: CounterTable;
}

/** The migrations that ran. The greatest version is the format version. */
interface MigrationTable {
  readonly version: number;
  readonly name: string;
}

/** A store object that has sessions open. */
export interface OwnerTable {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** Milliseconds since the epoch by the database's clock. */
  readonly seen_at: number;
  /** The HTTP address of its process; null if none was announced. */
  readonly address: string | null;
}

/** The description of an owner's process, if it announced one. */
interface ProcessTable {
  readonly owner: string;
  readonly started_at: number;
  /** Everything that it announced except its address, as JSON. */
  readonly about: string;
  /** Number of events that it had not read yet; null if it reads no feed. */
  readonly events_behind: number | null;
}

export interface SessionTable {
  readonly id: string;
  readonly parent_id: string | null;
  /** Number of events that the log shares with its parent; 0 without a parent. */
  readonly parent_length: number;
  readonly created_at: number;
  readonly durability: string;
  readonly updated_at: number;
  /** Total number of events, including those of the parent. */
  readonly length: number;
  /** Checksum of the last event, or of the empty log. */
  readonly head: string;
  /** Over all fields above. */
  readonly checksum: string;
  /** The owner that may write it. If null, or an owner that is gone, the session is not open. */
  readonly owner: string | null;
  /** How often the session was claimed, including its creation. A write carries the epoch of its claim. */
  readonly epoch: number;
}

export interface EventTable {
  readonly session: string;
  /** Counts from 1; a branch continues after its parent's events. */
  readonly position: number;
  readonly at: number;
  readonly type: string;
  readonly call_id: string | null;
  readonly body: string;
  /** Over this event and the checksum of the event before. */
  readonly checksum: string;
}

/** Events numbered in the order of commits. Numbers are never reused, even after events are removed. */
interface NumberedEventTable extends EventTable {
  readonly sequence: Generated<number>;
}

/** A background job, derived from the events of its session. */
export interface StoredJobTable {
  readonly session: string;
  /** The id of its call, as JSON text. */
  readonly id: string;
  readonly tool: string;
  readonly mode: string;
  /** 0 or 1. */
  readonly notify: number;
  readonly state: string;
  readonly started_at: number;
  readonly ended_at: number | null;
  readonly starts: number;
  readonly error_code: string | null;
  /** Set if the job is to be cancelled. */
  readonly cancel_reason: string | null;
}

/** A key of a server. The columns are those used in queries; `body` is the whole key as JSON, except `revoked_at`. */
export interface KeyTable {
  readonly id: string;
  readonly created_at: number;
  /** Null if it is not a session key. */
  readonly session: string | null;
  readonly expires_at: number | null;
  readonly revoked_at: number | null;
  readonly body: string;
}

/** A request that a server refused. The columns are those used in queries; `body` is the whole request as JSON. */
export interface RefusalTable {
  /** Counts from 1 and is never reset. */
  readonly number: number;
  readonly at: number;
  readonly principal: string | null;
  readonly body: string;
}

/** A call outside of sessions, for the audit. Stored like a refusal. */
export interface AuditedCallTable extends RefusalTable {}

/** A request with an `Idempotency-Key`. */
export interface RequestTable {
  readonly key: string;
  readonly fingerprint: string;
  readonly at: number;
  /** Null until the request is answered. */
  readonly answer: string | null;
  /** The attempt in progress; null if there is none. */
  readonly holder: string | null;
  readonly beats: number;
}

/** An approval question. The columns are those used in queries; `question` is the whole question as JSON, `answer` how it ended. */
export interface ApprovalTable {
  readonly id: string;
  readonly position: number;
  readonly session: string;
  readonly call_id: string;
  readonly tool: string;
  readonly digest: string;
  readonly status: string;
  readonly expires_at: number | null;
  /** The owner that waits for the answer. */
  readonly owner: string;
  readonly question: string;
  readonly answer: string | null;
  /** 1 if another process has requested it. */
  readonly wants_preview: number;
  readonly preview: string | null;
}

export interface ApprovalRuleTable {
  readonly id: string;
  /** Null for a rule of all sessions. */
  readonly session: string | null;
  readonly expires_at: number | null;
  readonly created_at: number;
  /** The whole rule as JSON. */
  readonly rule: string;
}

/** A type of messages that an endpoint receives. */
interface WebhookTable {
  readonly endpoint: string;
  readonly type: string;
}

/** A message to send to an endpoint. */
interface DeliveryTable {
  readonly endpoint: string;
  readonly message: string;
  readonly payload: string;
  readonly attempts: number;
  readonly created_at: number;
  readonly due_at: number;
}

/** A file that an event refers to. */
interface ArtifactTable {
  /** The SHA-256 of its bytes. */
  readonly id: string;
  readonly media_type: string;
  /** The last time the artifact was stored. */
  readonly stored_at: number;
  /** As base64. */
  readonly data: string;
}

/** A channel that has had a message. */
interface ChannelTable {
  readonly name: string;
  /** The number of its latest message. */
  readonly last: number;
}

interface ChannelMessageTable {
  readonly channel: string;
  readonly number: number;
  readonly sender: string;
  readonly sender_id: string;
  /** The whole message as JSON. */
  readonly body: string;
  /** The owner that has taken the message of a queue; null if none has. */
  readonly holder: string | null;
  /** 0 or 1: whether the message of a queue was received. */
  readonly ended: number;
}

/** A lease request, with one row for each slot of its keys: see lease-queue.ts. */
interface LeaseTable {
  readonly ticket: string;
  readonly slot: number;
  readonly owner: string;
  readonly place: number;
  /** Null while it waits. */
  readonly fence: number | null;
  /** The whole request as JSON. */
  readonly request: string;
}

/** The last fence given in a slot. */
interface LeaseSlotTable {
  readonly slot: number;
  readonly fence: number;
}

export interface CacheTable {
  readonly key: string;
  readonly body: string;
  /** JSON arrays of equal length, here and in `versions`. */
  readonly resources: string;
  readonly versions: string;
  readonly stored_at: number;
  readonly expires_at: number | null;
  readonly bytes: number;
  readonly checksum: string;
}

/** See resource-versions.ts. */
export interface GenerationTable {
  readonly resource: string;
  readonly self: number;
  readonly below: number;
}

/** `cache-bytes` is a sum that would otherwise need a scan of the table. The others are only locked, by transactions that number rows. */
export interface CounterTable {
  readonly name: "cache-bytes" | "approvals" | "refusals" | "calls";
  readonly value: number;
}
