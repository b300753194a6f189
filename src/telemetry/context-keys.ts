/** The keys of values that a context of OpenTelemetry has besides its span. */
import { createContextKey } from "@opentelemetry/api";

/** The name of the agent whose run is under way. */
export const AGENT_NAME = createContextKey("haft agent name");
/** The id of the call whose handler runs. */
export const CALL_ID = createContextKey("haft call id");
