/** A chat with a model over one session: sends messages to its loop, and shows what happens. */
import { createAgent, type Agent } from "../../../compose/agent.ts";
import { EmergencyStop } from "../../../compose/emergency-stop.ts";
import type { LoopEvent } from "../../../compose/loop-event.ts";
import { NO_USAGE, type LoopResult } from "../../../compose/loop-result.ts";
import type { LoadedConfig } from "../../../config/load-config.ts";
import type { ApprovalDecisions } from "../../../compose/pending-calls.ts";
import type { Approver } from "../../../core/ask.ts";
import type { ToolError } from "../../../core/error.ts";
import type { RuntimeEvent } from "../../../core/event.ts";
import { approvalId } from "../../../policy/approval/approval-digest.ts";
import { onAbort } from "../../../policy/attempts/deadline.ts";
import { plural, someAndMore } from "../../../core/base/wording.ts";
import { totalOf, type ModelTotals, type UsageMeter } from "../../../model/usage-meter.ts";
import type { Jobs } from "../../../call/jobs/jobs.ts";
import type { Runtime } from "../../../runtime/runtime.ts";
import type { RuntimeSession } from "../../../runtime/runtime-session.ts";
import type { CommandContext } from "../../command.ts";
import { shellWord } from "../../../core/base/shell-word.ts";
import type { SessionTriggers } from "../../../triggers/session-triggers.ts";
import type { Triggers } from "../../../triggers/triggers.ts";
import type { EventPrinter } from "../../print/print-event.ts";
import { safeText } from "../../terminal/terminal-text.ts";
import type { ChosenModel } from "./chosen-model.ts";
import { configuredAgent } from "./chat-agent.ts";
import { addJobs } from "./chat-tools.ts";
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
  readonly notice: (event: RuntimeEvent) => void;
  /** Whether the session is in a store, so that a later command finds it. */
  readonly isKept: boolean;
  /** Triggers that wake the agent during the chat. @default triggers do not run */
  readonly triggers?: Triggers;
  /** Receives a Ctrl-C that stops the model, and not the program. */
  readonly onInterrupt?: CommandContext["onInterrupt"];
}

/** The sender of what the person types. */
const PERSON = "person";

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
  readonly #notice: (event: RuntimeEvent) => void;
  readonly #isKept: boolean;
  readonly #onInterrupt: CommandContext["onInterrupt"];
  /** Set during a run: the usage before it, and how to clean up after it. */
  #run: { readonly before: ModelTotals; readonly end: () => void } | undefined;
  #last: LoopResult | undefined;
  /** Ends waits for the agent to become idle, which triggers may prevent for ever. */
  #answered: PromiseWithResolvers<void> | undefined;
  /** Whether a trigger has sent a message since the model received the person's message. */
  #goesOn = false;
  #failure: ToolError | undefined;
  /** Number of events of the session's log that were printed, in a simulation. */
  #seen = 0;

  constructor(options: ChatOptions) {
    const { context, session, triggers } = options;
    this.session = session;
    this.#runtime = options.runtime;
    this.#context = context;
    this.#chosen = options.chosen;
    this.#otherMeters = options.otherMeters;
    this.#notice = options.notice;
    this.#isKept = options.isKept;
    this.#onInterrupt = options.onInterrupt;
    this.triggers = triggers?.of(session);
    this.declared = new Set(options.config.config.triggers.map(({ name }) => name));
    this.#events = options.events;
    this.#printer = new ChatPrinter(context.out, options.events);
    this.#agent = this.#makeAgent(options);
    // An earlier chat may have been stopped on purpose; a message of a trigger waits until it is received.
    this.#agent.start({ goOn: triggers !== undefined && session.inbox.some(({ triggerId }) => triggerId !== undefined) });
  }

  #makeAgent({ context: { options }, chosen, config: { config }, session, triggers }: ChatOptions): Agent {
    const { registry } = session;
    const offerBackground = !options.noBackground && !session.simulated;
    addJobs(registry, { isOffered: offerBackground, triggers });
    return createAgent({
      ...configuredAgent({ chosen, config, session, introduction: options.system ?? config.loop.system }),
      emergencyStop: this.#emergencyStop,
      offerBackground,
      ...(triggers === undefined ? {} : { triggers }),
      onEvent: (event) => this.#hear(event),
      onResult: (result) => this.#ended(result),
      onError: (error) => this.#failed(error),
    });
  }

  /** Call with every event of the runtime during the chat. */
  notice(event: RuntimeEvent): void {
    if (event.type === "inbox-add" && event.triggerId !== undefined) this.#goesOn ||= this.#wasHeard;
    if (!this.#context.options.json) this.#printer.notice(event);
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
    return this.#emergencyStop.why;
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
  get mayTakeLong(): boolean {
    return this.#goesOn || this.waitedFor.length > 0;
  }

  /** Whether triggers keep the agent running, possibly for ever. */
  get #isKeptAwake(): boolean {
    const { session, triggers } = this;
    return session.inbox.some(({ triggerId }) => triggerId !== undefined) && triggers?.list().some(({ running }) => running) === true;
  }

  get #wasHeard(): boolean {
    return !this.session.inbox.some(({ sender }) => sender === PERSON);
  }

  /** The jobs of this session and of all others. */
  get jobs(): Jobs {
    return this.#runtime.jobs;
  }

  /** Returns the id of a call that a person names as `#3`, as `3` or by its id. */
  callNamed(name: string): string {
    return this.#events.callOf(name) ?? name;
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
  async say(text: string | undefined): Promise<LoopResult> {
    this.#last = undefined;
    if (text === undefined) this.#agent.wake();
    else await this.#agent.send(text, { sender: PERSON });
    this.#goesOn = false;
    return (await this.#whenIdle()) ?? this.#waits();
  }

  /** Stops the triggers. Resolves when no message waits and no job runs; cancels a job that asks a question, which nothing can answer. */
  async finish(): Promise<LoopResult | undefined> {
    this.#last = undefined;
    await this.triggers?.stop(); // triggers would keep the agent running for ever
    let last: LoopResult | undefined;
    for (;;) {
      last = (await this.#whenIdle()) ?? last;
      const [job] = this.session.jobs;
      if (job === undefined) return last;
      const isAsking = job.question !== undefined;
      if (isAsking) this.jobs.cancel(job.id, "the chat has ended, and the job cannot be answered");
      await this.jobs.wait(job.id, { untilAsked: !isAsking, signal: this.#context.signal });
    }
  }

  /** Ends the current run, and takes no more messages. */
  async leave(): Promise<void> {
    await this.#agent.stop();
    const { jobs } = this.session;
    if (jobs.length === 0 || this.#context.options.json) return;
    const names = jobs.map(({ id, toolName }) => `${this.labelOf(id)} ${safeText(toolName)}`);
    this.#events.aside(`${plural(jobs.length, "background job")} cancelled: ${someAndMore(names)}`);
  }

  /** Asks a person about the calls of an earlier run that wait for approval, and continues. Undefined if there are none. */
  async settle(approve: Approver): Promise<LoopResult | undefined> {
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
    this.#last = undefined;
    await this.#agent.decide({ decisions: Object.fromEntries(decisions) });
    return this.#whenIdle();
  }

  /** Waits until the agent is idle. Resolves to the result of the last run since `#last` was reset. */
  async #whenIdle(): Promise<LoopResult | undefined> {
    const { signal } = this.#context;
    const forget = onAbort(signal, () => void this.#agent.stop());
    try {
      await Promise.race([this.#agent.whenIdle(), (this.#answered ??= Promise.withResolvers()).promise]);
    } finally {
      forget();
    }
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure;
    return this.#last;
  }

  /** Returns the result if no run began: calls wait for a person, and the model receives nothing before they are decided. */
  #waits(): LoopResult {
    const pending = this.#agent.pending();
    const result: LoopResult = { text: "", reason: "approval", rounds: 0, results: [], usage: NO_USAGE, pending };
    this.#tell(result, "");
    return result;
  }

  /** Called when a run begins, by a message or by itself. */
  #begin(): void {
    if (this.#run !== undefined) return;
    const forget = this.#onInterrupt?.(() => this.#agent.cancel("Stopped by Ctrl-C."));
    this.#run = { before: totalOf(this.#meters, this.#chosen.meter.currency), end: () => forget?.() };
    this.#seen = this.session.ownLog.length;
  }

  #ended(result: LoopResult): void {
    const total = totalOf(this.#meters, this.#chosen.meter.currency);
    const before = this.#run?.before ?? total;
    this.#leaveRun();
    this.#last = result;
    if (this.#wasHeard && this.#isKeptAwake) {
      this.#answered?.resolve();
      this.#answered = undefined;
    }
    this.#tell(result, spentSince(before, total, this.#chosen.meter.currency));
  }

  #failed(error: ToolError): void {
    this.#leaveRun();
    this.#failure = error;
  }

  #leaveRun(): void {
    this.#run?.end();
    this.#run = undefined;
  }

  #hear(event: LoopEvent): void {
    if (event.type !== "stop") this.#begin();
    if (event.type === "round-end" && this.session.simulated) this.#noticeSimulated();
    if (!this.#context.options.json) this.#printer.hear(event);
  }

  /** Sends the events of a simulation, which listeners do not receive while it runs. */
  #noticeSimulated(): void {
    const events = this.session.ownLog.slice(this.#seen);
    this.#seen += events.length;
    for (const event of events) this.#notice(event);
  }

  #tell(result: LoopResult, spent: string): void {
    if (this.#context.options.json) this.#context.out.writeJson(result);
    else this.#printer.end(result, { spent, remedy: this.#remedy(result) });
  }

  /** Returns what a person can do about a run that was stopped. */
  #remedy({ reason }: LoopResult): string | undefined {
    if (reason !== "approval") return this.#onInterrupt === undefined ? undefined : REMEDIES[reason];
    const { options } = this.#context;
    const store = options.store === undefined ? "" : ` --store ${shellWord(options.store)}`;
    return this.#isKept
      ? `At a terminal this asks you and continues: haft chat --session ${shellWord(this.session.id)}${store}`
      : "Approval needs a terminal. With --store the calls wait for one; --yes allows everything.";
  }
}

function spentSince(before: ModelTotals, after: ModelTotals, currency: string): string {
  if (after.inputTokens + after.outputTokens === before.inputTokens + before.outputTokens) return "";
  const tokens = `${plural(after.inputTokens - before.inputTokens, "token")} in, ${after.outputTokens - before.outputTokens} out`;
  return after.cost === undefined ? tokens : `${tokens}, ${(after.cost - (before.cost ?? 0)).toFixed(4)} ${safeText(currency)}`;
}
