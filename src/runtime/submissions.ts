/** Batches that may be submitted again: the same key returns the first results, however often, and also after a crash. */
import { createHash } from "node:crypto";
import { ToolError } from "../core/error.ts";
import type { SessionEvent } from "../core/event.ts";
import { canonicalJson } from "../core/base/canonical-json.ts";
import type { JsonLimits } from "../core/base/json-limits.ts";
import type { JsonValue } from "../core/base/json.ts";
import type { ToolResult } from "../core/result.ts";
import type { ExecuteOptions } from "../call/execute-options.ts";
import { readCall } from "../call/admit/read-call.ts";

/** A batch that was submitted under a key. */
export interface SubmittedBatch {
  readonly digest: string;
  /** In call order. */
  readonly callIds: readonly string[];
  /** Number of events in the session before it. */
  readonly startsAt: number;
  /**
   * The previous submission under the key, before the calls that the store had kept from starting were run; it is restored if those are rolled back.
   */
  readonly earlier?: SubmittedBatch;
}

/** The options of a batch with a key. */
export type KeyedOptions = ExecuteOptions & {
  readonly idempotencyKey: string;
  /**
   * Set for nested calls of a composite tool, whose code makes them again after a crash and continues from the earlier answers: calls that a full
   * store kept from starting are not run now.
   */
  readonly keepsRefused?: boolean;
};

type Results = readonly ToolResult[];

const MAX_KEY_LENGTH = 1_024;

/** The batches of one session, by their keys. */
export class Submissions {
  readonly #ended: Map<string, SubmittedBatch>;
  readonly #running = new Map<string, { readonly digest: string; readonly results: Promise<Results> }>();

  constructor(ended: ReadonlyMap<string, SubmittedBatch> = new Map()) {
    this.#ended = new Map(ended);
  }

  /**
   * The results of the batch with this key: from `read` if it was submitted before, or from `run` if this is the first time. Concurrent submissions
   * get the same results.
   *
   * Rejects with `conflict` if the key was used for other calls. A first submission that rejects may be repeated.
   */
  results(
    key: string,
    digest: string,
    work: { readonly run: () => Promise<Results>; readonly read: (ended: SubmittedBatch) => Promise<Results> },
  ): Promise<Results> {
    const known = this.#running.get(key) ?? this.#ended.get(key);
    if (known !== undefined && known.digest !== digest) return Promise.reject(keyReusedError(key));
    if (known !== undefined && "results" in known) return known.results;
    const results = (known === undefined ? work.run() : work.read(known)).finally(() => this.#running.delete(key));
    this.#running.set(key, { digest, results });
    return results;
  }

  /** Updates the batches from a recorded event: where their results are found, and which may be submitted again. */
  apply(event: SessionEvent, startsAt: number): void {
    applySubmissionEvent(this.#ended, event, startsAt);
  }
}

/** Like `Submissions.apply`, for the map of a session that is being read. */
export function applySubmissionEvent(submissions: Map<string, SubmittedBatch>, event: SessionEvent, startsAt: number): void {
  if (event.type === "batch-start") {
    const { idempotencyKey, digest, callIds } = event;
    const earlier = submissions.get(idempotencyKey);
    submissions.set(
      idempotencyKey,
      earlier === undefined ? { digest, callIds, startsAt } : { digest, callIds, startsAt: earlier.startsAt, earlier },
    );
  } else if (event.type === "batch-rollback") {
    const rolledBack = new Set(event.callIds);
    for (const [key, submitted] of submissions) {
      let left: SubmittedBatch | undefined = submitted;
      while (left?.callIds.some((callId) => rolledBack.has(callId)) === true) left = left.earlier;
      if (left === undefined) submissions.delete(key);
      else if (left !== submitted) submissions.set(key, left);
    }
  }
}

function keyReusedError(key: string): ToolError {
  return new ToolError("conflict", `The idempotency key ${JSON.stringify(key)} was used for other calls of this session.`, {
    hint: "Use a new key for new calls.",
  });
}

/** @throws ToolError `invalid_argument` */
export function checkIdempotencyKey(key: unknown): asserts key is string {
  if (typeof key === "string" && key !== "" && key.length <= MAX_KEY_LENGTH) return;
  throw new ToolError(
    "invalid_argument",
    `The option "idempotencyKey" of execute() must be a string of 1 to ${MAX_KEY_LENGTH} characters.`,
  );
}

/** A digest of the calls, without their ids: SHA-256 over their names and inputs, in hex. */
export function digestOfCalls(calls: readonly unknown[], limits: JsonLimits): string {
  const read = calls.map((raw): JsonValue => {
    const { call, error } = readCall(raw, limits);
    // The input was copied into plain JSON by readCall.
    return error === undefined ? [call.name, call.input as JsonValue] : [call.name, null, error.message];
  });
  return createHash("sha256").update(canonicalJson(read)).digest("hex");
}
