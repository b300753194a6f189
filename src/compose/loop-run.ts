/** One run of a loop: asks the model, runs its calls, decides whether to continue. */
import { pushAll } from "../core/collections/push-all.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { ToolError } from "../core/error.ts";
import type { JsonObject } from "../core/base/json.ts";
import type { ModelMessage, SessionMessage } from "../core/message.ts";
import type { Model, ModelReply, ModelRequest, ModelTool } from "../core/model.ts";
import type { OfferedName, ToolResult } from "../core/result.ts";
import { readUsage } from "../core/formats/token-usage.ts";
import { plural } from "../core/base/wording.ts";
import { CONTEXT_LEVELS, advisoryNote, contextAdvisory, type ContextAdvisory, type ContextLevel } from "../history/context-advisory.ts";
import { LoopBudget } from "./loop-budget.ts";
import type { Visibility } from "../policy/visibility.ts";
import { withBackgroundFlag } from "../call/jobs/background-flag.ts";
import type { ProgressListener } from "../call/execute-options.ts";
import type { SessionTurn } from "../runtime/runtime-session.ts";
import { providerName } from "../wire/provider-name.ts";
import { CallChecks } from "./call-checks.ts";
import { addDelegateSpending } from "./delegate/delegate-spending.ts";
import { describeEmptyAnswer } from "./describe-empty-answer.ts";
import type { EmergencyStop } from "./emergency-stop.ts";
import { reasonToStop } from "./reason-to-stop.ts";
import type { LoopConversation } from "./loop-conversation.ts";
import type { LoopEvent } from "./loop-event.ts";
import type { CheckedLimits } from "./loop-limits.ts";
import type { LoopOptions, LoopRound } from "./loop-options.ts";
import { NO_USAGE, addUsage, type LoopResult } from "./loop-result.ts";
import { jobsNote } from "./jobs-note.ts";
import type { LoopTimers } from "./loop-timers.ts";
import { findMetCondition } from "./stop-conditions.ts";
import { readFoundTools } from "../registry/found-tools.ts";
import type { DeferredTools } from "./prompt/deferred-tools.ts";
import { programTools } from "./program/program-tools.ts";
import { pendingCalls } from "./pending-calls.ts";
import { runModelRequest, type MessageHost, type MessageOutcome } from "./run-model-request.ts";
import { takeSteeredMessages } from "./steered-messages.ts";
import type { StopReason } from "./stop-reason.ts";
import { MAX_OUTPUT_REPAIRS, correctionNote, outputError, type StructuredOutput } from "./structured-output.ts";
import type { Taint } from "./taint.ts";
import { unlessCancelled } from "./unless-cancelled.ts";

/** The parts of a loop that a run uses. */
export interface RunDependencies {
  readonly options: LoopOptions & { readonly model: Model };
  readonly limits: CheckedLimits;
  readonly conversation: LoopConversation;
  readonly emergency: EmergencyStop | undefined;
  readonly taint: Taint | undefined;
  /** Decides which tools are shown; undefined = all. */
  readonly deferred: DeferredTools | undefined;
  /** Messages added with `steer` that the model has not seen. Emptied when they are added to the turn. */
  readonly steered: SessionMessage[];
  /** The reader of the answer; undefined = any text will do. */
  readonly output: StructuredOutput | undefined;
  readonly timers: LoopTimers;
  readonly signal: AbortSignal;
  /** Which tools the round may use; undefined = all. */
  allowed(round: LoopRound): Visibility | undefined;
  emit(event: LoopEvent): void;
}

interface Stop {
  readonly reason: StopReason;
  readonly detail?: string | undefined;
  readonly error?: ToolError | undefined;
  readonly output?: unknown;
}

/** Further reasons to end a run after a round, as text. */
interface Findings {
  readonly repeated?: string | undefined;
  readonly met?: string | undefined;
}

/** The round that repeats waiting calls belongs to no message. */
const DECIDED_REPLY: Pick<ModelReply, "finish"> = Object.freeze({ finish: "calls" });

const NO_MESSAGES: readonly ModelMessage[] = Object.freeze([]);

export class LoopRun {
  readonly #dependencies: RunDependencies;
  readonly #turn: SessionTurn;
  readonly #budget: LoopBudget;
  readonly #checks: CallChecks;
  readonly #offeredName: OfferedName;
  readonly #host: MessageHost;
  readonly #startedAt: number;
  readonly #results: ToolResult[] = [];
  /** Notes for the model, added before the next request. */
  #notes: string[] = [];
  /** The messages of the last request. Its calls may rely on the results in them. */
  #shownMessages: readonly ModelMessage[] = NO_MESSAGES;
  #usage = NO_USAGE;
  /** Number of session events already searched for tokens that delegates spent. */
  #countedEvents: number;
  #rounds = 0;
  #pauses = 0;
  #text = "";
  #isLastRound = false;
  #repairs = 0;
  #advisory: ContextAdvisory | undefined;
  #notedLevel: ContextLevel = "ok";

  constructor(dependencies: RunDependencies, turn: SessionTurn) {
    const { options, limits } = dependencies;
    const { session } = turn;
    this.#dependencies = dependencies;
    this.#turn = turn;
    this.#countedEvents = session.length;
    this.#startedAt = session.ports.clock.now();
    this.#budget = new LoopBudget(limits.budget, session.ports.clock);
    const refuse = options.refuse ?? (() => undefined);
    const { model } = options;
    const offeredName = (this.#offeredName = (name: string): string =>
      model.toolNameOf?.(name) ?? (model.format === undefined ? name : providerName(name)));
    this.#checks = new CallChecks({ limits, budget: this.#budget, session, offeredName, refuse: (call) => refuse(call, this.#round) });
    this.#host = this.#createHost();
  }

  /** Plays rounds until there is a reason to stop. */
  async run(): Promise<LoopResult> {
    pushAll(this.#notes, jobsNote(this.#turn.session.jobs, this.#offeredName));
    for (;;) {
      this.#addPendingMessages();
      const outcome = await this.#runRound();
      const stop = await this.#finishRound(outcome);
      if (stop !== undefined) return this.#buildResult(stop);
    }
  }

  add(message: SessionMessage): void {
    this.#turn.addMessage(message);
  }

  /** Records the results of calls that waited for approval. Returns undefined if the model is to be asked next. */
  recordDecidedResults(results: readonly ToolResult[]): LoopResult | undefined {
    this.#recordResults(results);
    for (const result of results) if (result.error?.code !== "approval_denied") this.#dependencies.emergency?.record(result);
    if (pendingCalls(this.#turn.session).length > 0) return this.#buildResult({ reason: "approval" });
    const stop = results.length === 0 ? undefined : this.#findStop(results, DECIDED_REPLY, {});
    return stop === undefined ? undefined : this.#buildResult(stop);
  }

  #recordResults(results: readonly ToolResult[]): void {
    const { session } = this.#turn;
    this.#dependencies.timers.recordActivity();
    for (const result of results) this.#results.push(result);
    addDelegateSpending(results, { budget: this.#budget, session, since: this.#countedEvents, cost: this.#dependencies.options.cost });
    this.#countedEvents = session.length;
  }

  #buildResult({ reason, detail, error, output }: Stop): LoopResult {
    return Object.freeze({
      text: this.#text,
      reason,
      ...(detail === undefined ? {} : { detail }),
      rounds: this.#rounds,
      results: this.#results,
      usage: this.#usage,
      ...(this.#dependencies.options.cost === undefined ? {} : { cost: this.#budget.used("cost") }),
      ...(reason === "approval" ? { pending: pendingCalls(this.#turn.session) } : {}),
      ...omitUndefined({ error, output }),
    });
  }

  get #round(): LoopRound {
    return { number: this.#rounds, session: this.#turn.session };
  }

  /** Adds the notes and messages that the model must see with the next request. */
  #addPendingMessages(): void {
    this.#isLastRound = this.#budget.refusal() !== undefined;
    const levelNote = this.#budget.newLevelNote();
    const notes = levelNote === undefined ? this.#notes : [...this.#notes, levelNote];
    this.#notes = [];
    for (const note of notes) {
      this.#turn.addMessage({ role: "system", content: note });
      this.#dependencies.emit({ type: "note-add", note });
    }
    for (const message of takeSteeredMessages(this.#dependencies.steered, this.#dependencies.options.session))
      this.#turn.addMessage(message);
  }

  async #runRound(): Promise<MessageOutcome> {
    this.#rounds++;
    this.#budget.spend("rounds", 1);
    this.#dependencies.emit({ type: "round-start", round: this.#rounds });
    const outcome = await runModelRequest(this.#host, this.#buildRequest(), this.#dependencies.conversation.hasFiles);
    this.#dependencies.timers.recordActivity();
    this.#dependencies.emit({ type: "round-end", round: this.#rounds, reply: outcome.reply, results: outcome.results });
    return outcome;
  }

  #offeredTools(round: LoopRound): readonly ModelTool[] {
    const { tools } = this.#dependencies.options;
    const selected = tools === undefined ? this.#allTools(round) : tools(round);
    return this.#dependencies.options.offerBackground === true ? selected.map(withBackgroundFlag) : selected;
  }

  #allTools(round: LoopRound): readonly ModelTool[] {
    const { format } = this.#dependencies.options.model;
    const all = programTools(round.session.registry, {
      allow: this.#dependencies.allowed(round),
      ...(format === undefined ? {} : { format }),
    });
    return this.#dependencies.deferred?.selectOffered(all, readFoundTools(round.session)) ?? all;
  }

  #buildRequest(): ModelRequest {
    const { output, options, taint } = this.#dependencies;
    const { toolChoice, parallelCalls, maxOutputTokens, temperature, reasoningEffort, native } = options;
    const round = this.#round;
    const offered = this.#offeredTools(round);
    taint?.setOfferedTools(offered);
    const choice = this.#isLastRound || this.#repairs > 0 ? "none" : typeof toolChoice === "function" ? toolChoice(round) : toolChoice;
    const system = this.#systemPrompt(round);
    return {
      ...(system === undefined ? {} : { system }),
      // If tools are offered, some providers turn every reply into a structured answer.
      ...(output === undefined || (offered.length > 0 && this.#repairs === 0) ? {} : { responseFormat: output.responseFormat }),
      messages: (this.#shownMessages = this.#dependencies.conversation.messages()),
      ...(offered.length === 0 ? {} : { tools: offered }),
      ...(choice === undefined || offered.length === 0 ? {} : { toolChoice: choice }),
      ...omitUndefined({ parallelCalls, maxOutputTokens, temperature, reasoningEffort, native }),
    };
  }

  #systemPrompt(round: LoopRound): string | undefined {
    const { system } = this.#dependencies.options;
    const configured = typeof system === "function" ? system(round) : system;
    const { output } = this.#dependencies;
    if (output === undefined) return configured;
    return configured === undefined || configured === "" ? output.instruction : `${configured}\n\n${output.instruction}`;
  }

  /** Records a message with its results, and decides whether the run ends. */
  async #finishRound(outcome: MessageOutcome): Promise<Stop | undefined> {
    const { reply, text, calls, results } = outcome;
    if (text !== "") this.#text = text;
    this.#recordResults(results);
    if (this.#dependencies.signal.aborted) return this.#dependencies.timers.stopped ?? { reason: "cancelled" };
    if (reply === undefined) this.#turn.signal.throwIfAborted(); // the session is closed
    if (reply === undefined) return modelErrorStop(outcome.error ?? new ToolError("model_failed", "The model returned no message."));
    const findings = this.#checks.recordResults(calls, results);
    for (const [index, result] of results.entries()) if (calls[index]?.refusal === undefined) this.#dependencies.emergency?.record(result);
    this.#pauses = reply.finish === "pause" ? this.#pauses + 1 : 0;
    const met = await this.#findMetCondition(outcome);
    const stop = this.#findStop(results, reply, { repeated: findings.repeated, met });
    if (stop === undefined) pushAll(this.#notes, [...findings.warnings, ...this.#advisoryNotes()]);
    const { output } = this.#dependencies;
    if (stop?.reason !== "answered") return stop;
    return output === undefined ? { ...stop, detail: describeEmptyAnswer(reply) } : await this.#readAnswer(text, output);
  }

  /** Returns the end of the run if its answer fits the output schema, or may not be asked for again; undefined to ask the model again. */
  async #readAnswer(text: string, output: StructuredOutput): Promise<Stop | undefined> {
    const { limits, signal, timers } = this.#dependencies;
    const reading = await unlessCancelled(output.read(text), signal, this.#turn.signal);
    if (reading === undefined) return timers.stopped ?? { reason: "cancelled" };
    if ("value" in reading) return { reason: "answered", output: reading.value };
    const mayAsk = this.#repairs < MAX_OUTPUT_REPAIRS && this.#rounds < limits.maxRounds && !this.#isLastRound;
    if (!mayAsk) return { reason: "invalid-output", detail: reading.problems.join(" "), error: outputError(reading.problems) };
    this.#repairs++;
    this.#notes.push(correctionNote(reading.problems));
    return undefined;
  }

  #findStop(
    results: readonly ToolResult[],
    reply: Pick<ModelReply, "finish" | "finishDetail">,
    { repeated, met }: Findings,
  ): Stop | undefined {
    const { limits, emergency, steered, signal } = this.#dependencies;
    const { finish } = reply;
    const reason = reasonToStop(
      {
        finish,
        calls: this.#checks.roundCalls(results, this.#turn.endedBy),
        rounds: this.#rounds,
        pauses: this.#pauses,
        lastRound: this.#isLastRound,
        budget: this.#budget.level,
        steered: steered.length > 0,
        aborted: signal.aborted,
        emergency: emergency?.stopped === true,
        repeated: repeated !== undefined,
        conditionMet: met !== undefined,
      },
      limits,
    );
    if (reason === undefined) return undefined;
    if (reason === "model-error") return modelErrorStop(incompleteMessageError(reply));
    if (reason === "cancelled") return this.#dependencies.timers.stopped ?? { reason };
    const details: Partial<Record<StopReason, string | undefined>> = {
      "emergency-stop": emergency?.reason,
      "stop-condition": met,
      "tool-ended-turn": this.#turn.endedBy,
      "repeated-calls": repeated,
      budget: this.#budget.describeExceeded(),
      approval: describeWaitingCalls(results),
      "max-rounds": this.#pauses > limits.maxPauses ? plural(this.#pauses, "pause") : plural(this.#rounds, "round"),
    };
    return { reason, detail: details[reason] ?? describeProviderReason(reason, reply) };
  }

  async #findMetCondition({ text, results }: MessageOutcome): Promise<string | undefined> {
    const { options, signal } = this.#dependencies;
    if (options.stopWhen === undefined || options.stopWhen.length === 0) return undefined;
    const elapsedMs = this.#turn.session.ports.clock.now() - this.#startedAt;
    const met = findMetCondition(options.stopWhen, { rounds: this.#rounds, elapsedMs, text, results, usage: this.#usage });
    return await unlessCancelled(met, signal, this.#turn.signal);
  }

  /** Returns the note for the model if its context has reached a fuller level. */
  #advisoryNotes(): readonly string[] {
    const advisory = this.#advisory;
    if (advisory === undefined) return [];
    const rises = CONTEXT_LEVELS.indexOf(advisory.level) > CONTEXT_LEVELS.indexOf(this.#notedLevel);
    this.#notedLevel = advisory.level;
    const note = rises ? advisoryNote(advisory) : undefined;
    return note === undefined ? [] : [note];
  }

  #createHost(): MessageHost {
    const { options, signal, timers, limits, taint } = this.#dependencies;
    const metadata = (): JsonObject | undefined => (this.#advisory === undefined ? undefined : { contextAdvisory: { ...this.#advisory } });
    const roundOptions = {
      ...options.calls,
      signal,
      ...(options.offerBackground === true ? { offersBackground: true } : {}),
      ...(limits.contextTokens === undefined ? {} : { metadata }),
      ...(limits.idleMs === 0 ? {} : { onProgress: this.#watchProgress() }),
    };
    return {
      model: options.model,
      turn: this.#turn,
      roundOptions: () => {
        const allow = this.#dependencies.allowed(this.#round);
        return { ...roundOptions, shown: this.#shownMessages, ...(allow === undefined ? {} : { allow }) };
      },
      startsEarly: options.earlyDispatch ?? true,
      signal,
      refusalOf: (call, index) => this.#checks.refusal(call, index),
      onReply: (reply) => this.#onReply(reply),
      onVoid: () => this.#budget.spend("rounds", 1),
      emit: (event) => {
        timers.recordActivity();
        taint?.onEvent(event);
        this.#dependencies.emit(event);
      },
    };
  }

  /** Forwards progress, which also resets the idle timer. */
  #watchProgress(): ProgressListener {
    const { options, timers } = this.#dependencies;
    return (update, call) => {
      timers.recordActivity();
      return options.calls?.onProgress?.(update, call);
    };
  }

  /** Counts the usage of a message, which is known before its last calls start. */
  #onReply({ usage: reportedUsage, model }: ModelReply): void {
    const usage = readUsage(reportedUsage);
    const { cost } = this.#dependencies.options;
    const { contextTokens } = this.#dependencies.limits;
    const tokens = usage.inputTokens + usage.outputTokens;
    this.#usage = addUsage(this.#usage, usage);
    this.#budget.spend("tokens", tokens);
    if (cost !== undefined) this.#budget.spend("cost", cost(usage, model));
    if (contextTokens !== undefined && tokens > 0) this.#advisory = contextAdvisory(tokens, contextTokens);
  }
}

function describeWaitingCalls(results: readonly ToolResult[]): string | undefined {
  const names = results.flatMap(({ name, error }) => (error?.code === "approval_required" ? [name] : []));
  return names.length === 0 ? undefined : `${names.length === 1 ? "1 call waits" : `${names.length} calls wait`}: ${names.join(", ")}.`;
}

/** Stop reasons set by the provider, for which `detail` has the provider's own wording. */
const PROVIDER_REASONS: ReadonlySet<StopReason> = new Set(["length", "content-filter", "refusal"]);

function describeProviderReason(reason: StopReason, { finishDetail }: Pick<ModelReply, "finishDetail">): string | undefined {
  return finishDetail === undefined || !PROVIDER_REASONS.has(reason)
    ? undefined
    : `The provider's finish reason is ${JSON.stringify(finishDetail)}.`;
}

function modelErrorStop(error: ToolError): Stop {
  return { reason: "model-error", detail: error.message, error };
}

function incompleteMessageError({ finish, finishDetail }: Pick<ModelReply, "finish" | "finishDetail">): ToolError {
  const why = finishDetail === undefined ? "" : ` (${finishDetail})`;
  return new ToolError(
    "model_failed",
    `The model's message is incomplete: it ended with ${JSON.stringify(finish)}${why}. None of its calls is used.`,
  );
}
