/** The approvals of a database that may live in another thread: each method is one message. */
import type { ApprovalStore } from "../core/approval-store.ts";

/** A method of the approvals of a store, and its argument. Plain data. */
export interface ApprovalOperation {
  readonly method: keyof ApprovalStore;
  readonly argument: unknown;
}

export interface ApprovalGuard {
  /** Runs one where the database is. */
  run(operation: ApprovalOperation): Promise<unknown>;
  /** Opens the store, and rejects when that cannot be done. */
  open(): Promise<void>;
  /** Throws when the store cannot be written. */
  requireWritable(): void;
}

/** Sends every method through the guard. */
export function guardApprovals(guard: ApprovalGuard): ApprovalStore {
  const send = async <Method extends keyof ApprovalStore>(
    method: Method,
    argument?: Parameters<ApprovalStore[Method]>[0],
  ): Promise<Awaited<ReturnType<ApprovalStore[Method]>>> => {
    if (!READS.has(method)) guard.requireWritable();
    await guard.open();
    return (await guard.run({ method, argument })) as Awaited<ReturnType<ApprovalStore[Method]>>; // what the method of that name answers
  };
  return {
    put: (question) => send("put", question),
    list: (query) => send("list", query),
    end: (end) => send("end", end),
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

const READS: ReadonlySet<keyof ApprovalStore> = new Set(["list", "rules", "previewRequests", "preview"]);

/** Runs an operation on the approvals themselves. */
export function runApprovalOperation(approvals: ApprovalStore, { method, argument }: ApprovalOperation): Promise<unknown> {
  const run = approvals[method] as (argument: unknown) => Promise<unknown>; // `guardApprovals` pairs method and argument
  return Reflect.apply(run, approvals, [argument]);
}
