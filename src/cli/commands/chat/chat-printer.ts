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
import { toOneLine, safeJson, safeName, type Screen } from "../../terminal/terminal-text.ts";
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
const REASONS_WITHOUT_DETAIL: ReadonlySet<StopReason> = new Set(["cancelled", "approval"]);

function reasonText(reason: StopReason, detail: string | undefined): string {
  const more = detail === undefined || REASONS_WITHOUT_DETAIL.has(reason) ? "" : ` ${toOneLine(detail, MAX_NOTE_LENGTH)}`;
  return `${REASONS[reason]}${more}`;
}

export interface RunEnding {
  /** A summary of the usage of the run. */
  readonly spent: string;
  /** How to continue, if the run was stopped. */
  readonly remedy: string | undefined;
}

export class ChatPrinter {
  readonly #screen: Screen;
  readonly #events: EventPrinter;
  /** The text that is being streamed. */
  #currentStream: { readonly what: "text" | "reasoning"; readonly text: StreamedText } | undefined;
  /** Whether the model's name is printed above its text already. */
  #isSpeakerPrinted = false;

  constructor(screen: Screen, events: EventPrinter) {
    this.#screen = screen;
    this.#events = events;
  }

  /** Call with every event of the loop. */
  handleLoopEvent(event: LoopEvent): void {
    if (event.type === "round-start") this.#isSpeakerPrinted = false;
    else if (event.type === "text-delta") this.#streamText("text", event.text);
    else if (event.type === "reasoning-delta") this.#streamText("reasoning", event.text);
    else if (event.type === "provider-call") this.#printAside(`the provider runs ${safeName(event.call.name)}`);
    else if (event.type === "reply-void") this.printNote(`the model took back what it said: ${toOneLine(event.reason, MAX_NOTE_LENGTH)}`);
    else if (event.type === "note-add") this.printNote(`note for the model: ${toOneLine(event.note, MAX_NOTE_LENGTH)}`);
    else if (event.type === "reply-end") this.#printMedia(event.reply.media);
    else if (event.type === "round-end") this.#endText();
  }

  /** Call with every event of the runtime. */
  handleRuntimeEvent(event: RuntimeEvent): void {
    if (event.type === "inbox-add" && event.triggerId !== undefined) this.#printTriggerMessage(event.triggerId, event.message.content);
    if (event.type === "session-start") return this.#events.print(event); // tells the printer how its calls are nested
    if (!("callId" in event) && event.type !== "toolset-change" && event.type !== "circuit-change") return;
    this.#endText();
    if (event.type === "call-start") this.#printSpeaker("");
    this.#events.print(event);
  }

  /** Prints how the run ended, and its usage. */
  printEnd({ reason, detail, error, rounds, results, pending = [] }: LoopResult, { spent, remedy }: RunEnding): void {
    this.#endText();
    if (error !== undefined) this.#screen.print(`${this.#isSpeakerPrinted ? "" : "\n"}${errorLines(error.toJSON(), this.#screen)}`);
    else if (reason !== "answered") this.printNote(reasonText(reason, detail));
    else if (!this.#isSpeakerPrinted) this.printNote("the model said nothing");
    for (const call of pending) this.#events.printAside(this.#formatPendingCall(call));
    if (remedy !== undefined) this.#events.printAside(remedy);
    const parts = [
      ...(results.length === 0 ? [] : [plural(rounds, "round"), plural(results.length, "call")]),
      ...(spent === "" ? [] : [spent]),
    ];
    if (parts.length > 0) this.#events.printAside(parts.join(", "));
  }

  /** Prints the message of a trigger. */
  #printTriggerMessage(id: string, content: SessionMessage["content"]): void {
    const start = `trigger ${safeName(id)}: `;
    this.#printAside(
      `${start}${toOneLine(typeof content === "string" ? content : safeJson(content), this.#events.width - start.length - 4)}`,
    );
  }

  printNote(text: string): void {
    this.#endText();
    this.#events.printNote(text);
  }

  /** Mentions the images and files that the model made. */
  #printMedia(media: readonly ContentPart[]): void {
    for (const part of media) {
      this.#endText();
      this.#streamText("text", partText(part));
    }
    this.#endText();
  }

  #printAside(text: string): void {
    this.#endText();
    this.#events.printAside(text);
  }

  #formatPendingCall({ name, input }: PendingCall): string {
    return toOneLine(`${name} ${safeJson(input)}`, this.#events.width - MARGIN.length);
  }

  #streamText(what: "text" | "reasoning", text: string): void {
    if (this.#currentStream?.what !== what) {
      this.#endText();
      this.#currentStream = { what, text: this.#createStream(what) };
    }
    this.#currentStream.text.add(text);
  }

  #createStream(what: "text" | "reasoning"): StreamedText {
    const { paint, width, isTerminal } = this.#screen;
    const isText = what === "text";
    const margin = isText ? MARGIN : MARGIN + " ".repeat(THINKS.length);
    return new StreamedText({
      write: (text) => this.#screen.write(isText || text === "\n" ? text : paint("dim", text)),
      onStart: () => {
        if (!this.#printSpeaker("  ")) this.#screen.write(MARGIN);
        if (!isText) this.#screen.write(paint("dim", THINKS));
      },
      margin,
      width: isTerminal ? Math.max(1, width - margin.length) : Infinity,
    });
  }

  /** Writes the speaker, unless it was written already. Without a gap the line ends after it. */
  #printSpeaker(gap: string): boolean {
    if (this.#isSpeakerPrinted) return false;
    this.#isSpeakerPrinted = true;
    this.#screen.write(`\n${this.#screen.paint("bold", gap === "" ? MODEL.trimEnd() : MODEL)}${gap === "" ? "\n" : gap}`);
    return true;
  }

  #endText(): void {
    this.#currentStream?.text.end();
    this.#currentStream = undefined;
  }
}
