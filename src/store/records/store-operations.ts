/** The parts of a store besides its logs and cache, in a database that may be in another thread. Each method call is one message. */
import type { AccessStore } from "../../core/store/access-store.ts";
import type { ApprovalStore } from "../../core/store/approval-store.ts";
import type { ArtifactStore } from "../../core/artifact.ts";
import type { ChannelStore } from "../../core/store/channel-store.ts";
import type { JobStore } from "../../core/store/job-store.ts";
import type { LeaseStore } from "../../core/store/lease-store.ts";
import type { StoreFeed } from "../../core/store/store-feed.ts";
import type { WebhookStore } from "../../core/store/webhook-store.ts";
import { withCheckedAccess } from "./check-access.ts";
import { checkCancelRequest, checkFeedOptions, checkJobList, checkJobPrune, checkUnattended } from "./store-options.ts";

/** The parts of a store whose methods are sent as messages. */
export interface StoreParts {
  readonly jobs: JobStore;
  readonly feed: StoreFeed;
  readonly access: AccessStore;
  readonly approvals: ApprovalStore;
  readonly webhooks: WebhookStore;
  readonly artifacts: ArtifactStore;
  readonly leases: LeaseStore;
  readonly channels: ChannelStore;
}

/** A method of a part, and its argument. Plain data. */
export type StoreOperation =
  | { readonly part: "jobs"; readonly method: keyof JobStore; readonly argument: unknown }
  | { readonly part: "feed"; readonly method: keyof StoreFeed; readonly argument: unknown }
  | { readonly part: "access"; readonly method: keyof AccessStore; readonly argument: unknown }
  | { readonly part: "approvals"; readonly method: keyof ApprovalStore; readonly argument: unknown }
  | { readonly part: "webhooks"; readonly method: keyof WebhookStore; readonly argument: unknown }
  | { readonly part: "artifacts"; readonly method: keyof ArtifactStore; readonly argument: unknown }
  | { readonly part: "leases"; readonly method: keyof LeaseStore; readonly argument: unknown }
  | { readonly part: "channels"; readonly method: keyof ChannelStore; readonly argument: Parameters<ChannelStore[keyof ChannelStore]>[0] };

/** State that the tries of one operation share: a try may have been committed although its answer was lost. */
export interface OperationTries {
  /** Which try this is, from 1. */
  count: number;
  /** Set by a try before it commits: the first number that it gave to a row, or how many rows it removed. */
  number?: number;
}

export interface OperationGuard {
  /** Runs an operation where the database is. */
  run(operation: StoreOperation): Promise<unknown>;
  /** Opens the store. Rejects if that fails. */
  open(): Promise<void>;
  /** Throws if the store cannot be written. */
  requireWritable(): void;
}

type Methods<Part> = Readonly<Record<keyof Part, "reads" | "writes">>;

const METHODS: { readonly [Part in keyof StoreParts]: Methods<StoreParts[Part]> } = {
  jobs: { list: "reads", requestCancel: "writes", cancelRequests: "reads", unattended: "reads", prune: "writes" },
  feed: { latest: "reads", read: "reads" },
  access: {
    addKey: "writes",
    key: "reads",
    keys: "reads",
    revokeKey: "writes",
    addRefusals: "writes",
    refusals: "reads",
    addCalls: "writes",
    calls: "reads",
    beginRequest: "writes",
    holdRequest: "writes",
    releaseRequest: "writes",
    answerRequest: "writes",
    forgetRequests: "writes",
  },
  approvals: {
    put: "writes",
    list: "reads",
    end: "writes",
    leave: "writes",
    withdrawAbandoned: "writes",
    rules: "reads",
    addRule: "writes",
    removeRule: "writes",
    requestPreview: "writes",
    previewRequests: "reads",
    keepPreview: "writes",
    preview: "reads",
    prune: "writes",
  },
  webhooks: { setEndpoints: "writes", claim: "writes", retry: "writes", remove: "writes" },
  artifacts: { put: "writes", get: "reads", prune: "writes" },
  leases: { update: "writes", list: "reads" },
  channels: {
    send: "writes",
    read: "reads",
    latest: "reads",
    last: "reads",
    waiting: "reads",
    take: "writes",
    release: "writes",
    end: "writes",
  },
};

/** Makes parts whose methods all run through the guard, after their options were checked. */
export function guardParts(guard: OperationGuard): StoreParts {
  const parts = Object.entries(METHODS).map(([part, methods]) => [part, guardPart(guard, part, methods)]);
  const sent = Object.fromEntries(parts) as StoreParts; // each part has the methods of its table
  return { ...sent, jobs: withCheckedJobs(sent.jobs), feed: withCheckedFeed(sent.feed), access: withCheckedAccess(sent.access) };
}

function guardPart(guard: OperationGuard, part: string, methods: Readonly<Record<string, "reads" | "writes">>): object {
  const send = ([method, kind]: [string, "reads" | "writes"]) => [
    method,
    async (argument?: unknown): Promise<unknown> => {
      if (kind === "writes") guard.requireWritable();
      await guard.open();
      return guard.run({ part, method, argument } as StoreOperation); // the table pairs part and method
    },
  ];
  return Object.fromEntries(Object.entries(methods).map(send)) as object;
}

function withCheckedJobs(jobs: JobStore): JobStore {
  return {
    ...jobs,
    list: async (options = {}) => jobs.list(checkJobList(options)),
    requestCancel: async (request) => jobs.requestCancel(checkCancelRequest(request)),
    unattended: async (options = {}) => jobs.unattended(checkUnattended(options)),
    prune: async (options) => jobs.prune(checkJobPrune(options)),
  };
}

function withCheckedFeed(feed: StoreFeed): StoreFeed {
  return { ...feed, read: async (options) => feed.read(checkFeedOptions(options)) };
}

/** Runs an operation on the parts themselves. @param tries given to methods whose retry must recognize what an earlier try has committed */
export function runOperation(parts: StoreParts, { part, method, argument }: StoreOperation, tries?: OperationTries): Promise<unknown> {
  const subject = parts[part];
  const run = Reflect.get(subject, method) as (argument: unknown, tries?: OperationTries) => Promise<unknown>; // the guards pair method and argument
  return Reflect.apply(run, subject, [argument, tries]);
}
