/** `haft run`: plays a conversation through the tools and tells what happens. */
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { ApprovalRequest, Approver } from "../core/ask.ts";
import { ToolError } from "../core/error.ts";
import type { RuntimeEvent } from "../core/event.ts";
import type { RuntimeSession } from "../runtime/runtime.ts";
import { askPerson } from "./ask-person.ts";
import type { Command, CommandContext } from "./command.ts";
import { readConversation } from "./conversation.ts";
import type { ConversationLine } from "./conversation.ts";
import { withRuntime } from "./open-runtime.ts";
import { eventPrinter } from "./print-event.ts";
import { SummaryCounter, summaryLines } from "./summary.ts";
import { oneLine, safeText } from "./terminal-text.ts";

export const runCommand: Command = {
  name: "run",
  usage: "<conversation.jsonl | ->",
  summary: "Play a conversation file through the tools.",
  args: [1, 1],
  options: ["yes"],
  examples: ["haft run conversation.jsonl", "haft run conversation.jsonl --json | jq .status", "haft run - --yes < conversation.jsonl"],
  async run(context) {
    const [file = ""] = context.args;
    const lines = readConversation(await readText(context, file), file === "-" ? "standard input" : file);
    return new Play(context, lines).run();
  },
};

async function readText(context: CommandContext, file: string): Promise<string> {
  if (file === "-") return context.readStdin();
  const path = resolve(context.folder, file);
  try {
    return await readFile(path, "utf8");
  } catch (error: unknown) {
    throw new ToolError("invalid_argument", `The conversation ${path} cannot be read: ${ToolError.fromUnknown(error).message}`, { cause: error });
  }
}

/** One conversation being played. */
class Play {
  readonly #context: CommandContext;
  readonly #lines: readonly ConversationLine[];
  readonly #counter = new SummaryCounter();
  readonly #show: (event: RuntimeEvent) => void;
  readonly #answers: Extract<ConversationLine, { role: "approver" }>[] = [];

  constructor(context: CommandContext, lines: readonly ConversationLine[]) {
    this.#context = context;
    this.#lines = lines;
    const { stdout, paint, width, options } = context;
    this.#show = options.json ? (event) => this.#showJson(event) : eventPrinter({ write: (line) => stdout.write(line), paint, width });
  }

  async run(): Promise<number> {
    const failed = await withRuntime(
      this.#context,
      {
        onEvent: (event) => {
          this.#counter.count(event);
          this.#show(event);
        },
        approve: (request) => this.#approve(request),
      },
      async ({ runtime }) => {
        const session = runtime.session();
        for (const line of this.#lines) {
          if (this.#context.signal.aborted) break;
          await this.#play(session, line);
        }
        await this.#awaitOrphans(() => runtime.counters.orphans);
        return this.#counter.summary;
      },
    );
    if (!this.#context.options.json) this.#say(`\n${summaryLines(failed).join("\n")}\n`);
    return this.#context.signal.aborted ? 130 : 0;
  }

  async #play(session: RuntimeSession, line: ConversationLine): Promise<void> {
    const { paint, options } = this.#context;
    if (line.role === "approver") this.#answers.push(line);
    if (line.role === "tool" || line.role === "approver") return;
    if (!options.json && line.content !== "") {
      const who = line.role === "user" ? paint("bold", "you") : paint("bold", line.role === "assistant" ? "model" : "system");
      this.#say(`\n${who}  ${oneLine(line.content, 2_000)}\n`);
    }
    if (line.role === "assistant" && line.calls.length > 0) await session.execute(line.calls, { signal: this.#context.signal });
  }

  /** A call that was cut off may still end: its end belongs to the story, but not for long. */
  async #awaitOrphans(orphans: () => number): Promise<void> {
    for (let tries = 0; tries < 20 && orphans() > 0 && !this.#context.signal.aborted; tries++) await new Promise((done) => setTimeout(done, 50));
  }

  async #approve(request: ApprovalRequest): Promise<Awaited<ReturnType<Approver>>> {
    this.#counter.approvals++;
    const { options, paint, ask } = this.#context;
    if (options.yes) return "allow-once";
    const scripted = this.#answers.shift();
    if (scripted === undefined) {
      if (ask === undefined) throw new ToolError("approval_required", "nobody is at the terminal; use --yes, or an approver line in the conversation");
      return askPerson(request, { ask, say: (text) => this.#say(text), paint });
    }
    if (!options.json) this.#say(`  ${paint("yellow", `? ${safeText(request.toolName)} ${oneLine(JSON.stringify(request.input), 80)} waits for approval: ${safeText(request.reason)}`)}\n`);
    await new Promise((done) => setTimeout(done, scripted.afterMs));
    if (!options.json) this.#say(`  ${paint("yellow", `? the approver in the conversation answers: ${scripted.answer}`)}\n`);
    return scripted.answer;
  }

  #say(text: string): void {
    (this.#context.options.json ? this.#context.stderr : this.#context.stdout).write(text);
  }

  #showJson(event: RuntimeEvent): void {
    if (event.type === "call-end") this.#context.stdout.write(`${JSON.stringify(event.result)}\n`);
  }
}
