/** `haft sessions resume`: gives interrupted calls their results. */
import type { RuntimeEvent } from "../../../core/event.ts";
import { createPersonApprover } from "../../terminal/ask-person.ts";
import { resumeStoredSession } from "../../open/open-session.ts";
import type { Command, CommandContext } from "../../command.ts";
import { InterruptedCalls } from "../../open/interrupted-calls.ts";
import { withRuntime, type OpenRuntime } from "../../open/open-runtime.ts";
import { requireExistingStore } from "../../open/open-store.ts";
import type { Store } from "../../../core/store/store.ts";
import { EventPrinter } from "../../print/print-event.ts";

export const resumeSession: Command = {
  name: "sessions resume",
  usage: "<id>",
  summary: "End the calls that a crash interrupted.",
  details: [
    "Opens the toolsets of the configuration and gives each interrupted call its one",
    "result. Calls that may be repeated, or were never started, are run again; for",
    "the others the tool is asked whether they had their effect. If it cannot say,",
    "the result is outcome_unknown: nothing is done twice. With --settle nothing is",
    "run.",
    "",
    "Exits with 0 whatever became of the calls. With --json one result per line.",
  ],
  args: [1, 1],
  options: ["store", "config", "settle", "take-over", "yes"],
  examples: ["haft sessions resume travel", "haft sessions resume travel --settle", "haft sessions resume travel --take-over --yes"],
  async run(context) {
    const [sessionId = ""] = context.args;
    const resumption = new Resumption(context, sessionId);
    await resumption.run();
    context.signal.throwIfAborted();
    return 0;
  },
};

class Resumption {
  readonly #context: CommandContext;
  readonly #sessionId: string;
  readonly #printer: EventPrinter | undefined;
  #interrupted = new InterruptedCalls();

  constructor(context: CommandContext, sessionId: string) {
    this.#context = context;
    this.#sessionId = sessionId;
    this.#printer = context.options.json ? undefined : new EventPrinter(context.out);
  }

  async run(): Promise<void> {
    let store: Store | undefined;
    await withRuntime(
      this.#context,
      {
        approve: createPersonApprover(this.#context),
        onEvent: (event) => this.#handleEvent(event),
        store: (config) => (store = requireExistingStore(this.#context, config)),
      },
      async (open) => {
        if (store !== undefined) await this.#resumeSession(open, store);
      },
    );
  }

  async #resumeSession(open: OpenRuntime, store: Store): Promise<void> {
    const { settle, takeOver } = this.#context.options;
    await resumeStoredSession(this.#context, {
      open,
      store,
      sessionId: this.#sessionId,
      printer: this.#printer,
      onInterrupted: (calls) => (this.#interrupted = calls),
      resume: { interrupted: settle ? "settle" : "run", takeOver },
    });
    this.#printer?.printAside(this.#interrupted.calls.length === 0 ? "nothing was interrupted" : this.#interrupted.formatConclusion());
  }

  #handleEvent(event: RuntimeEvent): void {
    this.#interrupted.handleEvent(event);
    this.#printer?.print(event);
    if (this.#printer === undefined && event.type === "call-end" && this.#interrupted.has(event.callId))
      this.#context.out.writeJson(event.result);
  }
}
