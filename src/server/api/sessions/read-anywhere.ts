/** Reads the events of a session, whichever process has it open. */
import { ToolError } from "../../../core/error.ts";
import type { SessionEvent } from "../../../core/event.ts";
import { storedEvents } from "../../../session/read-events.ts";
import type { ApiServices } from "../services.ts";
import { noSession } from "./session-ids.ts";

/** Yields the events of a session from the process, or else from the store, and opens nothing. @throws ToolError `not_found`, `corrupt_record` */
export async function* readAnywhere(id: string, { runtime, store }: Pick<ApiServices, "runtime" | "store">): AsyncGenerator<SessionEvent> {
  const open = runtime.sessions.get(id);
  if (open !== undefined && open.broken === undefined) return yield* open.events();
  if (store === undefined) throw noSession(id);
  try {
    yield* storedEvents(store, id);
  } catch (thrown: unknown) {
    throw ToolError.fromUnknown(thrown, "store_failed").code === "not_found" ? noSession(id) : thrown;
  }
}
