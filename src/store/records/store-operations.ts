/** The approvals, webhooks, artifacts, leases and channels of a database that may live in another thread: each method is one message. */
import type { ApprovalStore } from "../../core/approval-store.ts";
import type { ArtifactStore } from "../../core/artifact.ts";
import type { ChannelStore } from "../../core/channel-store.ts";
import type { LeaseStore } from "../../core/lease-store.ts";
import type { WebhookStore } from "../../core/webhook-store.ts";

/** The parts of a store whose methods are sent as messages. */
export interface StoreParts {
  readonly approvals: ApprovalStore;
  readonly webhooks: WebhookStore;
  readonly artifacts: ArtifactStore;
  readonly leases: LeaseStore;
  readonly channels: ChannelStore;
}

/** A method of a part, and its argument. Plain data. */
export type StoreOperation =
  | { readonly part: "approvals"; readonly method: keyof ApprovalStore; readonly argument: unknown }
  | { readonly part: "webhooks"; readonly method: keyof WebhookStore; readonly argument: unknown }
  | { readonly part: "artifacts"; readonly method: keyof ArtifactStore; readonly argument: unknown }
  | { readonly part: "leases"; readonly method: keyof LeaseStore; readonly argument: unknown }
  | { readonly part: "channels"; readonly method: keyof ChannelStore; readonly argument: Parameters<ChannelStore[keyof ChannelStore]>[0] };

export interface OperationGuard {
  /** Runs one where the database is. */
  run(operation: StoreOperation): Promise<unknown>;
  /** Opens the store, and rejects when that cannot be done. */
  open(): Promise<void>;
  /** Throws when the store cannot be written. */
  requireWritable(): void;
}

/** Sends every method through the guard. */
export function guardParts(guard: OperationGuard): StoreParts {
  return {
    approvals: guardApprovals(guard),
    webhooks: guardWebhooks(guard),
    artifacts: guardArtifacts(guard),
    leases: guardLeases(guard),
    channels: guardChannels(guard),
  };
}

function guardApprovals(guard: OperationGuard): ApprovalStore {
  const send = async <Method extends keyof ApprovalStore>(
    method: Method,
    argument?: Parameters<ApprovalStore[Method]>[0],
  ): Promise<Awaited<ReturnType<ApprovalStore[Method]>>> => {
    const answer = await sent(guard, { part: "approvals", method, argument });
    return answer as Awaited<ReturnType<ApprovalStore[Method]>>; // what the method of that name answers; so below
  };
  return {
    put: (question) => send("put", question),
    list: (query) => send("list", query),
    end: (end) => send("end", end),
    leave: (question) => send("leave", question),
    withdrawAbandoned: (request) => send("withdrawAbandoned", request),
    rules: (query) => send("rules", query),
    addRule: (rule) => send("addRule", rule),
    removeRule: (id) => send("removeRule", id),
    requestPreview: (request) => send("requestPreview", request),
    previewRequests: () => send("previewRequests"),
    keepPreview: (preview) => send("keepPreview", preview),
    preview: (id) => send("preview", id),
    prune: (options) => send("prune", options),
  };
}

function guardWebhooks(guard: OperationGuard): WebhookStore {
  const send = async <Method extends keyof WebhookStore>(
    method: Method,
    argument: Parameters<WebhookStore[Method]>[0],
  ): Promise<Awaited<ReturnType<WebhookStore[Method]>>> =>
    (await sent(guard, { part: "webhooks", method, argument })) as Awaited<ReturnType<WebhookStore[Method]>>;
  return {
    setEndpoints: (endpoints) => send("setEndpoints", endpoints),
    claim: (request) => send("claim", request),
    retry: (request) => send("retry", request),
    remove: (key) => send("remove", key),
  };
}

function guardArtifacts(guard: OperationGuard): ArtifactStore {
  const send = async <Method extends keyof ArtifactStore>(
    method: Method,
    argument: Parameters<ArtifactStore[Method]>[0],
  ): Promise<Awaited<ReturnType<ArtifactStore[Method]>>> =>
    (await sent(guard, { part: "artifacts", method, argument })) as Awaited<ReturnType<ArtifactStore[Method]>>;
  return {
    put: (request) => send("put", request),
    get: (id) => send("get", id),
    prune: (request) => send("prune", request),
  };
}

function guardLeases(guard: OperationGuard): LeaseStore {
  const send = async <Method extends keyof LeaseStore>(
    method: Method,
    argument?: Parameters<LeaseStore[Method]>[0],
  ): Promise<Awaited<ReturnType<LeaseStore[Method]>>> =>
    (await sent(guard, { part: "leases", method, argument })) as Awaited<ReturnType<LeaseStore[Method]>>;
  return { update: (update) => send("update", update), list: () => send("list") };
}

function guardChannels(guard: OperationGuard): ChannelStore {
  const send = async <Method extends keyof ChannelStore>(
    method: Method,
    argument: Parameters<ChannelStore[Method]>[0],
  ): Promise<Awaited<ReturnType<ChannelStore[Method]>>> =>
    (await sent(guard, { part: "channels", method, argument })) as Awaited<ReturnType<ChannelStore[Method]>>;
  return {
    send: (message) => send("send", message),
    read: (query) => send("read", query),
    latest: (query) => send("latest", query),
    last: (channel) => send("last", channel),
    waiting: (channel) => send("waiting", channel),
    take: (query) => send("take", query),
    giveBack: (key) => send("giveBack", key),
    end: (key) => send("end", key),
  };
}

async function sent(guard: OperationGuard, operation: StoreOperation): Promise<unknown> {
  if (!READS.has(operation.method)) guard.requireWritable();
  await guard.open();
  return guard.run(operation);
}

const READS: ReadonlySet<string> = new Set<keyof ApprovalStore | keyof ArtifactStore | keyof ChannelStore>([
  "list",
  "rules",
  "previewRequests",
  "preview",
  "get",
  "read",
  "latest",
  "last",
  "waiting",
]);

/** Runs an operation on the parts themselves. */
export function runOperation(parts: StoreParts, { part, method, argument }: StoreOperation): Promise<unknown> {
  const subject = parts[part];
  const run = Reflect.get(subject, method) as (argument: unknown) => Promise<unknown>; // the guards pair method and argument
  return Reflect.apply(run, subject, [argument]);
}
