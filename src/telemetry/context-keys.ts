/** Keys of the values that Haft adds to an OpenTelemetry context. */
import { createContextKey } from "@opentelemetry/api";

/** The name of the agent whose run is in progress. */
export const AGENT_NAME = createContextKey("haft agent name");
/** The id of the call whose handler is running. */
export const CALL_ID = createContextKey("haft call id");
