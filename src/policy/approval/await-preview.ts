/** Asks the process that asked an approval question what its call would change, and waits for the reply. */
import type { ApprovalPreview } from "../../core/approvals/approval-preview.ts";
import type { ApprovalRecord, ApprovalStore } from "../../core/store/approval-store.ts";
import type { JsonObject } from "../../core/base/json.ts";
import type { Clock } from "../../core/ports.ts";
import { sleep } from "../../processes/sleep.ts";

/** Interval of the polls in milliseconds, and their maximum number: the other process checks about twice a second, and its simulation is limited. */
const POLL_MS = 200;
const MAX_POLLS = 75;

export interface AwaitPreviewOptions {
  readonly store: ApprovalStore;
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
}

/** Waits for the preview. Resolves to the reason if there is none. */
export async function awaitPreview(
  { id, digest, status, askedIn }: ApprovalRecord,
  options: AwaitPreviewOptions,
): Promise<ApprovalPreview> {
  const { store, clock, signal } = options;
  const kept = await store.preview(id);
  if (kept !== undefined) return readPreview(kept);
  if (status !== "open") return unavailablePreview(`the question is ${status}`);
  if (askedIn === undefined)
    return unavailablePreview("no living process waits for the answer: resume its session to have the question asked again");
  if (!(await store.requestPreview({ id, digest }))) return unavailablePreview("the question has been answered in the meantime");
  for (let looks = 0; looks < MAX_POLLS && signal?.aborted !== true; looks++) {
    await sleep(clock, POLL_MS, signal);
    const preview = await store.preview(id);
    if (preview !== undefined) return readPreview(preview);
  }
  return unavailablePreview(`${askedIn} did not make one in time`);
}

export function unavailablePreview(reason: string): ApprovalPreview {
  return { available: false, reason };
}

function readPreview(kept: JsonObject): ApprovalPreview {
  const { available, reason, state, calls, writes } = kept;
  if (available === false) return unavailablePreview(typeof reason === "string" ? reason : "the reason is not known");
  // the form in which this version stores a preview
  if ([state, calls, writes].every((part) => Array.isArray(part))) return kept as unknown as ApprovalPreview;
  return unavailablePreview("another version of Haft made it");
}
