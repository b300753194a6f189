/** How an engine says that it leaves a call to others. */
import { ToolError } from "./error.ts";

/**
 * Thrown by an engine that stands in for a tool and has no answer to this call: whoever is next on the call's ladder is asked, and
 * where nobody is, this is the error. An engine that has begun to answer throws a `ToolError` instead.
 */
export class NoAnswer extends ToolError {}
