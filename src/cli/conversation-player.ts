/** Plays one conversation: prints its messages, and runs its calls. */
import { Fifo } from "../core/collections/fifo.ts";
import { setTimeout as pause } from "node:timers/promises";
import type { ApprovalAnswer, ApprovalRequest, Approver } from "../core/approvals/ask.ts";
import type { ToolCall } from "../core/call.ts";
import { ToolError } from "../core/error.ts";
import type { RuntimeEvent } from "../core/event.ts";
import type { ToolResult } from "../core/result.ts";
import type { Registry } from "../registry/registry.ts";
import type { Jobs } from "../call/jobs/jobs.ts";
import type { RuntimeSession } from "../runtime/runtime-session.ts";
import { createPersonApprover } from "./terminal/ask-person.ts";
import type { CommandContext } from "./command.ts";
import type { ConversationLine } from "./input/read-conversation.ts";
import { waitForDrain } from "./terminal/wait-for-drain.ts";
import { EventPrinter } from "./print/print-event.ts";
import { printMessage } from "./print/print-message.ts";
import { exitCodeForResult } from "./commands/chat/chat-exit.ts";
import type { Chat } from "./commands/chat/chat.ts";
import { Summary } from "./print/summary.ts";
import { formatDuration, safeText } from "./terminal/terminal-text.ts";

type ApproverLine = Extract<ConversationLine, { readonly role: "approver" }>;

/** How long to wait at the end for abandoned handlers, in milliseconds. */
const MAX_ORPHAN_WAIT_MS = 1_000;
const ORPHAN_POLL_MS = 20;

/** Where a conversation is played. */
export interface PlayTarget {
  readonly session: RuntimeSession;
  readonly registry: Registry;
  /** The jobs, if calls may continue in the background; they are waited for at the end. */
  readonly jobs?: Jobs;
  /** Whether messages are added to the session, as calls and results are. @default false */
  readonly storesMessages?: boolean;
  /** Answers the messages of the user; undefined = the file has the answers. */
  readonly chat?: Chat | undefined;
}

export class ConversationPlayer {
  /** Takes answers from the conversation first. Undefined if neither the conversation, a person nor `--yes` can answer. */
  readonly approver: Approver | undefined;
  readonly printer: EventPrinter;
  readonly #context: CommandContext;
  readonly #lines: readonly ConversationLine[];
  readonly #summary = new Summary();
  readonly #answers = new Fifo<ApproverLine>();
  #chat: Chat | undefined;
  #exitCode = 0;
  /** The last result. The end of a background job comes directly after the end of its call. */
  #lastResult: ToolResult | undefined;

  constructor(context: CommandContext, lines: readonly ConversationLine[]) {
    this.#context = context;
    this.#lines = lines;
    this.printer = new EventPrinter(context.out);
    const person = createPersonApprover(context);
    const scripted = lines.some((line) => line.role === "approver");
    this.approver = person === undefined && !scripted ? undefined : (request) => this.#approve(request, person);
  }

  /** Call with every event of the runtime. */
  readonly handleEvent = (event: RuntimeEvent): void => {
    this.#summary.countEvent(event);
    if (this.#chat !== undefined) this.#chat.handleRuntimeEvent(event);
    else if (!this.#context.options.json) this.printer.print(event);
    else if (event.type === "call-end") this.#lastResult = event.result;
    else if (event.type === "job-end" && this.#lastResult?.callId === event.callId) this.#context.out.writeJson(this.#lastResult);
  };

  /** 0 unless the model failed to answer. */
  get exitCode(): number {
    return this.#exitCode;
  }

  /** Plays line after line. Stops after the line in which the signal aborts, and after a line that the model failed to answer. */
  async run({ session, registry, jobs, storesMessages = false, chat }: PlayTarget): Promise<void> {
    const { options, out, signal } = this.#context;
    this.#chat = chat;
    for (const line of this.#lines) {
      await waitForDrain(this.#context).catch(() => {}); // an aborted signal is handled in the next line
      if (signal.aborted || this.#exitCode !== 0) return;
      if (line.role === "approver") this.#answers.push(line);
      else if (line.role !== "tool") {
        if (!options.json) printMessage({ screen: out, width: this.printer.width }, line);
        if (chat !== undefined && line.role === "user") this.#exitCode = exitCodeForResult(await chat.sendMessage(line.content));
        else if ((storesMessages || chat !== undefined) && line.content !== "")
          await session.addMessage({ role: line.role, content: line.content });
        if (line.role === "assistant" && line.calls.length > 0) await this.#runCalls(session, line.calls, registry);
      }
    }
    if (chat !== undefined) await this.#finishChat(chat);
    else if (jobs !== undefined) await this.#awaitJobs(session, jobs);
    await this.#awaitOrphans();
  }

  printSummary(): void {
    const { options, out } = this.#context;
    if (options.json) return;
    out.print(`\n${out.paint("bold", "summary")}`);
    for (const line of this.#summary.lines()) out.print(`  ${line}`);
  }

  async #runCalls(session: RuntimeSession, calls: readonly ToolCall[], registry: Registry): Promise<void> {
    const { options, signal } = this.#context;
    this.printer.setExpectedNames(calls.flatMap((call) => namesOf(call, registry)));
    const seen = session.ownLog.length;
    const startedAt = performance.now();
    const results = await session.execute(calls, { signal });
    const tookMs = performance.now() - startedAt;
    // Listeners are not called for the calls of a simulation while they run.
    if (session.simulated) for (const event of session.ownLog.slice(seen)) this.handleEvent(event);
    if (options.json) await this.#printJson(results);
    else if (results.length > 1)
      this.printer.printAside(`${results.length === 2 ? "both" : `all ${results.length}`} answered in ${formatDuration(tookMs)}`);
  }

  /** Prints all results, also of calls that a signal cancelled: then without waiting for the reader. */
  async #printJson(results: readonly ToolResult[]): Promise<void> {
    const { out, signal } = this.#context;
    for (const result of results) {
      if (!signal.aborted) await waitForDrain(this.#context).catch(() => {});
      out.writeJson(result);
    }
  }

  /** Waits for jobs, so that the model is notified of their ends. */
  async #finishChat(chat: Chat): Promise<void> {
    const last = this.#context.signal.aborted ? undefined : await chat.finish().catch(unlessAborted(this.#context.signal));
    if (last !== undefined) this.#exitCode = exitCodeForResult(last);
    await chat.close();
  }

  /** Waits for background jobs; cancels one that asks a question. */
  async #awaitJobs(session: RuntimeSession, jobs: Jobs): Promise<void> {
    const { signal } = this.#context;
    for (let [job] = session.jobs; job !== undefined && !signal.aborted; [job] = session.jobs) {
      const paused = await jobs.wait(job.id, { untilAsked: true, signal }).catch(() => undefined);
      if (paused?.question === undefined) continue;
      jobs.cancel(job.id, "the conversation has ended, and the job cannot be answered");
      await jobs.wait(job.id);
    }
  }

  /** Waits a short time for abandoned handlers, so that their late ends are printed. */
  async #awaitOrphans(): Promise<void> {
    const { signal, options } = this.#context;
    if (options.json) return;
    for (let waitedMs = 0; waitedMs < MAX_ORPHAN_WAIT_MS && this.#summary.running > 0 && !signal.aborted; waitedMs += ORPHAN_POLL_MS) {
      await pause(ORPHAN_POLL_MS);
    }
  }

  async #approve(request: ApprovalRequest, person: Approver | undefined): Promise<ApprovalAnswer> {
    const answer = await this.#answer(request, person);
    this.#summary.countApproval(answer === "deny" ? "denied" : "allowed");
    return answer;
  }

  async #answer(request: ApprovalRequest, person: Approver | undefined): Promise<ApprovalAnswer> {
    const label = this.printer.labelOf(request.callId);
    const line = this.#context.options.yes ? undefined : this.#answers.shift();
    if (line === undefined) {
      if (person === undefined)
        throw new ToolError("approval_required", "no approver line is left in the conversation, and there is no terminal");
      const answer = await person(request);
      this.#printApproval(`${label} ${this.#context.options.yes ? "is allowed by --yes" : `you answered ${answer}`}`);
      return answer;
    }
    this.#printApproval(`${label} waits for approval: ${safeText(request.reason)}`);
    await pause(line.afterMs, undefined, { signal: request.signal });
    this.#printApproval(`${label} the approver of the conversation answers ${line.answer}`);
    return line.answer;
  }

  #printApproval(text: string): void {
    const { out, options } = this.#context;
    if (!options.json) out.print(`  ${out.paint("yellow", `? ${text}`)}`);
  }
}

function unlessAborted(signal: AbortSignal): (thrown: unknown) => undefined {
  return (thrown) => {
    if (!signal.aborted) throw thrown;
  };
}

/** Returns the name of a call, and that of the tool it resolves to. */
function namesOf(call: unknown, registry: Registry): readonly string[] {
  const name: unknown = typeof call === "object" && call !== null && "name" in call ? call.name : undefined;
  return typeof name === "string" ? [name, registry.get(name)?.qualifiedName ?? ""] : [];
}
