/** What a session knows of the documentation that was read in it, and the gate for tools that ask for it. */
import type { ToolContext } from "../core/context.ts";
import { ToolError } from "../core/error.ts";
import type { CallRun, StepEnd } from "./call-run.ts";
import type { RegisteredTool } from "./registry/registered-tool.ts";
import { isVisible } from "./visible-tool.ts";
import { messageName, messageOf } from "./tool-context.ts";

/** The toolset of the tool `info`; the marks are its state, so a session's branches, rollbacks and stored log have them too. */
export const MANUAL_TOOLSET = "manual";
/** Hands out the documentation of one tool. */
export const INFO_TOOL = "info";

const INFO_NAME = `${MANUAL_TOOLSET}::${INFO_TOOL}`;

/** Notes in which message of the model the documentation of a tool was asked for. Only for handlers of the toolset `manual`. */
export function markRead(context: ToolContext, qualifiedName: string): void {
  context.state.update(qualifiedName, () => messageOf(context) ?? context.turnId);
}

/**
 * Refuses a tool with `requiresReading` until its documentation was read in the session, by an earlier message of the model: a call beside
 * the reading was written without knowing what it says, whichever of the two is quicker.
 */
export function passReadingGate(run: CallRun, { tool, qualifiedName }: RegisteredTool): StepEnd {
  if (tool.requiresReading !== true) return undefined;
  const read = run.turn.session.state(MANUAL_TOOLSET, qualifiedName);
  if (read !== undefined && (run.isInterrupted || read !== messageName(run))) return undefined;
  const why = `${qualifiedName} may be called once its documentation was read in this session`;
  if (!isVisible(run.parts.registry, INFO_NAME, run.options.visibility)) {
    return new ToolError("unavailable", `${why}, and there is no tool to read it with.`, {
      operatorHint: "Add one: runtime.registry.addToolset(infoToolset(runtime.registry)).",
    });
  }
  return new ToolError("permission_denied", `${why}: call ${INFO_NAME} with ${JSON.stringify({ name: qualifiedName })} first.`, {
    hint: "Then call it again with what the documentation says.",
    toolNames: [INFO_NAME],
  });
}
