/** Batches that may be submitted again: the same key gives the first results, however often and after whatever crash. */
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
export interface Submitted {
  readonly digest: string;
  /** In call order. */
  readonly callIds: readonly string[];
  /** How many events the session had before it. */
  readonly startsAt: number;
  /** Its state before the calls that the store had kept from starting were run, which holds again when these are rolled back. */
  readonly earlier?: Submitted;
}

/** The options of a batch with a key. */
export type KeyedOptions = ExecuteOptions & {
  readonly idempotencyKey: string;
  /** The code of a composite tool makes it again after a crash, and continues from what it was answered: calls that a full store kept from starting are not run now. */
  readonly keepsRefused?: boolean;
};

type Results = readonly ToolResult[];

const MAX_KEY_LENGTH = 1_024;

/** The batches of one session by their keys. */
export class Submissions {
  readonly #ended: Map<string, Submitted>;
  readonly #running = new Map<string, { readonly digest: string; readonly results: Promise<Results> }>();

  constructor(ended: ReadonlyMap<string, Submitted> = new Map()) {
    this.#ended = new Map(ended);
  }

  /**
   * The results of the batch that has this key: of `read` when it was submitted before, or of `run` when this is the first. Submissions that come meanwhile
   * get the same.
   *
   * Rejects with `conflict` when the key was used for other calls. A first submission that rejects may be made again.
   */
  results(
    key: string,
    digest: string,
    work: { readonly run: () => Promise<Results>; readonly read: (ended: Submitted) => Promise<Results> },
  ): Promise<Results> {
    const known = this.#running.get(key) ?? this.#ended.get(key);
    if (known !== undefined && known.digest !== digest) return Promise.reject(otherCalls(key));
    if (known !== undefined && "results" in known) return known.results;
    const results = (known === undefined ? work.run() : work.read(known)).finally(() => this.#running.delete(key));
    this.#running.set(key, { digest, results });
    return results;
  }

  /** Notices what is recorded of batches: where their results are to be found, and which may be submitted again. */
  notice(event: SessionEvent, startsAt: number): void {
    noticeSubmission(this.#ended, event, startsAt);
  }
}

/** As `Submissions.notice`, for the map of a session that is being read. */
export function noticeSubmission(submissions: Map<string, Submitted>, event: SessionEvent, startsAt: number): void {
  if (event.type === "batch-start") {
    const { idempotencyKey, digest, callIds } = event;
    const earlier = submissions.get(idempotencyKey);
    submissions.set(
      idempotencyKey,
      earlier === undefined ? { digest, callIds, startsAt } : { digest, callIds, startsAt: earlier.startsAt, earlier },
    );
  } else if (event.type === "batch-rollback") {
    const gone = new Set(event.callIds);
    for (const [key, submitted] of submissions) {
      let left: Submitted | undefined = submitted;
      while (left?.callIds.some((callId) => gone.has(callId)) === true) left = left.earlier;
      if (left === undefined) submissions.delete(key);
      else if (left !== submitted) submissions.set(key, left);
    }
  }
}

function otherCalls(key: string): ToolError {
  return new ToolError("conflict", `The idempotency key ${JSON.stringify(key)} was used for other calls of this session.`, {
    hint: "Use a new key for new calls.",
  });
}

/** @throws ToolError `invalid_argument` */
export function checkIdempotencyKey(key: unknown): asserts key is string {
  if (typeof key === "string" && key !== "" && key.length <= MAX_KEY_LENGTH) return;
  throw new ToolError("invalid_argument", `The option "idempotencyKey" of execute() is a string of 1 to ${MAX_KEY_LENGTH} characters.`);
}

/** The identity of the calls, whatever ids they bear: SHA-256 over their names and inputs, in hex. */
export function digestOfCalls(calls: readonly unknown[], limits: JsonLimits): string {
  const read = calls.map((raw): JsonValue => {
    const { call, error } = readCall(raw, limits);
    // The input was copied into plain JSON by readCall.
    return error === undefined ? [call.name, call.input as JsonValue] : [call.name, null, error.message];
  });
  return createHash("sha256").update(canonicalJson(read)).digest("hex");
}
