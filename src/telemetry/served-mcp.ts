/** Measures requests and sessions of the MCP clients that a runtime serves. */
import type { Attributes } from "@opentelemetry/api";
import type { ServedRequest, ServedSession } from "../core/tracing.ts";
import type { Instruments } from "./instruments.ts";
import { ATTRIBUTES, OPERATIONS, OTHER, TOOL_ERROR } from "./semantic-conventions.ts";
import { networkAttributes } from "./server-attributes.ts";

export function measureServed(served: ServedRequest | ServedSession, { servedDuration, servedSession }: Instruments): void {
  const { durationMs, protocolVersion, transport } = served;
  const common = { [ATTRIBUTES.mcpProtocolVersion]: protocolVersion, ...networkAttributes(transport) };
  if (served.of === "request") return servedDuration.record(durationMs / 1_000, { ...requestAttributes(served), ...common });
  const { error } = served;
  servedSession.record(durationMs / 1_000, error === undefined ? common : { ...common, [ATTRIBUTES.errorType]: error.code });
}

function requestAttributes({ method, toolName = OTHER, promptName, failure }: ServedRequest): Attributes {
  return {
    [ATTRIBUTES.mcpMethod]: method,
    ...(method === "tools/call" ? { [ATTRIBUTES.operation]: OPERATIONS.tool, [ATTRIBUTES.toolName]: toolName } : {}),
    ...(promptName === undefined ? {} : { [ATTRIBUTES.promptName]: promptName }),
    ...failureAttributes(failure),
  };
}

function failureAttributes(failure: ServedRequest["failure"]): Attributes {
  if (failure === undefined) return {};
  if (failure === "tool-error") return { [ATTRIBUTES.errorType]: TOOL_ERROR };
  return { [ATTRIBUTES.errorType]: String(failure), [ATTRIBUTES.rpcStatus]: String(failure) };
}
