/** Reads from an HTTP request which events it asks for, and from where. */
import { ToolError } from "../../core/error.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { StreamFilter } from "./event-hub.ts";

const PARAMETERS: ReadonlySet<string> = new Set(["after", "types", "tool", "session", "principal", "status"]);
const MAX_CURSOR_CHARS = 128;

export interface StreamRequest {
  readonly filter: StreamFilter;
  readonly after?: string;
}

/**
 * Reads `?after=`, or the header `Last-Event-ID`, which takes precedence: a client that reconnects still sends the address that it began with.
 * `types` are separated by commas.
 *
 * @param sessionId the session of the path, in place of `?session=`
 * @throws ToolError `invalid_argument` for a parameter that is unknown or given twice
 */
export function readStreamRequest({ url, headers }: Request, sessionId?: string): StreamRequest {
  const { searchParams } = new URL(url);
  for (const name of new Set(searchParams.keys())) {
    if (!PARAMETERS.has(name))
      throw new ToolError("invalid_argument", `${JSON.stringify(name.slice(0, 60))} is not a parameter of events.`, {
        hint: `The parameters are ${[...PARAMETERS].join(", ")}.`,
      });
    if (searchParams.getAll(name).length > 1) throw new ToolError("invalid_argument", `The parameter "${name}" is given twice.`);
  }
  const after = headers.get("last-event-id") ?? searchParams.get("after") ?? undefined;
  if (after !== undefined && after.length > MAX_CURSOR_CHARS)
    throw new ToolError("invalid_argument", `A cursor has at most ${MAX_CURSOR_CHARS} characters; this one has ${after.length}.`);
  const filter = omitUndefined({
    sessionId: sessionId ?? readParameter(searchParams, "session"),
    types: readParameter(searchParams, "types")?.split(","),
    tool: readParameter(searchParams, "tool"),
    principal: readParameter(searchParams, "principal"),
    status: readParameter(searchParams, "status"),
  });
  return { filter, ...omitUndefined({ after }) };
}

function readParameter(parameters: URLSearchParams, name: string): string | undefined {
  return parameters.get(name) ?? undefined;
}
