/** Measures how long MCP servers take to answer, for each attempt of a call, and how long sessions with them last. */
import type { Attributes } from "@opentelemetry/api";
import { getOrAdd } from "../core/base/get-or-add.ts";
import type { ErrorInfo } from "../core/error.ts";
import type { RuntimeEvent } from "../core/event.ts";
import type { ToolResult } from "../core/result.ts";
import type { Registry } from "../registry/registry.ts";
import type { Failures } from "./failures.ts";
import type { Instruments } from "./instruments.ts";
import { ATTRIBUTES, OPERATIONS } from "./semantic-conventions.ts";
import { isMcpTool, mcpAttributes, mcpServerAttributes } from "./server-attributes.ts";
import { formatToolName } from "./format-tool-name.ts";

/** An attempt that has ended. */
interface Attempt {
  readonly durationMs: number;
  /** Attributes of the error; none if it succeeded. */
  readonly failure: Attributes;
}

/** The attempts of an unfinished call. */
interface OpenCall {
  readonly ended: Attempt[];
  /** When the current attempt began; undefined while the call waits for a retry. */
  sentAt: number | undefined;
}

type Disconnect = RuntimeEvent & { readonly type: "toolset-disconnect" };

export class McpDurations {
  readonly #registry: Registry;
  readonly #failures: Failures;
  /** By call id. */
  readonly #open = new Map<string, OpenCall>();

  constructor(registry: Registry, failures: Failures) {
    this.#registry = registry;
    this.#failures = failures;
  }

  onEvent(event: RuntimeEvent, instruments: Instruments): void {
    switch (event.type) {
      case "call-attempt":
        if (isMcpTool(this.#registry.get(event.toolName)))
          getOrAdd(this.#open, event.callId, (): OpenCall => ({ ended: [], sentAt: undefined })).sentAt = event.at;
        return;
      case "call-retry":
        return this.#end(event, event.error);
      case "call-end":
        this.#end(event, event.result.error);
        this.#measure(event.result, instruments);
        return this.forget(event.callId);
      case "toolset-disconnect":
        return measureSession(event, instruments);
      default:
    }
  }

  /** Forgets a call that another process continues, or that has ended. */
  forget(callId: string): void {
    this.#open.delete(callId);
  }

  /** Notes the end of an attempt. Does nothing between attempts: the call was refused, or waited for a retry. */
  #end({ callId, at }: { readonly callId: string; readonly at: number }, error: ErrorInfo | undefined): void {
    const open = this.#open.get(callId);
    if (open?.sentAt === undefined) return;
    const failure = error === undefined ? {} : this.#failures.attributesOf(callId, error);
    open.ended.push({ durationMs: Math.max(0, at - open.sentAt), failure });
    open.sentAt = undefined;
  }

  /** Records all attempts at the end of the call: only then is it known that no stand-in and no injected fault answered them. */
  #measure({ callId, name, origin, fault }: ToolResult, instruments: Instruments): void {
    const entry = this.#registry.get(name);
    if (entry === undefined || origin !== "live" || fault !== undefined) return;
    for (const { durationMs, failure } of this.#open.get(callId)?.ended ?? [])
      instruments.mcpDuration.record(durationMs / 1_000, {
        [ATTRIBUTES.operation]: OPERATIONS.tool,
        [ATTRIBUTES.toolName]: formatToolName(name),
        ...mcpAttributes(entry.tool),
        ...failure,
      });
  }
}

function measureSession({ engine, durationMs, server, error }: Disconnect, { mcpSession }: Instruments): void {
  if (engine !== "mcp") return;
  mcpSession.record(durationMs / 1_000, {
    ...mcpServerAttributes(server),
    ...(error === undefined ? {} : { [ATTRIBUTES.errorType]: error.code }),
  });
}
