/** The services that handlers of the API use, and the type of a handler. */
import type { Agent } from "../../compose/agent.ts";
import type { Clock, Ids, Log } from "../../core/ports.ts";
import type { Store } from "../../core/store/store.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { CallLog } from "../auth/call-log.ts";
import type { ServerAccess } from "../auth/server-access.ts";
import type { Triggers } from "../../triggers/triggers.ts";
import type { AnswerOf, BodyOf, OperationId, ParamsOf, QueryOf } from "../api.ts";
import type { TextResponse } from "../http/text-response.ts";
import type { ApiRequest } from "./requests/api-request.ts";
import type { EventHub } from "../events/event-hub.ts";
import type { Limits } from "./requests/limits.ts";
import type { Metrics } from "./handlers/metrics.ts";
import type { ServerSettings } from "./server-settings.ts";
import type { SessionPool } from "./sessions/session-pool.ts";
import type { UpstreamLogins } from "./upstream-logins.ts";
import type { SessionTitles } from "./sessions/session-titles.ts";
import type { Submissions } from "./handlers/submissions.ts";
import type { WorkInProgress } from "./work-in-progress.ts";

export interface ApiServices {
  /** Path prefix of this server's addresses; empty at the root. */
  readonly basePath: string;
  readonly runtime: Runtime;
  readonly store: Store | undefined;
  readonly sessions: SessionPool;
  readonly titles: SessionTitles;
  readonly submissions: Submissions;
  /** Requests forwarded to another server of the store. */
  readonly forwardedWork: WorkInProgress;
  readonly events: EventHub;
  readonly agents: ReadonlyMap<string, Agent>;
  /** Names of agents that run here or in another process, now or soon. */
  readonly expectedAgents: ReadonlySet<string>;
  readonly triggers: Triggers | undefined;
  /** Logins of users at the MCP servers behind this one; undefined if there are none. */
  readonly logins: UpstreamLogins | undefined;
  readonly limits: Limits;
  readonly metrics: Metrics;
  readonly settings: ServerSettings;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** Returns the name of this process among those of its store. */
  readonly node: () => string;
  /** Whether the server has begun to stop, and accepts no more calls. */
  readonly stopping: () => boolean;
  /** Authentication, and the tools that each principal sees in lists and may call. */
  readonly access: ServerAccess;
  /** Records calls outside sessions; undefined without a store. */
  readonly calls: CallLog | undefined;
}

export type RequestOf<Id extends OperationId> = ApiRequest<ParamsOf<Id>, QueryOf<Id>, BodyOf<Id>> & {
  /** The `Idempotency-Key`, scoped by principal and route; undefined if there is none. */
  readonly idempotencyKey: string | undefined;
};

/** Handles one operation. Returns the JSON to respond with, or a whole response. @throws ToolError if the request fails as a whole, as a rejection */
export type Handler<Id extends OperationId> = (
  request: RequestOf<Id>,
  services: ApiServices,
) => Promise<AnswerOf<Id> | TextResponse | Response> | AnswerOf<Id> | TextResponse | Response;

export type Handlers<Ids extends OperationId = OperationId> = { readonly [Id in Ids]: Handler<Id> };
