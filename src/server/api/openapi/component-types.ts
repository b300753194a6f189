/** The types of the named schemas of the API. */
import type { ApprovalRule } from "../../../core/store/approval-store.ts";
import type { PendingApproval } from "../../../core/approvals/approvals.ts";
import type { ToolCall } from "../../../core/call.ts";
import type { ContentPart } from "../../../core/content.ts";
import type { SessionEvent, RuntimeEvent } from "../../../core/event.ts";
import type { JobStatus } from "../../../core/jobs/job-status.ts";
import type { StoredProcess } from "../../../core/store/process-store.ts";
import type { ToolResult } from "../../../core/result.ts";
import type { SessionDiff } from "../../../session/session-diff.ts";
import type { SessionSnapshot } from "../../../runtime/snapshot.ts";
import type { TriggerStatus } from "../../../triggers/session-triggers.ts";
import type { ChannelMessage } from "../../../triggers/channel-message.ts";
import type { EffectWord } from "../../../registry/effect-word.ts";
import type { ToolDefinition } from "../../../registry/tool-definition.ts";
import type { AuditEntry } from "../../auth/audit.ts";
import type { Problem } from "../../http/problem.ts";

/** A result over HTTP. A failed one also has its error as a problem. */
export type ApiResult = ToolResult & {
  readonly problem?: Problem;
};

/** A tool on offer. */
export interface ApiTool extends ToolDefinition {
  readonly toolset: string;
  /** The strongest effect of its calls. */
  readonly effect: EffectWord;
  /** How its calls run: `direct`, `background` or `stateful`. */
  readonly mode: "direct" | "background" | "stateful";
}

/** A session in a list, or one that was asked for. */
export interface ApiSession {
  readonly id: string;
  /** Whether this server has it open. */
  readonly open: boolean;
  /** Number of its events. */
  readonly length: number;
  /** The first message of a user or the first called tool, whichever came first; at most 200 characters. */
  readonly title?: string;
  readonly simulated?: boolean;
  readonly createdAt?: number;
  readonly updatedAt?: number;
  readonly parent?: { readonly sessionId: string; readonly length?: number };
  readonly openedBy?: string;
  readonly openedIn?: string;
  readonly damage?: string;
}

/** A process of the store, in a list of them. */
export type ApiProcess = Omit<StoredProcess, "definitions">;

/** A job in a list, of the store or of this process. */
export interface ApiJob extends Omit<JobStatus, "output" | "preview"> {
  readonly output?: JobStatus["output"];
  readonly preview?: string;
  readonly result?: ApiResult;
  readonly errorCode?: string;
  readonly openedBy?: string;
}

/** A schedule of a session, in a list of those of all sessions. */
export interface ApiSchedule extends Omit<TriggerStatus, "type"> {
  readonly sessionId: string;
  /** When it is due next. */
  readonly nextAt?: number;
}

/** Types by the names of their schemas. */
export interface ComponentTypes {
  readonly ToolCall: ToolCall;
  readonly ToolResult: ApiResult;
  readonly ContentPart: ContentPart;
  readonly Problem: Problem;
  readonly Process: ApiProcess;
  readonly Tool: ApiTool;
  readonly Session: ApiSession;
  readonly SessionEvent: SessionEvent;
  readonly RuntimeEvent: RuntimeEvent;
  readonly SessionDiff: SessionDiff;
  readonly SessionSnapshot: SessionSnapshot;
  readonly PendingApproval: PendingApproval;
  readonly ApprovalRule: ApprovalRule;
  readonly AuditEntry: AuditEntry;
  readonly Job: ApiJob;
  readonly Trigger: TriggerStatus;
  readonly Schedule: ApiSchedule;
  readonly ChannelMessage: ChannelMessage;
}
