/** The name of the agent whose run is under way, in the context of what it does. */
import { createContextKey } from "@opentelemetry/api";

export const AGENT_NAME = createContextKey("haft agent name");
