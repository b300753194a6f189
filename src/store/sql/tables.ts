/** The tables of a store, for Kysely. Ids and keys are in them as JSON text, so that any string comes back from any database. */
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

/** The migrations of the tables; the greatest version is that of the format. */
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
  /** Where its process is reached over HTTP; null where it was not announced. */
  readonly address: string | null;
}

/** The description of the process of an owner that announced itself. */
interface ProcessTable {
  readonly owner: string;
  readonly started_at: number;
  /** All that it announced but its address, as JSON. */
  readonly about: string;
  /** Events that it had not read yet; null where it follows none. */
  readonly events_behind: number | null;
}

export interface SessionTable {
  readonly id: string;
  readonly parent_id: string | null;
  /** How many events of the parent the log begins with; 0 without a parent. */
  readonly parent_length: number;
  readonly created_at: number;
  readonly durability: string;
  readonly updated_at: number;
  /** Events in all, those of the parent included. */
  readonly length: number;
  /** Checksum of the last event, or of the empty log. */
  readonly head: string;
  /** Over all of the above. */
  readonly checksum: string;
  /** The owner that may write it; null, or an owner that is gone, when it is not open. */
  readonly owner: string | null;
  /** How often it was claimed, its creation included. A write names the claim that it belongs to. */
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
  /** Over this event and the checksum of the one before. */
  readonly checksum: string;
}

/** Numbered in the order of commits. No number is given twice, whatever was removed. */
interface NumberedEventTable extends EventTable {
  readonly sequence: Generated<number>;
}

/** A background job, as the events of its session say it is. */
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
  /** Set while it is to be cancelled. */
  readonly cancel_reason: string | null;
}

/** A key of a server. Its columns are what is asked by; `body` is the whole of it as JSON, but for `revoked_at`. */
export interface KeyTable {
  readonly id: string;
  readonly created_at: number;
  /** Null for a key that is not a session key. */
  readonly session: string | null;
  readonly expires_at: number | null;
  readonly revoked_at: number | null;
  readonly body: string;
}

/** A request that a server refused. Its columns are what is asked by; `body` is the whole of it as JSON. */
export interface RefusalTable {
  /** Counts from 1, without end. */
  readonly number: number;
  readonly at: number;
  readonly principal: string | null;
  readonly body: string;
}

/** A call that no session has, for the audit. As a refusal. */
export interface AuditedCallTable extends RefusalTable {}

/** A request with an `Idempotency-Key`. */
export interface RequestTable {
  readonly key: string;
  readonly fingerprint: string;
  readonly at: number;
  /** Null while there is none. */
  readonly answer: string | null;
  /** The attempt that is under way; null when none is. */
  readonly holder: string | null;
  readonly beats: number;
}

/** An approval question. Its columns are what is asked by; `question` is the whole of it as JSON, `answer` what became of it. */
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
  /** 1 where another process wants it. */
  readonly wants_preview: number;
  readonly preview: string | null;
}

export interface ApprovalRuleTable {
  readonly id: string;
  /** Null for a rule of all sessions. */
  readonly session: string | null;
  readonly expires_at: number | null;
  readonly created_at: number;
  /** The whole of it as JSON. */
  readonly rule: string;
}

/** A type of messages that an endpoint receives. */
interface WebhookTable {
  readonly endpoint: string;
  readonly type: string;
}

/** A message that is to be sent to an endpoint. */
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
  /** The last time. */
  readonly stored_at: number;
  /** As base64. */
  readonly data: string;
}

/** A channel on which something was sent. */
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
  /** The whole of it as JSON. */
  readonly body: string;
  /** Of a queue: the owner that has taken it; null where none has. */
  readonly holder: string | null;
  /** 0 or 1: of a queue, it has been received. */
  readonly ended: number;
}

/** A request of a lease, once for each slot of its keys: see lease-line.ts. */
interface LeaseTable {
  readonly ticket: string;
  readonly slot: number;
  readonly owner: string;
  readonly place: number;
  /** Null while it waits. */
  readonly fence: number | null;
  /** The whole of it as JSON. */
  readonly request: string;
}

/** The last fence that was given in a slot. */
interface LeaseSlotTable {
  readonly slot: number;
  readonly fence: number;
}

export interface CacheTable {
  readonly key: string;
  readonly body: string;
  /** JSON lists of equal length. */
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

/** `cache-bytes` is a sum that would take a walk over the table; the others are only locked, by transactions that number rows. */
export interface CounterTable {
  readonly name: "cache-bytes" | "approvals" | "refusals" | "calls";
  readonly value: number;
}
