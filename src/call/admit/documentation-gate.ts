/** Records which documentation was read in a session, and refuses tools that require reading it first. */
import { ToolError } from "../../core/error.ts";
import { isJsonObject, type JsonValue } from "../../core/base/json.ts";
import type { ResolvedCall } from "../call-run.ts";
import { isShown } from "../finish/shown-results.ts";
import { isVisible } from "../../registry/visible-tool.ts";

/** The toolset of the tool `info`. Reading marks are its session state, so branches, rollbacks and stored logs include them, under this name. */
export const DOCUMENTATION_TOOLSET = "manual";
/** The tool that returns the documentation of one tool. */
export const INFO_TOOL = "info";

const INFO_NAME = `${DOCUMENTATION_TOOLSET}::${INFO_TOOL}`;

/**
 * Refuses a tool with `requiresReading` unless an earlier message of the model read its documentation, which is still shown. A call in the same
 * message as the reading does not count, whichever ends first: it was written without the documentation.
 */
export function passDocumentationGate(run: ResolvedCall): ToolError | undefined {
  const { tool, qualifiedName } = run.plan;
  if (tool.requiresReading !== true || run.options.knowsDocumentation) return undefined;
  const read = parseReading(run.turn.session.state(DOCUMENTATION_TOOLSET, qualifiedName));
  const isKnown = read !== undefined && (read.callId === undefined || isShown(run.turn, read.callId));
  if (isKnown && (run.resumed?.isInterrupted === true || read.message !== run.turn.message)) return undefined;
  const why =
    read === undefined || isKnown
      ? `${qualifiedName} may be called only after its documentation has been read in this session`
      : `${qualifiedName} may be called only while its documentation, which was read earlier, is still shown`;
  if (!isVisible(run.services.registry, INFO_NAME, run.options.visibility)) {
    return new ToolError("unavailable", `${why}, and there is no tool to read it with.`, {
      operatorHint:
        "Add one: createRuntime({ toolsets: [infoToolset()] }). For calls that the program makes itself, use execute(calls, { knowsDocumentation: true }).",
    });
  }
  return new ToolError("permission_denied", `${why}: call ${INFO_NAME} with ${JSON.stringify({ name: qualifiedName })} first.`, {
    hint: "Then call it again with what the documentation says.",
    toolNames: [INFO_NAME],
  });
}

interface Reading {
  readonly message: string;
  /** Missing in logs of the first version. */
  readonly callId?: string;
}

function parseReading(mark: JsonValue | undefined): Reading | undefined {
  if (typeof mark === "string") return { message: mark };
  if (!isJsonObject(mark)) return undefined;
  const { message, callId } = mark;
  return typeof message === "string" && typeof callId === "string" ? { message, callId } : undefined;
}
