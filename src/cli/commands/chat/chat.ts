/** A chat with a model over one session: sends messages to its loop, and shows what happens. */
import { createAgent, type Agent } from "../../../compose/agent.ts";
import { EmergencyStop } from "../../../compose/emergency-stop.ts";
import type { LoopEvent } from "../../../compose/loop-event.ts";
import { NO_USAGE, type LoopResult } from "../../../compose/loop-result.ts";
import type { LoadedConfig } from "../../../config/load-config.ts";
import type { ApprovalDecisions } from "../../../compose/pending-calls.ts";
import type { Approver } from "../../../core/approvals/ask.ts";
import type { ToolError } from "../../../core/error.ts";
import type { RuntimeEvent } from "../../../core/event.ts";
import { approvalId } from "../../../policy/approval/approval-digest.ts";
import { onAbort } from "../../../core/base/on-abort.ts";
import { plural, formatListWithCount } from "../../../core/base/wording.ts";
import { sumMeters, type ModelTotals, type UsageMeter } from "../../../model/usage-meter.ts";
import type { Jobs } from "../../../call/jobs/jobs.ts";
import type { Runtime } from "../../../runtime/runtime.ts";
import type { RuntimeSession } from "../../../runtime/runtime-session.ts";
import type { CommandContext } from "../../command.ts";
import { quoteForShell } from "../../../core/base/quote-for-shell.ts";
import type { SessionTriggers } from "../../../triggers/session-triggers.ts";
import type { Triggers } from "../../../triggers/triggers.ts";
import type { EventPrinter } from "../../print/print-event.ts";
import { safeName, safeText } from "../../terminal/terminal-text.ts";
import type { ChosenModel } from "./choose-model.ts";
import { configuredAgentOptions } from "./chat-agent.ts";
import { addJobTools } from "./chat-tools.ts";
import { ChatPrinter } from "./chat-printer.ts";

export interface ChatOptions {
  readonly context: CommandContext;
  readonly chosen: ChosenModel;
  /** Usage meters of the other models of the configuration, such as one that plays tools. More may be added. */
  readonly otherMeters: readonly UsageMeter[];
  readonly config: LoadedConfig;
  readonly session: RuntimeSession;
  readonly runtime: Runtime;
  readonly events: EventPrinter;
  /** Called with the events of a simulation at the end of each round: listeners do not receive them while it runs. */
  readonly onSimulatedEvent: (event: RuntimeEvent) => void;
  /** Whether the session is in a store, so that a later command finds it. */
  readonly isStored: boolean;
  /** Triggers that wake the agent during the chat. @default triggers do not run */
  readonly triggers?: Triggers;
  /** Receives a Ctrl-C that stops the model, and not the program. */
  readonly onInterrupt?: CommandContext["onInterrupt"];
}

/** The sender of what the person types. */
const PERSON_SENDER = "person";

/** Hints for a person at the prompt, by stop reason. */
const REMEDIES: { readonly [Reason in LoopResult["reason"]]?: string } = {
  "emergency-stop": "/clear lets calls run again.",
  "max-rounds": "/go lets it continue.",
  budget: "/go lets it continue.",
  "repeated-calls": "/go lets it continue.",
};

export class Chat {
  readonly session: RuntimeSession;
  /** The triggers of the session, if they run. */
  readonly triggers: SessionTriggers | undefined;
  /** Names of the triggers in the configuration. */
  readonly declared: ReadonlySet<string>;
  readonly #runtime: Runtime;
  readonly #context: CommandContext;
  readonly #chosen: ChosenModel;
  readonly #otherMeters: readonly UsageMeter[];
  readonly #agent: Agent;
  readonly #emergencyStop = new EmergencyStop();
  readonly #printer: ChatPrinter;
  readonly #events: EventPrinter;
  readonly #onSimulatedEvent: (event: RuntimeEvent) => void;
  readonly #isStored: boolean;
  readonly #onInterrupt: CommandContext["onInterrupt"];
  /** Set during a run: the usage before it, and how to clean up after it. */
  #run: { readonly before: ModelTotals; readonly end: () => void } | undefined;
  #lastResult: LoopResult | undefined;
  /** Ends waits for the agent to become idle, which triggers may prevent for ever. */
  #answerReceived: PromiseWithResolvers<void> | undefined;
  /** Whether a trigger has sent a message since the model received the person's message. */
  #hasTriggerMessage = false;
  #failure: ToolError | undefined;
  /** Number of events of the session's log that were printed, in a simulation. */
  #printedEvents = 0;

  constructor(options: ChatOptions) {
    const { context, session, triggers } = options;
    this.session = session;
    this.#runtime = options.runtime;
    this.#context = context;
    this.#chosen = options.chosen;
    this.#otherMeters = options.otherMeters;
    this.#onSimulatedEvent = options.onSimulatedEvent;
    this.#isStored = options.isStored;
    this.#onInterrupt = options.onInterrupt;
    this.triggers = triggers?.of(session);
    this.declared = new Set(options.config.config.triggers.map(({ name }) => name));
    this.#events = options.events;
    this.#printer = new ChatPrinter(context.out, options.events);
    this.#agent = this.#makeAgent(options);
    // An earlier chat may have been stopped on purpose; a message of a trigger waits until it is received.
    this.#agent.start({ runPending: triggers !== undefined && session.inbox.some(({ triggerId }) => triggerId !== undefined) });
  }

  #makeAgent({ context: { options }, chosen, config: { config }, session, triggers }: ChatOptions): Agent {
    const { registry } = session;
    const offerBackground = !options.noBackground && !session.simulated;
    addJobTools(registry, { isOffered: offerBackground, triggers });
    return createAgent({
      ...configuredAgentOptions({ chosen, config, session, introduction: options.system ?? config.loop.system }),
      emergencyStop: this.#emergencyStop,
      offerBackground,
      ...(triggers === undefined ? {} : { triggers }),
      onEvent: (event) => this.#handleLoopEvent(event),
      onResult: (result) => this.#handleResult(result),
      onError: (error) => this.#handleError(error),
    });
  }

  /** Call with every event of the runtime during the chat. */
  handleRuntimeEvent(event: RuntimeEvent): void {
    if (event.type === "inbox-add" && event.triggerId !== undefined) this.#hasTriggerMessage ||= this.#isPersonMessageRead;
    if (!this.#context.options.json) this.#printer.handleRuntimeEvent(event);
  }

  /** A summary of the requests to the models, a line for each model. */
  get spent(): string {
    return this.#meters
      .map(String)
      .filter((lines) => lines !== "")
      .join("\n");
  }

  get #meters(): readonly UsageMeter[] {
    return [this.#chosen.meter, ...this.#otherMeters];
  }

  /** Why nothing runs any more; undefined if things run. */
  get stopped(): string | undefined {
    return this.#emergencyStop.reason;
  }

  /** Lets things run again after an emergency stop. */
  clear(): void {
    this.#emergencyStop.clear();
  }

  /** Ids of the calls that the run waits for, the oldest first. */
  get waitedFor(): readonly string[] {
    const jobs = new Set(this.session.jobs.map(({ id }) => id));
    return this.#runtime.running.map(({ callId }) => callId).filter((callId) => !jobs.has(callId));
  }

  /** Whether the last message has no answer of the model, because an earlier chat was stopped before it. */
  get isUnanswered(): boolean {
    const last = this.session.messages().at(-1);
    return !this.isRunning && (last?.role === "user" || (last?.role === "result" && last.result.status !== "pending"));
  }

  /** Whether a run is active, started by a message or by itself. */
  get isRunning(): boolean {
    return ["running", "waiting"].includes(this.#agent.state);
  }

  /** Whether the prompt need not wait for the run: it waits for a call, or triggers keep it going after the person's message was received. */
  get mayShowPrompt(): boolean {
    return this.#hasTriggerMessage || this.waitedFor.length > 0;
  }

  /** Whether triggers keep the agent running, possibly for ever. */
  get #isKeptAwake(): boolean {
    const { session, triggers } = this;
    return session.inbox.some(({ triggerId }) => triggerId !== undefined) && triggers?.list().some(({ running }) => running) === true;
  }

  get #isPersonMessageRead(): boolean {
    return !this.session.inbox.some(({ sender }) => sender === PERSON_SENDER);
  }

  /** The jobs of this session and of all others. */
  get jobs(): Jobs {
    return this.#runtime.jobs;
  }

  /** Returns the id of a call that a person names as `#3`, as `3` or by its id. */
  findCallId(name: string): string {
    return this.#events.findCallId(name) ?? name;
  }

  labelOf(callId: string): string {
    return this.#events.labelOf(callId).trim();
  }

  /**
   * Sends a message to the model, or lets the model continue without one. Resolves when the run ends. A Ctrl-C in the meantime stops the run,
   * not the program.
   *
   * @throws ToolError, as a rejection, what ended a run that has no result
   */
  async sendMessage(text: string | undefined): Promise<LoopResult> {
    this.#lastResult = undefined;
    if (text === undefined) this.#agent.wake();
    else await this.#agent.send(text, { sender: PERSON_SENDER });
    this.#hasTriggerMessage = false;
    return (await this.#waitUntilIdle()) ?? this.#approvalResult();
  }

  /** Stops the triggers. Resolves when no message waits and no job runs; cancels a job that asks a question, which nothing can answer. */
  async finish(): Promise<LoopResult | undefined> {
    this.#lastResult = undefined;
    await this.triggers?.stop(); // triggers would keep the agent running for ever
    let last: LoopResult | undefined;
    for (;;) {
      last = (await this.#waitUntilIdle()) ?? last;
      const [job] = this.session.jobs;
      if (job === undefined) return last;
      const isAsking = job.question !== undefined;
      if (isAsking) this.jobs.cancel(job.id, "the chat has ended, and the job cannot be answered");
      await this.jobs.wait(job.id, { untilAsked: !isAsking, signal: this.#context.signal });
    }
  }

  /** Ends the current run, and takes no more messages. */
  async close(): Promise<void> {
    await this.#agent.stop();
    const { jobs } = this.session;
    if (jobs.length === 0 || this.#context.options.json) return;
    const names = jobs.map(({ id, toolName }) => `${this.labelOf(id)} ${safeName(toolName)}`);
    this.#events.printAside(`${plural(jobs.length, "background job")} cancelled: ${formatListWithCount(names)}`);
  }

  /** Asks a person about the calls of an earlier run that wait for approval, and continues. Undefined if there are none. */
  async decidePendingCalls(approve: Approver): Promise<LoopResult | undefined> {
    const pending = this.#agent.pending();
    if (pending.length === 0) return undefined;
    const { signal } = this.#context;
    const decisions = new Map<string, ApprovalDecisions[string]>();
    for (const { name, ...call } of pending) {
      if (decisions.has(call.digest)) continue; // the answer applies to every call with the same digest
      const description = this.session.registry.get(name)?.tool.description ?? "";
      const of = { sessionId: this.session.id, callId: call.callId };
      const askedAt = this.session.ports.clock.wallTime();
      const request = { id: approvalId(of), ...of, ...call, toolName: name, description, simulated: false, askedAt, signal };
      const answer = await approve(request);
      decisions.set(call.digest, answer === "allow-input" ? "allow-once" : answer); // a decision applies to this input in any case
    }
    this.#lastResult = undefined;
    await this.#agent.decide({ decisions: Object.fromEntries(decisions) });
    return this.#waitUntilIdle();
  }

  /** Waits until the agent is idle. Resolves to the result of the last run since `#lastResult` was reset. */
  async #waitUntilIdle(): Promise<LoopResult | undefined> {
    const { signal } = this.#context;
    const removeListener = onAbort(signal, () => void this.#agent.stop());
    try {
      await Promise.race([this.#agent.whenIdle(), (this.#answerReceived ??= Promise.withResolvers()).promise]);
    } finally {
      removeListener();
    }
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure;
    return this.#lastResult;
  }

  /** Returns the result if no run began: calls wait for a person, and the model receives nothing before they are decided. */
  #approvalResult(): LoopResult {
    const pending = this.#agent.pending();
    const result: LoopResult = { text: "", reason: "approval", rounds: 0, results: [], usage: NO_USAGE, pending };
    this.#printResult(result, "");
    return result;
  }

  /** Called when a run begins, by a message or by itself. */
  #startRun(): void {
    if (this.#run !== undefined) return;
    const removeListener = this.#onInterrupt?.(() => this.#agent.cancel("Stopped by Ctrl-C."));
    this.#run = { before: sumMeters(this.#meters, this.#chosen.meter.currency), end: () => removeListener?.() };
    this.#printedEvents = this.session.ownLog.length;
  }

  #handleResult(result: LoopResult): void {
    const total = sumMeters(this.#meters, this.#chosen.meter.currency);
    const before = this.#run?.before ?? total;
    this.#endRun();
    this.#lastResult = result;
    if (this.#isPersonMessageRead && this.#isKeptAwake) {
      this.#answerReceived?.resolve();
      this.#answerReceived = undefined;
    }
    this.#printResult(result, formatUsageSince(before, total, this.#chosen.meter.currency));
  }

  #handleError(error: ToolError): void {
    this.#endRun();
    this.#failure = error;
  }

  #endRun(): void {
    this.#run?.end();
    this.#run = undefined;
  }

  #handleLoopEvent(event: LoopEvent): void {
    if (event.type !== "stop") this.#startRun();
    if (event.type === "round-end" && this.session.simulated) this.#forwardSimulatedEvents();
    if (!this.#context.options.json) this.#printer.handleLoopEvent(event);
  }

  /** Sends the events of a simulation, which listeners do not receive while it runs. */
  #forwardSimulatedEvents(): void {
    const events = this.session.ownLog.slice(this.#printedEvents);
    this.#printedEvents += events.length;
    for (const event of events) this.#onSimulatedEvent(event);
  }

  #printResult(result: LoopResult, spent: string): void {
    if (this.#context.options.json) this.#context.out.writeJson(result);
    else this.#printer.printEnd(result, { spent, remedy: this.#findRemedy(result) });
  }

  /** Returns what a person can do about a run that was stopped. */
  #findRemedy({ reason }: LoopResult): string | undefined {
    if (reason !== "approval") return this.#onInterrupt === undefined ? undefined : REMEDIES[reason];
    const { options } = this.#context;
    const store = options.store === undefined ? "" : ` --store ${quoteForShell(options.store)}`;
    return this.#isStored
      ? `At a terminal this asks you and continues: haft chat --session ${quoteForShell(this.session.id)}${store}`
      : "Approval needs a terminal. With --store the calls wait for one; --yes allows everything.";
  }
}

function formatUsageSince(before: ModelTotals, after: ModelTotals, currency: string): string {
  if (after.inputTokens + after.outputTokens === before.inputTokens + before.outputTokens) return "";
  const tokens = `${plural(after.inputTokens - before.inputTokens, "token")} in, ${after.outputTokens - before.outputTokens} out`;
  return after.cost === undefined ? tokens : `${tokens}, ${(after.cost - (before.cost ?? 0)).toFixed(4)} ${safeText(currency)}`;
}
