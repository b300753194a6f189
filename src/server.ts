/** A runtime over HTTP: tools, sessions, jobs, approvals and events under `/v1`, and MCP on the same port. @packageDocumentation */
export { createServer } from "./server/create-server.ts";
export type { HaftServer, ListenAddress, ServerListener, ServerOptions } from "./server/create-server.ts";
export { createWorker } from "./server/worker/create-worker.ts";
export type { HaftWorker, WorkerCounts, WorkerOptions } from "./server/worker/create-worker.ts";
export type { ServerLimits } from "./server/api/server-settings.ts";
export type { Authenticator, Principal, Scope } from "./server/auth/principal.ts";
export { issuerTokens } from "./server/auth/issuer-tokens.ts";
export type { IssuerTokensOptions } from "./server/auth/issuer-tokens.ts";
export { Keys } from "./server/auth/keys.ts";
export type { IssuedKey, KeysOptions, NewKey, NewSessionKey } from "./server/auth/keys.ts";
export { ServerAccess, openServerAccess } from "./server/auth/server-access.ts";
export type { Admission, Denial, IssuerOptions, ServerAccessOptions } from "./server/auth/server-access.ts";
export { staticToken } from "./server/auth/static-token.ts";
export type { StaticTokenOptions } from "./server/auth/static-token.ts";
export { securityHeaders } from "./server/http/security-headers.ts";
export type { SecurityHeadersOptions } from "./server/http/security-headers.ts";
export type { Problem } from "./server/http/problem.ts";
