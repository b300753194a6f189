/** Measures how long MCP servers take to answer, for each attempt of a call. */
import type { RuntimeEvent } from "../core/event.ts";
import type { Registry } from "../registry/registry.ts";
import type { Instruments } from "./instruments.ts";
import { ATTRIBUTES, OPERATIONS } from "./semantic-conventions.ts";
import { isMcpTool, mcpAttributes } from "./server-attributes.ts";
import { shownName } from "./shown-name.ts";

export class McpDurations {
  readonly #registry: Registry;
  /** Start times of running attempts, by call id. */
  readonly #sentAt = new Map<string, number>();

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  hear(event: RuntimeEvent, instruments: Instruments): void {
    switch (event.type) {
      case "call-attempt":
        if (isMcpTool(this.#registry.get(event.toolName))) this.#sentAt.set(event.callId, event.at);
        return;
      case "call-retry":
        return this.#measure(event, { toolName: event.toolName, errorType: event.error.code }, instruments);
      case "call-end":
        if (event.result.origin === "live")
          this.#measure(event, { toolName: event.result.name, errorType: event.result.error?.code }, instruments);
        this.#sentAt.delete(event.callId);
        return;
      default:
    }
  }

  /** Measures an attempt. Does nothing if no attempt is running: the call was refused, or was waiting for a retry. */
  #measure(
    { callId, at }: { readonly callId: string; readonly at: number },
    { toolName, errorType }: { readonly toolName: string; readonly errorType: string | undefined },
    instruments: Instruments,
  ): void {
    const sentAt = this.#sentAt.get(callId);
    const entry = this.#registry.get(toolName);
    if (sentAt === undefined || entry === undefined) return;
    this.#sentAt.delete(callId);
    instruments.mcpDuration.record(Math.max(0, at - sentAt) / 1_000, {
      [ATTRIBUTES.operation]: OPERATIONS.tool,
      [ATTRIBUTES.toolName]: shownName(toolName),
      ...mcpAttributes(entry.tool),
      ...(errorType === undefined ? {} : { [ATTRIBUTES.errorType]: errorType }),
    });
  }
}
