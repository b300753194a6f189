/** Selects the events that a reader wants. */
import { splitName } from "../../core/call.ts";
import { ToolError } from "../../core/error.ts";
import type { RuntimeEvent } from "../../core/event.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import { isStringArray } from "../../core/base/json.ts";

/** An event passes if it matches everything that is set. */
export interface EventFilter {
  /** Types of events, such as `call-end`. */
  readonly types?: readonly string[];
  /** A tool, by its qualified or bare name; events without a tool name do not pass. */
  readonly tool?: string;
  /**
   * The id of a principal: events that it caused, and the calls made for it, from start to end. A reader that begins in the middle of a call does not
   * know whose call it is.
   */
  readonly principal?: string;
  /** The status with which a call or a job ended; other events do not pass. */
  readonly status?: string;
}

const NAMES: OptionNames<EventFilter> = { types: true, tool: true, principal: true, status: true };

/** Undefined if every event passes. @throws ToolError `invalid_argument` */
export function createEventFilter(filter: EventFilter | undefined): ((event: RuntimeEvent) => boolean) | undefined {
  if (filter === undefined) return undefined;
  checkKnownKeys(filter, NAMES, "a filter of events");
  const { types, tool, principal, status } = filter;
  if (types !== undefined && !isStringArray(types))
    throw new ToolError("invalid_argument", 'The "types" of a filter of events must be an array of strings.');
  for (const [name, value] of Object.entries({ tool, principal, status }))
    if (value !== undefined && typeof value !== "string")
      throw new ToolError("invalid_argument", `The ${JSON.stringify(name)} of a filter of events must be a string.`);
  const wanted = types === undefined ? undefined : new Set<string>(types);
  const isMadeFor = principal === undefined ? undefined : createPrincipalFilter(principal);
  if (wanted === undefined && tool === undefined && principal === undefined && status === undefined) return undefined;
  return (event) =>
    (isMadeFor === undefined || isMadeFor(event)) && // first: it has to see every start
    (wanted === undefined || wanted.has(event.type)) &&
    (tool === undefined || matchesTool(tool, toolOf(event))) &&
    (status === undefined || statusOf(event) === status);
}

/** Remembers the calls of a principal while they run. */
function createPrincipalFilter(principal: string): (event: RuntimeEvent) => boolean {
  const calls = new Set<string>();
  const jobs = new Set<string>();
  return (event) => {
    if ("principal" in event && event.principal === principal) {
      if (event.type === "call-start") calls.add(event.callId);
      return true;
    }
    if (!("callId" in event) || !calls.has(event.callId)) return false;
    if (event.type === "job-start") jobs.add(event.callId);
    if (event.type === "job-end" || (event.type === "call-end" && !jobs.has(event.callId))) {
      calls.delete(event.callId);
      jobs.delete(event.callId); // the `job-end` comes after the `call-end`
    }
    return true;
  };
}

/** The tool that an event names; for `call-start`, the name in the call. */
function toolOf(event: RuntimeEvent): string | undefined {
  if (event.type === "call-start") return event.call.name;
  if (event.type === "call-end") return event.result.name;
  return "toolName" in event ? event.toolName : undefined;
}

function matchesTool(tool: string, named: string | undefined): boolean {
  return named !== undefined && (named === tool || bareName(named) === tool || named === bareName(tool));
}

function bareName(name: string): string {
  return splitName(name).name;
}

function statusOf(event: RuntimeEvent): string | undefined {
  if (event.type === "call-end") return event.result.status;
  return event.type === "job-end" ? event.status : undefined;
}
