/** One conversation being played: what is said is shown, what is called is run. */
import { setTimeout as pause } from "node:timers/promises";
import type { ApprovalAnswer, ApprovalRequest, Approver } from "../core/ask.ts";
import { ToolError } from "../core/error.ts";
import type { RuntimeEvent } from "../core/event.ts";
import type { ToolResult } from "../core/result.ts";
import type { Registry } from "../runtime/registry.ts";
import type { RuntimeSession } from "../runtime/runtime.ts";
import { personApprover } from "./ask-person.ts";
import type { CommandContext } from "./command.ts";
import type { ConversationLine } from "./conversation.ts";
import type { OpenRuntime } from "./open-runtime.ts";
import { EventPrinter } from "./print-event.ts";
import { Summary } from "./summary.ts";
import { duration, plural, safeJson, safeText, wrap } from "./terminal-text.ts";

type ApproverLine = Extract<ConversationLine, { readonly role: "approver" }>;
type SpokenLine = Extract<ConversationLine, { readonly content: string }>;

const SPEAKERS = { user: "user", system: "system", assistant: "model" } as const satisfies Record<SpokenLine["role"], string>;
/** How long the late end of a call that was cut off is waited for when all else is done. */
const MAX_ORPHAN_WAIT_MS = 1_000;
const ORPHAN_POLL_MS = 20;

export class Play {
  /** Answers from the conversation first; undefined when neither it nor a person nor `--yes` can answer. */
  readonly approver: Approver | undefined;
  readonly #context: CommandContext;
  readonly #lines: readonly ConversationLine[];
  readonly #printer: EventPrinter;
  readonly #summary = new Summary();
  readonly #answers: ApproverLine[] = [];

  constructor(context: CommandContext, lines: readonly ConversationLine[]) {
    this.#context = context;
    this.#lines = lines;
    this.#printer = new EventPrinter(context.out);
    const person = personApprover(context);
    const scripted = lines.some((line) => line.role === "approver");
    this.approver = person === undefined && !scripted ? undefined : (request) => this.#approve(request, person);
  }

  /** To be told of every event of the runtime. */
  notice(event: RuntimeEvent): void {
    this.#summary.count(event);
    if (!this.#context.options.json) this.#printer.print(event);
  }

  /** Plays line after line; stops after the line in which the signal aborts. */
  async run({ runtime, config, report }: OpenRuntime): Promise<void> {
    if (!this.#context.options.json) {
      const toolsets = report.opened.filter((name) => config.config.toolsets.has(name));
      const sizes = toolsets.map((name) => `${safeText(name)} (${plural(runtime.registry.list(name).length, "tool")})`);
      this.#printer.aside(`open: ${sizes.join(", ") || "no toolsets"}`);
    }
    const session = runtime.session();
    for (const line of this.#lines) {
      if (this.#context.signal.aborted) return;
      if (line.role === "approver") this.#answers.push(line);
      else if (line.role !== "tool") await this.#play(session, line, runtime.registry);
    }
    await this.#awaitOrphans();
  }

  printSummary(): void {
    const { options, out } = this.#context;
    if (options.json) return;
    out.write(`\n${out.paint("bold", "summary")}\n`);
    for (const line of this.#summary.lines()) out.write(`  ${line}\n`);
  }

  async #play(session: RuntimeSession, line: SpokenLine, registry: Registry): Promise<void> {
    const { options, signal } = this.#context;
    if (!options.json) this.#say(line);
    if (line.role !== "assistant" || line.calls.length === 0) return;
    this.#printer.expect(line.calls.flatMap((call) => namesOf(call, registry)));
    const startedAt = performance.now();
    const results = await session.execute(line.calls, { signal });
    const tookMs = performance.now() - startedAt;
    if (options.json) this.#printJson(results);
    else if (results.length > 1)
      this.#printer.aside(`${results.length === 2 ? "both" : `all ${results.length}`} answered in ${duration(tookMs)}`);
  }

  #say({ role, content }: SpokenLine): void {
    const { out } = this.#context;
    const speaker = out.paint("bold", SPEAKERS[role].padEnd(6));
    const [first = "", ...rest] = wrap(content, this.#printer.width - 8);
    out.write(`\n${speaker}  ${first}`.trimEnd());
    out.write("\n");
    for (const text of rest) out.write(`        ${text}\n`);
  }

  #printJson(results: readonly ToolResult[]): void {
    for (const result of results) this.#context.out.write(`${safeJson(result)}\n`);
  }

  /** A call that was cut off may still end: its end belongs to the story, but not for long. */
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
    const label = this.#printer.labelOf(request.callId);
    const line = this.#context.options.yes ? undefined : this.#answers.shift();
    if (line === undefined) {
      if (person === undefined)
        throw new ToolError("approval_required", "no approver line is left in the conversation, and nobody is at the terminal");
      const answer = await person(request);
      this.#tell(`${label} ${this.#context.options.yes ? "is allowed by --yes" : `you answered ${answer}`}`);
      return answer;
    }
    this.#tell(`${label} waits for approval: ${safeText(request.reason)}`);
    await pause(line.afterMs, undefined, { signal: request.signal });
    this.#tell(`${label} the approver of the conversation answers ${line.answer}`);
    return line.answer;
  }

  #tell(text: string): void {
    const { out, options } = this.#context;
    if (!options.json) out.write(`  ${out.paint("yellow", `? ${text}`)}\n`);
  }
}

/** The name a call asks for, and that of the tool it means. */
function namesOf(call: unknown, registry: Registry): readonly string[] {
  const name: unknown = typeof call === "object" && call !== null && "name" in call ? call.name : undefined;
  return typeof name === "string" ? [name, registry.get(name)?.qualifiedName ?? ""] : [];
}
