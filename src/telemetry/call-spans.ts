/** Makes a span for each call from the events of its runtime. */
import { SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import type { Attributes, Context, Link, Span } from "@opentelemetry/api";
import type { ErrorInfo, ToolError } from "../core/error.ts";
import type { RuntimeEvent } from "../core/event.ts";
import type { ToolResult } from "../core/result.ts";
import type { Tool } from "../core/tool.ts";
import { findCalledTool } from "../registry/called-tool.ts";
import type { Registry } from "../registry/registry.ts";
import { AGENT_NAME, CALL_ID } from "./context-keys.ts";
import type { ContentSettings } from "./content-settings.ts";
import { Failures } from "./failures.ts";
import type { Instruments } from "./instruments.ts";
import { McpDurations } from "./mcp-durations.ts";
import type { ProviderDetector } from "./provider-detector.ts";
import { toRecordedName } from "./recorded-name.ts";
import { toRecordedText } from "./recorded-text.ts";
import { ATTRIBUTES, OPERATIONS, OTHER } from "./semantic-conventions.ts";
import { formatToolName } from "./format-tool-name.ts";
import { createSpanLink } from "./span-links.ts";
import { isMcpTool, mcpAttributes } from "./server-attributes.ts";
import { getActiveContext, runSafely } from "./run-safely.ts";

interface OpenCall {
  readonly span: Span;
  /** The context in which the handler runs. */
  readonly context: Context;
  readonly name: string;
  readonly agentName: string | undefined;
  readonly tool: Tool | undefined;
}

type CallEvent = RuntimeEvent & { readonly callId: string };
type EventOf<Type extends RuntimeEvent["type"]> = RuntimeEvent & { readonly type: Type };

export class CallSpans {
  readonly #detector: ProviderDetector;
  readonly #registry: Registry;
  readonly #contents: ContentSettings;
  readonly #open = new Map<string, OpenCall>();
  readonly #failures = new Failures();
  readonly #mcpDurations: McpDurations;
  /** Links to the traces in which calls began, in another process. */
  readonly #startLinks = new Map<string, Link>();
  /** Descriptions of tools as they are recorded. */
  readonly #descriptions = new WeakMap<Tool, string>();

  constructor(detector: ProviderDetector, registry: Registry, contents: ContentSettings) {
    this.#detector = detector;
    this.#registry = registry;
    this.#contents = contents;
    this.#mcpDurations = new McpDurations(registry, this.#failures);
  }

  /** The context of a call that has not ended. */
  contextOf(callId: string): Context | undefined {
    return this.#open.get(callId)?.context;
  }

  /** The description of a running call's tool, if the tool has this name. */
  descriptionOf(callId: string, toolName: string): string | undefined {
    const tool = this.#open.get(callId)?.tool;
    return tool?.name === toolName && tool.description !== "" ? this.#descriptionOf(tool) : undefined;
  }

  onEvent(event: RuntimeEvent): void {
    const { tracer, instruments } = this.#detector;
    try {
      if (tracer !== undefined && "callId" in event) this.#trace(event);
      if (instruments !== undefined) {
        this.#measure(event, instruments);
        this.#mcpDurations.onEvent(event, instruments);
      }
    } finally {
      if (event.type === "call-end") this.#forget(event.callId);
    }
  }

  /** Links a call that continues here to the trace in which it began. */
  resume(callId: string, traceparent: string): void {
    const link = this.#detector.tracer === undefined ? undefined : createSpanLink(traceparent);
    if (link !== undefined) this.#startLinks.set(callId, link); // the end of the call forgets it
  }

  fail(callId: string, error: ToolError): void {
    const { tracer, instruments } = this.#detector;
    if (tracer !== undefined || instruments !== undefined) this.#failures.note(callId, error); // the end of the call forgets it
  }

  /** Ends the span of a call that continues in another process, and has no result here. */
  handOver(callId: string): void {
    const open = this.#open.get(callId);
    this.#forget(callId);
    this.#mcpDurations.forget(callId);
    runSafely(() => open?.span.addEvent("haft.hand-over").end());
  }

  endAll(): void {
    for (const { span } of this.#open.values()) runSafely(() => span.end());
    this.#open.clear();
  }

  #forget(callId: string): void {
    this.#open.delete(callId);
    this.#startLinks.delete(callId);
    this.#failures.forget(callId);
  }

  #trace(event: CallEvent): void {
    switch (event.type) {
      case "call-start":
        return this.#begin(event);
      case "call-end":
        return this.#end(event);
      case "job-start":
        return void this.#spanOf(event)?.addEvent("haft.background", { "haft.job.mode": event.mode });
      case "call-attempt":
        if (!this.#open.has(event.callId)) this.#begin({ ...event, call: { name: event.toolName } }); // the call began in another process
        if (event.attempt > 1) this.#spanOf(event)?.addEvent("haft.attempt", { "haft.attempt": event.attempt });
        return;
      case "call-wait":
        return void this.#spanOf(event)?.addEvent("haft.wait", {
          [ATTRIBUTES.waitReason]: event.reason,
          "haft.wait.duration_ms": event.waitMs,
          "haft.wait.for": [...event.waitedFor],
        });
      case "call-retry":
        return void this.#spanOf(event)?.addEvent("haft.retry", {
          "haft.attempt": event.attempt,
          "haft.retry.delay_ms": event.delayMs,
          ...this.#failures.attributesOf(event.callId, event.error),
        });
      case "call-block":
        return void this.#spanOf(event)?.addEvent("haft.block", { "haft.block.duration_ms": event.blockedMs });
      case "call-orphan":
        return void this.#spanOf(event)?.addEvent("haft.orphan", { "haft.orphans": event.orphans });
      default:
    }
  }

  #spanOf({ callId }: CallEvent): Span | undefined {
    return this.#open.get(callId)?.span;
  }

  /** Begins a span, below that of the call that made this one, otherwise below the caller's active span. */
  #begin({
    callId,
    call,
    sessionId,
    turnId,
    parentCallId,
  }: Pick<EventOf<"call-start">, "callId" | "call" | "sessionId" | "turnId" | "parentCallId">): void {
    const parent = (parentCallId === undefined ? undefined : this.contextOf(parentCallId)) ?? getActiveContext();
    const agentName = parent.getValue(AGENT_NAME);
    const tool = findCalledTool(this.#registry, call.name, call.input)?.tool;
    const name = this.#nameOf(call.name, tool);
    const attributes: Attributes = {
      [ATTRIBUTES.operation]: OPERATIONS.tool,
      [ATTRIBUTES.toolName]: name,
      [ATTRIBUTES.toolType]: "function",
      [ATTRIBUTES.toolCallId]: call.id ?? callId,
      [ATTRIBUTES.conversation]: sessionId,
      [ATTRIBUTES.callId]: callId,
      [ATTRIBUTES.turnId]: turnId,
      ...(tool === undefined || tool.description === "" ? {} : { [ATTRIBUTES.toolDescription]: this.#descriptionOf(tool) }),
      ...(typeof agentName === "string" ? { [ATTRIBUTES.agentName]: agentName } : {}),
    };
    const link = this.#startLinks.get(callId);
    const options = { kind: SpanKind.INTERNAL, attributes, ...(link === undefined ? {} : { links: [link] }) };
    const span = this.#detector.tracer?.startSpan(`${OPERATIONS.tool} ${name}`, options, parent);
    if (span === undefined) return;
    const named = typeof agentName === "string" ? agentName : undefined;
    const within = trace.setSpan(parent, span).setValue(CALL_ID, callId);
    this.#open.set(callId, { span, context: within, name, agentName: named, tool });
    if (this.#contents.recordInputs && span.isRecording()) this.#recordInput(span, call.input);
  }

  #nameOf(name: string, tool: Tool | undefined): string {
    return formatToolName(tool === undefined ? toRecordedName(name, this.#contents) : name);
  }

  /** The description of a tool as it is recorded. Third-party servers write descriptions too, so secrets are redacted. */
  #descriptionOf(tool: Tool): string {
    const known = this.#descriptions.get(tool);
    if (known !== undefined) return known;
    const description = toRecordedText(tool.description, this.#contents.redact);
    this.#descriptions.set(tool, description);
    return description;
  }

  #end({ callId, result, input }: EventOf<"call-end">): void {
    const open = this.#open.get(callId);
    if (open === undefined) return; // it began before there was a provider
    try {
      this.#recordEnd(open, result, input);
    } finally {
      open.span.end(); // a span that is not ended is not exported
    }
  }

  #recordEnd({ span, name, tool }: OpenCall, result: ToolResult, input: unknown): void {
    if (!span.isRecording()) return;
    const answered = this.#nameOf(result.name, tool);
    if (answered !== name) span.updateName(`${OPERATIONS.tool} ${answered}`).setAttribute(ATTRIBUTES.toolName, answered);
    span.setAttributes({
      [ATTRIBUTES.callStatus]: result.status,
      [ATTRIBUTES.callOrigin]: result.origin,
      [ATTRIBUTES.callAttempts]: result.attempts,
    });
    if (result.origin === "live" && result.attempts > 0) span.setAttributes(this.#serverOf(result.name));
    if (input !== undefined && this.#contents.recordInputs) this.#recordInput(span, input);
    this.#recordOutput(span, result);
  }

  #serverOf(toolName: string): Attributes {
    const entry = this.#registry.get(toolName);
    return isMcpTool(entry) ? mcpAttributes(entry.tool) : {};
  }

  #recordInput(span: Span, input: unknown): void {
    span.setAttribute(ATTRIBUTES.toolArguments, toRecordedText(input ?? {}, this.#contents.redact));
  }

  /** Records the output. Error messages quote arguments and results, so they are recorded only together with results. */
  #recordOutput(span: Span, { callId, error, status, output, content }: ToolResult): void {
    const { recordOutputs, redact } = this.#contents;
    if (isFailure(status) && error !== undefined) {
      span.setAttributes({ ...this.#failures.attributesOf(callId, error), [ATTRIBUTES.errorCode]: error.code });
      span.setStatus({ code: SpanStatusCode.ERROR, message: recordOutputs ? toRecordedText(error.message, redact) : error.code });
    }
    const answer = output ?? content;
    if (recordOutputs && answer !== undefined) span.setAttribute(ATTRIBUTES.toolResult, toRecordedText(answer, redact));
  }

  #measure(event: RuntimeEvent, instruments: Instruments): void {
    switch (event.type) {
      case "call-end":
        return this.#measureEnd(event, instruments);
      case "call-wait":
        return instruments.waitDuration.record(event.waitMs / 1_000, {
          [ATTRIBUTES.toolName]: formatToolName(event.toolName),
          [ATTRIBUTES.waitReason]: event.reason,
        });
      case "call-retry":
        return instruments.retries.add(1, {
          [ATTRIBUTES.toolName]: formatToolName(event.toolName),
          ...this.#errorType(event.callId, event.error),
        });
      case "call-orphan":
        return instruments.orphans.add(1, { [ATTRIBUTES.toolName]: formatToolName(event.toolName) });
      case "circuit-change":
        return instruments.circuits.add(1, {
          [ATTRIBUTES.toolName]: formatToolName(event.toolName),
          [ATTRIBUTES.circuitState]: event.state,
        });
      default:
    }
  }

  #errorType(callId: string, error: ErrorInfo): Attributes {
    return { [ATTRIBUTES.errorType]: this.#failures.attributesOf(callId, error)[ATTRIBUTES.errorType] };
  }

  /** Measures the end of a call. A name without a tool is arbitrary text of a model, and would create a new time series for each value. */
  #measureEnd({ callId, result }: EventOf<"call-end">, instruments: Instruments): void {
    const agentName = this.#open.get(callId)?.agentName;
    instruments.toolDuration.record(result.durationMs / 1_000, {
      [ATTRIBUTES.toolName]: this.#registry.get(result.name) === undefined ? OTHER : formatToolName(result.name),
      [ATTRIBUTES.toolType]: "function",
      [ATTRIBUTES.callOrigin]: result.origin,
      ...(isFailure(result.status) && result.error !== undefined ? this.#errorType(callId, result.error) : {}),
      ...(agentName === undefined ? {} : { [ATTRIBUTES.agentName]: agentName }),
    });
  }
}

/** Whether the call has failed. A call that was cancelled, or skipped because its turn ended, has not. */
function isFailure(status: ToolResult["status"]): boolean {
  return status === "error" || status === "partial";
}
