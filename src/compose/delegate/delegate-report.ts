/** Collects the text and calls of a delegate so far, and builds the answer of its call. */
import { ToolOutput } from "../../core/content.ts";
import type { ToolContext } from "../../core/context.ts";
import { ToolError } from "../../core/error.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { ModelReply, TokenUsage } from "../../core/model.ts";
import { resultText, type ResultStatus } from "../../core/result.ts";
import type { LoopEvent } from "../loop-event.ts";
import type { SessionEvent } from "../../core/event.ts";
import { readUsage } from "../../core/formats/token-usage.ts";
import type { RuntimeSession } from "../../runtime/runtime-session.ts";
import { addUsage, NO_USAGE, type LoopResult } from "../loop-result.ts";
import { modelTools } from "../prompt/model-tools.ts";
import { providerToolsIn, toolsOfProviderCall } from "../provider-calls.ts";
import { endedCallResults, toolsReadByEvent } from "./tools-read-by-event.ts";
import { readDelegateSpending } from "./delegate-spending.ts";
import { toolsReadByDelegates } from "./tools-read-by-delegates.ts";
import { STOP_REASONS, type StopReason } from "../stop-reason.ts";

/** Stop reasons after which the delegate has done its task. */
const DONE_REASONS: ReadonlySet<StopReason> = new Set(["answered", "tool-ended-turn", "one-action", "stop-condition"]);
const MAX_CALLS = 20;

export class DelegateReport {
  readonly #context: ToolContext;
  readonly #session: RuntimeSession;
  /** The tools whose results its model has seen, including those run by its provider and those called by its programs and chains. */
  readonly #toolsRead = new Set<string>();
  readonly #calls = new Map<string, { readonly name: string; status: ResultStatus | undefined }>();
  /** The text of the current message. */
  #currentText = "";
  #lastText = "";
  /** Whether that text has been written to the output. */
  #isWritten = false;
  #rounds = 0;
  #usage: TokenUsage = NO_USAGE;
  /** The model that replied last. */
  #model: string | undefined;
  /** Number of session events examined; below 0 until `examinePastEvents` has ended, which counts them. */
  #examinedCount = -1;

  /** @param session the session of the delegate */
  constructor(context: ToolContext, session: RuntimeSession) {
    this.#context = context;
    this.#session = session;
  }

  /** Examines the events that its session had before a crash. */
  async examinePastEvents(): Promise<void> {
    for await (const event of this.#session.events()) this.#addEvents([event]);
    this.#examinedCount = this.#session.length;
  }

  /** The tools whose results the delegate has seen so far, including those of its own delegates. */
  get toolsRead(): readonly string[] {
    this.#examineNewEvents();
    return [...new Set([...this.#toolsRead, ...toolsReadByDelegates(this.#session)])];
  }

  /** Call with every event of the delegate's loop. */
  onEvent(event: LoopEvent): void {
    if (event.type === "round-start") this.#rounds++;
    if (event.type === "round-start" || event.type === "reply-void") this.#resetText();
    else if (event.type === "text-delta") this.#currentText += event.text;
    else if (event.type === "call-seal") this.#writeText();
    else if (event.type === "provider-call") this.#addProviderTools([event.call.name]);
    else if (event.type === "reply-end") this.#handleReply(event.reply);
    else if (event.type === "call-add") {
      this.#calls.set(event.callId, { name: event.call.name, status: undefined });
      this.#context.progress({ message: event.call.name });
    } else if (event.type === "round-end") for (const { callId, name, status } of event.results) this.#calls.set(callId, { name, status });
    else return;
    this.#context.partial(new ToolOutput({ output: this.progressText, metadata: this.#metadata("cancelled") }));
  }

  #examineNewEvents(): void {
    if (this.#examinedCount < 0) return;
    this.#addEvents(this.#session.logSince(this.#examinedCount) ?? this.#session.log);
    this.#examinedCount = this.#session.length;
  }

  #addEvents(events: readonly SessionEvent[]): void {
    const { registry } = this.#session;
    for (const event of events) for (const name of toolsReadByEvent(event, registry)) this.#toolsRead.add(name);
    for (const result of endedCallResults(events)) this.#usage = addUsage(this.#usage, readDelegateSpending(result, registry).usage);
  }

  #metadata(reason: StopReason, cost?: number) {
    return {
      delegate: {
        sessionId: this.#session.id,
        reason,
        rounds: this.#rounds,
        calls: this.#calls.size,
        called: this.toolsRead,
        usage: this.#usage,
        ...omitUndefined({ cost, model: this.#model }),
      },
    };
  }

  #resetText(): void {
    this.#currentText = "";
    this.#isWritten = false;
  }

  #addProviderTools(names: readonly string[]): void {
    const tools = modelTools(this.#session.registry);
    for (const name of names.flatMap((called) => toolsOfProviderCall(called, tools))) this.#toolsRead.add(name);
  }

  #handleReply(reply: ModelReply): void {
    const { text, calls, usage, model } = reply;
    this.#addProviderTools(providerToolsIn(reply));
    this.#model = model ?? this.#model;
    this.#usage = addUsage(this.#usage, readUsage(usage));
    this.#currentText = text;
    if (calls.length > 0) this.#writeText();
    if (text !== "") this.#lastText = text;
  }

  /** Writes its text to the output before its calls, for those who follow it. Text without calls is the answer and is not written. */
  #writeText(): void {
    if (!this.#isWritten && this.#currentText !== "") this.#context.output(`${this.#currentText}\n`);
    this.#isWritten = true;
  }

  /** The latest text, and the calls that were made. */
  get progressText(): string {
    const text = this.#currentText === "" ? this.#lastText : this.#currentText;
    return [text, this.#callsText].filter((part) => part !== "").join("\n\n");
  }

  /** @throws ToolError if its model could not be asked at all */
  buildAnswer({ text, reason, detail, output, error, results, cost }: LoopResult): ToolOutput {
    const metadata = this.#metadata(reason, cost);
    if (DONE_REASONS.has(reason)) {
      const last = results.at(-1);
      return new ToolOutput({ output: output ?? (text === "" && last !== undefined ? resultText(last) : text), metadata });
    }
    const { toolName } = this.#context;
    const why = reason === "model-error" && error !== undefined ? error.message : [STOP_REASONS[reason], detail].filter(Boolean).join(" ");
    const message = `${toolName} did not finish its task. ${why}`;
    if (error !== undefined && this.progressText === "")
      throw new ToolError(error.code, message, {
        cause: error,
        retryable: error.retryable,
        outcome: "failed",
        ...omitUndefined({ hint: error.hint, operatorHint: error.operatorHint }),
      });
    return new ToolOutput({ output: this.progressText, error: message, metadata });
  }

  get #callsText(): string {
    if (this.#calls.size === 0) return "";
    const calls = [...this.#calls.values()];
    const lines = calls.slice(-MAX_CALLS).map(({ name, status }) => `- ${name}: ${status ?? "not finished"}`);
    const omitted = calls.length - lines.length;
    return ["Calls that were made:", ...(omitted === 0 ? [] : [`- ${omitted} earlier ones`]), ...lines].join("\n");
  }
}
