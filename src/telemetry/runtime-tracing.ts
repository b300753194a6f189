/** The traces of one runtime: spans of runs and model requests, and propagation from and to other processes. */
import { SpanKind, SpanStatusCode, context, propagation, trace } from "@opentelemetry/api";
import type { Attributes, Context, Histogram, Link, Span } from "@opentelemetry/api";
import type { ToolError } from "../core/error.ts";
import type { Clock } from "../core/ports.ts";
import type { ModelRequest, TokenUsage } from "../core/model.ts";
import type {
  ServedRequest,
  ServedSession,
  TracedRequest,
  TracedRequestWork,
  TracedRun,
  TracedRunEnd,
  TracedWork,
  Tracing,
} from "../core/tracing.ts";
import type { TraceHeaders } from "../core/formats/trace-headers.ts";
import { isSendableHeader } from "../net/request-head.ts";
import { AGENT_NAME, CALL_ID } from "./context-keys.ts";
import type { CallSpans } from "./call-spans.ts";
import type { ContentSettings } from "./content-settings.ts";
import { LimitedValues } from "./limited-values.ts";
import type { ProviderDetector } from "./provider-detector.ts";
import {
  toFinishReason,
  toReplyAttributes,
  toRequestAttributes,
  toRunInputAttributes,
  toRunOutputAttributes,
} from "./recorded-messages.ts";
import { shortenText } from "./recorded-text.ts";
import { ATTRIBUTES, MAX_RESPONSE_MODELS, MAX_RESPONSE_NAME_CHARS, OPERATIONS, splitModelName } from "./semantic-conventions.ts";
import { logException } from "./request-exceptions.ts";
import { ServedMcp } from "./served-mcp.ts";
import { serverAttributes } from "./server-attributes.ts";
import { createSpanLink } from "./span-links.ts";
import { getActiveContext, runSafely, runInTraceContext } from "./run-safely.ts";

export class RuntimeTracing implements Tracing {
  readonly #detector: ProviderDetector;
  readonly #calls: CallSpans;
  readonly #contents: ContentSettings;
  readonly #servedMcp = new ServedMcp();
  readonly #responseModels = new LimitedValues(MAX_RESPONSE_MODELS);

  constructor(detector: ProviderDetector, calls: CallSpans, contents: ContentSettings) {
    this.#detector = detector;
    this.#calls = calls;
    this.#contents = contents;
  }

  continueTrace<T>(read: (name: string) => string | undefined, work: () => T): T {
    if (this.#detector.detect().tracer === undefined) return work();
    return runInTraceContext(
      runSafely(() => extractSentContext(read)),
      work,
    );
  }

  runInCall<T>(callId: string, work: () => T): T {
    this.#detector.detect();
    return runInTraceContext(this.#calls.contextOf(callId), work);
  }

  resumeCall(callId: string, traceparent: string): void {
    this.#detector.detect();
    this.#calls.resume(callId, traceparent);
  }

  failAttempt(callId: string, error: ToolError): void {
    this.#calls.fail(callId, error);
  }

  detachCall(callId: string): void {
    this.#calls.handOver(callId);
  }

  headersOf(callId?: string): TraceHeaders | undefined {
    if (this.#detector.tracer === undefined) return undefined;
    const headers: Record<string, string> = {};
    const own = (callId === undefined ? undefined : this.#calls.contextOf(callId)) ?? getActiveContext();
    const inject = (): void => runSafely(() => propagation.inject(context.active(), headers)); // works also if the context manager runs it later
    runSafely(() => context.with(own, inject)); // Sentry's propagator injects only the active context
    const sendable = Object.entries(headers).filter(([name, value]) => isSendableHeader(name, value));
    return sendable.length === 0 ? undefined : Object.fromEntries(sendable);
  }

  recordServed(served: ServedRequest | ServedSession): void {
    const { instruments } = this.#detector.detect();
    if (instruments !== undefined) runSafely(() => this.#servedMcp.measure(served, instruments));
  }

  beginRun({ clock, sessionId, agentName, model, input, sentInSpans = [] }: TracedRun): TracedWork<TracedRunEnd> {
    const names = splitModelName(typeof model === "string" ? model : model.name);
    const measured: Attributes = {
      [ATTRIBUTES.requestModel]: names.model,
      ...(agentName === undefined ? {} : { [ATTRIBUTES.agentName]: agentName }),
    };
    const attributes: Attributes = {
      [ATTRIBUTES.operation]: OPERATIONS.agent,
      [ATTRIBUTES.provider]: names.provider,
      [ATTRIBUTES.conversation]: sessionId,
      ...this.#descriptionOf(agentName),
      ...measured,
    };
    const name = agentName === undefined ? OPERATIONS.agent : `${OPERATIONS.agent} ${agentName}`;
    const work = this.#startWork(name, SpanKind.INTERNAL, {
      clock,
      attributes,
      links: sentInSpans.flatMap((traceparent) => createSpanLink(traceparent) ?? []),
    });
    work.record(() => toRunInputAttributes(input, this.#contents));
    const inner = agentName === undefined ? work.context : runSafely(() => work.context?.setValue(AGENT_NAME, agentName));
    return {
      run: (run) => runInTraceContext(inner, run),
      end: ({ reason, usage, text, error }) => {
        work.record(() => ({
          ...(reason === undefined ? {} : { [ATTRIBUTES.stopReason]: reason }),
          ...(usage === undefined ? {} : usageAttributes(usage)),
          ...toRunOutputAttributes(text, reason, this.#contents),
        }));
        work.end(error, this.#detector.instruments?.agentDuration, measured);
      },
    };
  }

  beginRequest({ clock, sessionId, model, request }: TracedRequest): TracedRequestWork {
    const names = splitModelName(model.name);
    const common: Attributes = {
      [ATTRIBUTES.operation]: OPERATIONS.model,
      [ATTRIBUTES.provider]: names.provider,
      [ATTRIBUTES.requestModel]: names.model,
      ...serverAttributes(model.serverUrl),
    };
    const attributes = { ...common, [ATTRIBUTES.conversation]: sessionId, ...requestAttributes(request) };
    const work = this.#startWork(`${OPERATIONS.model} ${names.model}`, SpanKind.CLIENT, { clock, attributes });
    work.record(() => toRequestAttributes(request, this.#contents));
    return {
      run: (run) => runInTraceContext(work.context, run),
      onFirstEvent: () => {
        const seconds = work.lap();
        work.record(() => ({ [ATTRIBUTES.timeToFirstChunk]: seconds }));
        runSafely(() => this.#detector.instruments?.timeToFirstChunk.record(seconds, common));
      },
      onRestart: () => void work.lap(), // the time until then was spent on the first chunk of an earlier attempt
      onNextEvent: () => runSafely(() => this.#detector.instruments?.timePerChunk.record(work.lap(), common)),
      end: (end) => {
        const { instruments } = this.#detector;
        if ("error" in end) {
          if (end.error.code !== "cancelled") runSafely(() => logException(end.error, work.context, this.#contents));
          return work.end(end.error, instruments?.requestDuration, common);
        }
        const { finish, usage } = end.reply;
        const answered = boundName(end.reply.model);
        work.record(() => ({
          ...responseNames(answered, boundName(end.reply.id)),
          ...usageAttributes(usage),
          [ATTRIBUTES.finishReasons]: [toFinishReason(finish)],
          ...toReplyAttributes(end.reply, this.#contents),
        }));
        const known = { ...common, ...responseNames(answered === undefined ? answered : this.#responseModels.format(answered), undefined) };
        runSafely(() => instruments?.tokens(usage, known));
        work.end(undefined, instruments?.requestDuration, known);
      },
    };
  }

  /** The description of an agent that is called as a tool, while that call is running. */
  #descriptionOf(agentName: string | undefined): Attributes {
    const callId = getActiveContext().getValue(CALL_ID);
    const description = typeof callId === "string" && agentName !== undefined ? this.#calls.descriptionOf(callId, agentName) : undefined;
    return description === undefined ? {} : { [ATTRIBUTES.agentDescription]: description };
  }

  #startWork(name: string, kind: SpanKind, { clock, attributes, links = [] }: WorkOptions): Work {
    const parent = getActiveContext();
    const span = runSafely(() => {
      const parentSpanId = trace.getSpanContext(parent)?.spanId;
      const options = { kind, attributes, links: links.filter((link) => link.context.spanId !== parentSpanId) };
      return this.#detector.detect().tracer?.startSpan(name, options, parent);
    });
    return new Work(span, parent, clock);
  }
}

interface WorkOptions {
  readonly clock: Clock;
  readonly attributes: Attributes;
  readonly links?: readonly Link[];
}

/** The attributes of a request. Its agent is that of the run in progress. */
function requestAttributes({ maxOutputTokens, temperature, candidates, responseFormat }: ModelRequest): Attributes {
  const agentName = getActiveContext().getValue(AGENT_NAME);
  return {
    [ATTRIBUTES.requestStream]: true,
    ...(typeof agentName === "string" ? { [ATTRIBUTES.agentName]: agentName } : {}),
    ...(maxOutputTokens === undefined ? {} : { [ATTRIBUTES.requestMaxTokens]: maxOutputTokens }),
    ...(temperature === undefined ? {} : { [ATTRIBUTES.requestTemperature]: temperature }),
    ...(candidates === undefined || candidates === 1 ? {} : { [ATTRIBUTES.requestChoices]: candidates }),
    ...(responseFormat === undefined ? {} : { [ATTRIBUTES.outputType]: "json" }),
  };
}

/** A span and its duration. */
class Work {
  readonly span: Span | undefined;
  /** The context of the work; undefined if there is no span. */
  readonly context: Context | undefined;
  readonly #clock: Clock;
  readonly #startedAt: number;
  #lapAt: number;

  constructor(span: Span | undefined, parent: Context, clock: Clock) {
    this.#clock = clock;
    this.#startedAt = clock.now();
    this.#lapAt = this.#startedAt;
    this.span = span;
    this.context = span === undefined ? undefined : runSafely(() => trace.setSpan(parent, span));
  }

  /** Seconds since the beginning. */
  seconds(): number {
    return (this.#clock.now() - this.#startedAt) / 1_000;
  }

  /** Seconds since the previous lap, or since the beginning. */
  lap(): number {
    const before = this.#lapAt;
    this.#lapAt = this.#clock.now();
    return (this.#lapAt - before) / 1_000;
  }

  /** Records attributes. `attributes` is called only if the span is recording. */
  record(attributes: () => Attributes): void {
    runSafely(() => {
      if (this.span?.isRecording() === true) this.span.setAttributes(attributes());
    });
  }

  /** Ends the span. Records only the code of an error: its message may quote the conversation. */
  end(error: ToolError | undefined, duration: Histogram | undefined, attributes: Attributes): void {
    const failed = error === undefined || error.code === "cancelled" ? {} : { [ATTRIBUTES.errorType]: error.code };
    if (Object.keys(failed).length > 0)
      runSafely(() => this.span?.setAttributes(failed).setStatus({ code: SpanStatusCode.ERROR, message: error?.code ?? "" }));
    runSafely(() => this.span?.end());
    runSafely(() => duration?.record(this.seconds(), { ...attributes, ...failed }));
  }
}

/** The context in a request's trace headers; undefined if there is none, or the active span already serves the request. */
function extractSentContext(read: (name: string) => string | undefined): Context | undefined {
  if (propagation.fields().every((name) => read(name) === undefined)) return undefined;
  const active = context.active();
  const sent = propagation.extract(active, read, { keys: () => [], get: (carrier, name) => carrier(name) });
  return isServedIn(active, sent) ? undefined : sent;
}

/** A span with fields that most SDKs have but the interface lacks. */
interface SdkSpan extends Span {
  readonly kind?: SpanKind;
  readonly parentSpanContext?: unknown;
  /** The field of version 1 of the SDK for `parentSpanContext`. */
  readonly parentSpanId?: unknown;
}

/**
 * Whether an instrumented server has already begun a span for the request: the active span is that one, or one that a framework such as Express or
 * Fastify made within it. A root span, such as that of a program that calls its own server, does not count.
 */
function isServedIn(active: Context, sent: Context): boolean {
  const span: SdkSpan | undefined = trace.getSpan(active);
  if (span === undefined) return false;
  const { traceId, isRemote } = span.spanContext();
  if (isRemote === true || traceId !== trace.getSpanContext(sent)?.traceId) return false;
  const { kind = SpanKind.SERVER, parentSpanContext = span.parentSpanId } = span;
  if (kind === SpanKind.INTERNAL) return parentSpanContext !== undefined;
  return kind === SpanKind.SERVER || kind === SpanKind.CONSUMER;
}

/** Cuts a name that a server chose. Undefined for a value that is not a string, which a program's own model may yield. */
function boundName(name: unknown): string | undefined {
  return typeof name === "string" ? shortenText(name, MAX_RESPONSE_NAME_CHARS) : undefined;
}

function responseNames(model: string | undefined, id: string | undefined): Attributes {
  return {
    ...(model === undefined ? {} : { [ATTRIBUTES.responseModel]: model }),
    ...(id === undefined ? {} : { [ATTRIBUTES.responseId]: id }),
  };
}

function usageAttributes({ inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens, reasoningTokens }: TokenUsage): Attributes {
  return {
    [ATTRIBUTES.inputTokens]: inputTokens,
    [ATTRIBUTES.outputTokens]: outputTokens,
    ...(cachedInputTokens === undefined ? {} : { [ATTRIBUTES.cacheReadTokens]: cachedInputTokens }),
    ...(cacheWriteTokens === undefined ? {} : { [ATTRIBUTES.cacheWriteTokens]: cacheWriteTokens }),
    ...(reasoningTokens === undefined ? {} : { [ATTRIBUTES.reasoningTokens]: reasoningTokens }),
  };
}
