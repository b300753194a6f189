/** Work that an engine continues elsewhere: its id is recorded, so that a later process can attach to it instead of starting it again. */
import type { ToolContext } from "../../core/context.ts";
import type { EngineRequest } from "../../core/engine.ts";
import { isToolError } from "../../core/error.ts";
import { MAX_ID_LENGTH } from "../../core/recording/read-event.ts";
import type { AdmittedCall } from "../call-run.ts";
import { outcomeUnknownError } from "../admit/reconcile-call.ts";

/** Whether a resumed call attaches to work that continues elsewhere. */
export function attachesToRemoteJob({ resumed, route }: AdmittedCall): boolean {
  return resumed?.remoteId !== undefined && route.engine.attach !== undefined && route.rules.isLiveTool;
}

/** Records the id of the work, if a later process could attach to it. */
export function recordRemoteJob(run: AdmittedCall, remoteId: string): void {
  const { route, turn } = run;
  if (run.resumed?.remoteId === remoteId || route.engine.attach === undefined || !route.rules.isLiveTool) return;
  if (turn.session.eventLog === undefined || remoteId === "" || remoteId.length > MAX_ID_LENGTH) return;
  run.record({ ...run.eventBase, type: "call-remote", toolName: run.toolName, remoteId });
}

/** Attaches to the work. If the work no longer exists, the call is made again if it may be repeated. */
export async function attachToRemoteJob(
  run: AdmittedCall,
  remoteId: string,
  request: EngineRequest,
  context: ToolContext,
): Promise<unknown> {
  const { engine } = run.route;
  try {
    return await engine.attach?.(remoteId, request, context);
  } catch (thrown: unknown) {
    if (!isToolError(thrown) || thrown.code !== "not_found") throw thrown;
    if (run.resumed !== undefined) run.resumed.remoteId = undefined;
    if (run.effects.repeatable) {
      if (run.resumed !== undefined) run.resumed.mayHaveRun = true;
      return engine.call(request, context);
    }
    throw outcomeUnknownError(run.toolName, thrown.message);
  }
}
