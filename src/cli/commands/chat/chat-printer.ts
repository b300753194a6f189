/** Prints a chat with a model as it happens: its text while it streams, and its calls in between. */
import type { LoopEvent } from "../../../compose/loop-event.ts";
import type { LoopResult } from "../../../compose/loop-result.ts";
import type { PendingCall } from "../../../compose/pending-calls.ts";
import { STOP_REASONS, type StopReason } from "../../../compose/stop-reason.ts";
import type { ContentPart } from "../../../core/content.ts";
import type { SessionMessage } from "../../../core/message.ts";
import { partText } from "../../../core/result.ts";
import type { RuntimeEvent } from "../../../core/event.ts";
import { plural } from "../../../core/base/wording.ts";
import type { EventPrinter } from "../../print/print-event.ts";
import { errorLines } from "../../print/print-result.ts";
import { oneLine, safeJson, safeText, type Screen } from "../../terminal/terminal-text.ts";
import { StreamedText } from "./streamed-text.ts";

/** The indent of text after the speaker. */
const MARGIN = "        ";
const MODEL = "model ";
const THINKS = "(thinks) ";
const MAX_NOTE_LENGTH = 400;

/** Stop reasons as the command line words them. */
const REASONS: Readonly<Record<StopReason, string>> = {
  ...STOP_REASONS,
  cancelled: "Stopped. Completed calls stay done.",
  approval: "Calls wait for approval.",
  "emergency-stop": "Too many calls failed in a row; nothing runs until the stop is cleared.",
};

/** Stop reasons whose detail adds nothing. */
const PLAIN: ReadonlySet<StopReason> = new Set(["cancelled", "approval"]);

function reasonText(reason: StopReason, detail: string | undefined): string {
  const more = detail === undefined || PLAIN.has(reason) ? "" : ` ${oneLine(detail, MAX_NOTE_LENGTH)}`;
  return `${REASONS[reason]}${more}`;
}

export interface Ending {
  /** A summary of the usage of the run. */
  readonly spent: string;
  /** How to continue, if the run was stopped. */
  readonly remedy: string | undefined;
}

export class ChatPrinter {
  readonly #screen: Screen;
  readonly #events: EventPrinter;
  /** The text that is being streamed. */
  #saying: { readonly what: "text" | "reasoning"; readonly text: StreamedText } | undefined;
  /** Whether the model's name is printed above its text already. */
  #isNamed = false;

  constructor(screen: Screen, events: EventPrinter) {
    this.#screen = screen;
    this.#events = events;
  }

  /** Call with every event of the loop. */
  hear(event: LoopEvent): void {
    if (event.type === "round-start") this.#isNamed = false;
    else if (event.type === "text-delta") this.#say("text", event.text);
    else if (event.type === "reasoning-delta") this.#say("reasoning", event.text);
    else if (event.type === "provider-call") this.#aside(`the provider runs ${safeText(event.call.name)}`);
    else if (event.type === "reply-void") this.note(`the model took back what it said: ${oneLine(event.reason, MAX_NOTE_LENGTH)}`);
    else if (event.type === "note-add") this.note(`note for the model: ${oneLine(event.note, MAX_NOTE_LENGTH)}`);
    else if (event.type === "reply-end") this.#endReply(event.reply.media);
    else if (event.type === "round-end") this.#endText();
  }

  /** Call with every event of the runtime. */
  notice(event: RuntimeEvent): void {
    if (event.type === "inbox-add" && event.triggerId !== undefined) this.#fired(event.triggerId, event.message.content);
    if (event.type === "session-start") return this.#events.print(event); // tells the printer how its calls are nested
    if (!("callId" in event) && event.type !== "toolset-change" && event.type !== "circuit-change") return;
    this.#endText();
    if (event.type === "call-start") this.#name("");
    this.#events.print(event);
  }

  /** Prints how the run ended, and its usage. */
  end({ reason, detail, error, rounds, results, pending = [] }: LoopResult, { spent, remedy }: Ending): void {
    this.#endText();
    if (error !== undefined) this.#screen.print(`${this.#isNamed ? "" : "\n"}${errorLines(error.toJSON(), this.#screen)}`);
    else if (reason !== "answered") this.note(reasonText(reason, detail));
    else if (!this.#isNamed) this.note("the model said nothing");
    for (const call of pending) this.#events.aside(this.#waiting(call));
    if (remedy !== undefined) this.#events.aside(remedy);
    const parts = [
      ...(results.length === 0 ? [] : [plural(rounds, "round"), plural(results.length, "call")]),
      ...(spent === "" ? [] : [spent]),
    ];
    if (parts.length > 0) this.#events.aside(parts.join(", "));
  }

  /** Prints the message of a trigger. */
  #fired(id: string, content: SessionMessage["content"]): void {
    const start = `trigger ${safeText(id)}: `;
    this.#aside(`${start}${oneLine(typeof content === "string" ? content : safeJson(content), this.#events.width - start.length - 4)}`);
  }

  note(text: string): void {
    this.#endText();
    this.#events.note(text);
  }

  /** Mentions the images and files that the model made. */
  #endReply(media: readonly ContentPart[]): void {
    for (const part of media) {
      this.#endText();
      this.#say("text", partText(part));
    }
    this.#endText();
  }

  #aside(text: string): void {
    this.#endText();
    this.#events.aside(text);
  }

  #waiting({ name, input }: PendingCall): string {
    return oneLine(`${name} ${safeJson(input)}`, this.#events.width - MARGIN.length);
  }

  #say(what: "text" | "reasoning", text: string): void {
    if (this.#saying?.what !== what) {
      this.#endText();
      this.#saying = { what, text: this.#speech(what) };
    }
    this.#saying.text.add(text);
  }

  #speech(what: "text" | "reasoning"): StreamedText {
    const { paint, width, isTerminal } = this.#screen;
    const isText = what === "text";
    const margin = isText ? MARGIN : MARGIN + " ".repeat(THINKS.length);
    return new StreamedText({
      write: (text) => this.#screen.write(isText || text === "\n" ? text : paint("dim", text)),
      begin: () => {
        if (!this.#name("  ")) this.#screen.write(MARGIN);
        if (!isText) this.#screen.write(paint("dim", THINKS));
      },
      margin,
      width: isTerminal ? Math.max(1, width - margin.length) : Infinity,
    });
  }

  /** Writes the speaker, unless it was written already. Without a gap the line ends after it. */
  #name(gap: string): boolean {
    if (this.#isNamed) return false;
    this.#isNamed = true;
    this.#screen.write(`\n${this.#screen.paint("bold", gap === "" ? MODEL.trimEnd() : MODEL)}${gap === "" ? "\n" : gap}`);
    return true;
  }

  #endText(): void {
    this.#saying?.text.end();
    this.#saying = undefined;
  }
}
