/** The HTTP API as data: one table of routes, from which the router, the OpenAPI document, the client and the tests are made. */
import { agentRoutes } from "./api/routes/agents.ts";
import { approvalRoutes } from "./api/routes/approvals.ts";
import { artifactRoutes } from "./api/routes/artifacts.ts";
import { auditRoutes } from "./api/routes/audit.ts";
import { callRoutes } from "./api/routes/calls.ts";
import { jobRoutes } from "./api/routes/jobs.ts";
import { scheduleRoutes } from "./api/routes/schedules.ts";
import { serverRoutes } from "./api/routes/server.ts";
import { sessionRoutes } from "./api/routes/sessions.ts";
import { sessionKeyRoutes } from "./api/routes/session-keys.ts";
import { toolRoutes } from "./api/routes/tools.ts";
import { upstreamRoutes } from "./api/routes/upstreams.ts";
import type { SchemaType } from "./api/openapi/schema-type.ts";

/** All operations by their ids. */
export const API = {
  ...toolRoutes,
  ...callRoutes,
  ...sessionRoutes,
  ...sessionKeyRoutes,
  ...artifactRoutes,
  ...approvalRoutes,
  ...jobRoutes,
  ...agentRoutes,
  ...scheduleRoutes,
  ...upstreamRoutes,
  ...auditRoutes,
  ...serverRoutes,
} as const;

/** The id of an operation, such as `execute`. */
export type OperationId = keyof typeof API;

/** Ids of all operations, in the order of the OpenAPI document. */
export const OPERATION_IDS = Object.keys(API) as readonly OperationId[]; // the keys of a literal

type Table = typeof API;
type Field<Id extends OperationId, Name extends string> = Table[Id] extends { readonly [Key in Name]: infer Value } ? Value : undefined;
type OfParameters<Declared> = Declared extends object ? { readonly [Name in keyof Declared]: SchemaType<Declared[Name]> } : Empty;
type Empty = object;

/** Parameters of an operation's path. */
export type ParamsOf<Id extends OperationId> = OfParameters<Field<Id, "params">>;
/** Names of the query parameters that have a default: a handler always gets them. */
type Defaulted<Declared> = {
  [Name in keyof Declared]: Declared[Name] extends { readonly default: unknown } ? Name : never;
}[keyof Declared];
/** Parameters of an operation's query, as its handler gets them. */
export type QueryOf<Id extends OperationId> =
  Field<Id, "query"> extends infer Declared extends object
    ? { readonly [Name in Defaulted<Declared> & keyof Declared]: SchemaType<Declared[Name]> } & {
        readonly [Name in Exclude<keyof Declared, Defaulted<Declared>>]?: SchemaType<Declared[Name]>;
      }
    : Empty;
/** Parameters of an operation's query, as a client gives them. */
export type QueryInput<Id extends OperationId> = Partial<QueryOf<Id>>;
/** The JSON body of an operation. */
export type BodyOf<Id extends OperationId> = Field<Id, "body"> extends infer Body extends object ? SchemaType<Body> : undefined;
/** The JSON that an operation answers with. */
export type AnswerOf<Id extends OperationId> = Field<Id, "answer"> extends infer Answer extends object ? SchemaType<Answer> : undefined;
