/** The events that the client yields, by their type. */
import type { ReceivedEvent } from "../../client/client.ts";

export type LogEvent = ReceivedEvent["event"];
export type LogEventOf<Type extends LogEvent["type"]> = Extract<LogEvent, { readonly type: Type }>;
