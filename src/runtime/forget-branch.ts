/** Ends a branch for good. */
import type { CallParts } from "../call/call-run.ts";
import { ToolError } from "../core/error.ts";
import type { ErrorCode } from "../core/error-codes.ts";
import type { Store } from "../core/store.ts";
import type { RuntimeSession } from "./runtime-session.ts";

/** Closes a branch and removes it from the store, which keeps it when it refuses with one of these codes. */
export async function forgetBranch(branch: RuntimeSession, store: Store | undefined, keptFor: readonly ErrorCode[]): Promise<void> {
  await branch.close();
  if (branch.eventLog === undefined) return;
  try {
    await store?.remove(branch.id);
  } catch (thrown: unknown) {
    const error = ToolError.fromUnknown(thrown, "store_failed");
    if (!keptFor.includes(error.code)) throw error;
  }
}

/** Ends a branch that is not wanted any more: calls that run in it, or wait for a person there, are cancelled, unless one of them asks for this. */
export async function discardBranch(
  branch: RuntimeSession,
  store: Store | undefined,
  running: Pick<CallParts["running"], "cancelAll">,
): Promise<void> {
  branch.markClosed(); // before, so that no call begins behind those that are cancelled
  if (!branch.turns.isInside) running.cancelAll("the branch was dropped", ({ turn }) => turn.session === branch);
  await forgetBranch(branch, store, ["conflict"]);
}
