/** Measures requests and sessions of the MCP clients that a runtime serves. */
import type { Attributes } from "@opentelemetry/api";
import type { ServedRequest, ServedSession } from "../core/tracing.ts";
import { rpcAttributes } from "./failures.ts";
import type { Instruments } from "./instruments.ts";
import { LimitedValues } from "./limited-values.ts";
import { ATTRIBUTES, MAX_RPC_CODES, OPERATIONS, OTHER, TOOL_ERROR } from "./semantic-conventions.ts";
import { networkAttributes } from "./server-attributes.ts";

export class ServedMcp {
  readonly #rpcCodes = new LimitedValues(MAX_RPC_CODES);

  measure(served: ServedRequest | ServedSession, { servedDuration, servedSession }: Instruments): void {
    const { durationMs, protocolVersion, transport } = served;
    const common = { [ATTRIBUTES.mcpProtocolVersion]: protocolVersion, ...networkAttributes(transport) };
    if (served.of === "request") return servedDuration.record(durationMs / 1_000, { ...this.#requestAttributes(served), ...common });
    const { error } = served;
    servedSession.record(durationMs / 1_000, error === undefined ? common : { ...common, [ATTRIBUTES.errorType]: error.code });
  }

  #requestAttributes({ method, toolName = OTHER, promptName, failure }: ServedRequest): Attributes {
    return {
      [ATTRIBUTES.mcpMethod]: method,
      ...(method === "tools/call" ? { [ATTRIBUTES.operation]: OPERATIONS.tool, [ATTRIBUTES.toolName]: toolName } : {}),
      ...(promptName === undefined ? {} : { [ATTRIBUTES.promptName]: promptName }),
      ...this.#failureAttributes(failure),
    };
  }

  #failureAttributes(failure: ServedRequest["failure"]): Attributes {
    if (failure === undefined) return {};
    return failure === "tool-error" ? { [ATTRIBUTES.errorType]: TOOL_ERROR } : rpcAttributes(this.#rpcCodes.format(failure));
  }
}
