/** Tells a talk with a model as it happens: its words as they come, its calls between them. */
import type { LoopEvent } from "../../compose/loop-event.ts";
import type { LoopResult } from "../../compose/loop-result.ts";
import { STOP_REASONS } from "../../compose/stop-reason.ts";
import type { RuntimeEvent } from "../../core/event.ts";
import type { EventPrinter } from "../print-event.ts";
import { errorLines } from "../print-result.ts";
import { oneLine, plural, safeText } from "../terminal-text.ts";
import type { Screen } from "../terminal-text.ts";

/** What is said stands behind the speaker. */
const MARGIN = "        ";
const MODEL = "model ";
const WIDE = 200;

export class TalkPrinter {
  readonly #screen: Screen;
  readonly #events: EventPrinter;
  /** What the line under way holds. */
  #line: "nothing" | "text" | "reasoning" = "nothing";
  /** The model's name stands above what comes. */
  #isNamed = false;

  constructor(screen: Screen, events: EventPrinter) {
    this.#screen = screen;
    this.#events = events;
  }

  /** To be told of every event of the loop. */
  hear(event: LoopEvent): void {
    if (event.type === "round-start") this.#isNamed = false;
    else if (event.type === "text-delta") this.#say("text", event.text);
    else if (event.type === "reasoning-delta") this.#say("reasoning", event.text);
    else if (event.type === "reply-void") this.note(`the model took back what it said: ${oneLine(event.reason, WIDE)}`);
    else if (event.type === "note-add") this.note(`the model is told: ${oneLine(event.note, WIDE)}`);
    else if (event.type === "reply-end" || event.type === "round-end") this.#endLine();
  }

  /** To be told of every event of the runtime. */
  notice(event: RuntimeEvent): void {
    if (!("callId" in event) && event.type !== "toolset-change" && event.type !== "circuit-change") return;
    this.#endLine();
    if (event.type === "call-start") this.#name();
    this.#events.print(event);
  }

  /** How the run ended, and what it came to. */
  end(result: LoopResult, spent: string): void {
    this.#endLine();
    const { reason, detail, error, rounds, results } = result;
    if (error !== undefined) this.#screen.write(errorLines(error.toJSON(), this.#screen));
    else if (reason !== "answered") this.note(`${STOP_REASONS[reason]}${detail === undefined ? "" : ` ${oneLine(detail, WIDE)}`}`);
    this.#events.aside([plural(rounds, "round"), plural(results.length, "call"), spent].filter((part) => part !== "").join(", "));
  }

  note(text: string): void {
    this.#endLine();
    this.#events.note(text);
  }

  #say(what: "text" | "reasoning", text: string): void {
    const { paint } = this.#screen;
    if (this.#line !== what) {
      this.#endLine();
      if (!this.#name()) this.#screen.write(MARGIN);
      if (what === "reasoning") this.#screen.write(paint("dim", "(thinks) "));
      this.#line = what;
    }
    const shown = safeText(text).replaceAll("\n", `\n${MARGIN}`);
    this.#screen.write(what === "reasoning" ? paint("dim", shown) : shown);
  }

  /** Writes who speaks, where that does not stand there already. */
  #name(): boolean {
    if (this.#isNamed) return false;
    this.#isNamed = true;
    this.#screen.write(`\n${this.#screen.paint("bold", MODEL)}  `);
    this.#line = "text";
    return true;
  }

  #endLine(): void {
    if (this.#line !== "nothing") this.#screen.write("\n");
    this.#line = "nothing";
  }
}
