/** The metrics: durations, tokens, waits, retries, orphans and circuits. */
import { ValueType, type Attributes, type Counter, type Histogram, type Meter } from "@opentelemetry/api";
import type { TokenUsage } from "../core/model.ts";
import { ATTRIBUTES, BOUNDARIES, METRICS } from "./semantic-conventions.ts";

export class Instruments {
  readonly requestDuration: Histogram;
  readonly timeToFirstChunk: Histogram;
  readonly timePerChunk: Histogram;
  readonly toolDuration: Histogram;
  readonly agentDuration: Histogram;
  readonly mcpDuration: Histogram;
  readonly mcpSession: Histogram;
  readonly servedDuration: Histogram;
  readonly servedSession: Histogram;
  readonly waitDuration: Histogram;
  readonly retries: Counter;
  readonly orphans: Counter;
  readonly circuits: Counter;
  readonly #tokens: Histogram;

  constructor(meter: Meter) {
    const duration = (name: string, description: string, boundaries: number[] = BOUNDARIES.seconds): Histogram =>
      meter.createHistogram(name, { description, unit: "s", advice: { explicitBucketBoundaries: boundaries } });
    this.requestDuration = duration(METRICS.requestDuration, "GenAI operation duration.");
    this.timeToFirstChunk = duration(METRICS.timeToFirstChunk, "Time to receive the first chunk of a reply.");
    this.timePerChunk = duration(METRICS.timePerChunk, "Time between a chunk of a reply and the one before.");
    this.toolDuration = duration(METRICS.toolDuration, "The duration of a single tool execution.");
    this.agentDuration = duration(METRICS.agentDuration, "The duration of a single run of an agent.", BOUNDARIES.agentSeconds);
    this.mcpDuration = duration(METRICS.mcpDuration, "The duration of a request to an MCP server.", BOUNDARIES.mcpSeconds);
    this.mcpSession = duration(METRICS.mcpSession, "The duration of a session with an MCP server.", BOUNDARIES.mcpSeconds);
    this.servedDuration = duration(METRICS.servedDuration, "The duration of a request of an MCP client.", BOUNDARIES.mcpSeconds);
    this.servedSession = duration(METRICS.servedSession, "The duration of a session of an MCP client.", BOUNDARIES.mcpSeconds);
    this.waitDuration = duration(METRICS.waitDuration, "The time that a call waited for a lock or a slot.");
    this.#tokens = meter.createHistogram(METRICS.tokens, {
      description: "Number of input and output tokens used.",
      unit: "{token}",
      valueType: ValueType.INT,
      advice: { explicitBucketBoundaries: BOUNDARIES.tokens },
    });
    this.retries = meter.createCounter(METRICS.retries, { description: "Retries of calls.", unit: "{attempt}" });
    this.orphans = meter.createCounter(METRICS.orphans, {
      description: "Handlers that kept running after their call had ended.",
      unit: "{handler}",
    });
    this.circuits = meter.createCounter(METRICS.circuits, { description: "State changes of circuits.", unit: "{change}" });
  }

  /** Records the tokens of a reply, if the provider reported them. */
  tokens({ inputTokens, outputTokens }: TokenUsage, attributes: Attributes): void {
    if (inputTokens > 0) this.#tokens.record(inputTokens, { ...attributes, [ATTRIBUTES.tokenType]: "input" });
    if (outputTokens > 0) this.#tokens.record(outputTokens, { ...attributes, [ATTRIBUTES.tokenType]: "output" });
  }
}
