/** Prints what the runtime does, line by line, as it happens. */
import type { RuntimeEvent } from "../../core/event.ts";
import { valueText } from "../../core/content.ts";
import type { JsonValue } from "../../core/base/json.ts";
import { plural, formatListWithCount } from "../../core/base/wording.ts";
import { CallNesting } from "./call-nesting.ts";
import { resultLines } from "./print-result.ts";
import { columnWidth, truncateToWidth, formatDuration, toOneLine, safeName, type Screen } from "../terminal/terminal-text.ts";
import { lineWidth, countColumns, padColumns } from "../terminal/text-width.ts";

type CallEvent = Extract<RuntimeEvent, { readonly callId: string }>;
type Of<Type extends RuntimeEvent["type"]> = Extract<RuntimeEvent, { readonly type: Type }>;

/** Maximum number of columns for names, so that a single long name does not move all others. */
const MAX_NAME_WIDTH = 40;

function changeText({ toolset, ...change }: Of<"toolset-change">): string {
  const parts = (["added", "removed", "changed"] as const).flatMap((what) => {
    const names = change[what];
    return names.length === 0 ? [] : [`${what} ${formatListWithCount(names.map(safeName))}`];
  });
  return `the tools of ${safeName(toolset)} have changed: ${parts.join("; ")}`;
}

function jobWords(event: Of<"job-start" | "job-run" | "job-output" | "job-input" | "job-end">): readonly string[] {
  if (event.type === "job-end") return [];
  if (event.type === "job-start") return ["continues in the background"];
  if (event.type === "job-run" && event.queued === true) return ["waits for its place"];
  if (event.type === "job-run") return [event.starts <= 1 ? "has its place and begins" : `is run again: start ${event.starts}`];
  if (event.type === "job-input") return ["was answered"];
  return lastLines(event.asks === true ? `asks: ${event.text}` : event.text);
}

/** Maximum number of lines that are shown of one piece of output. */
const MAX_OUTPUT_LINES = 10;

/** Returns the last lines of a text, and the number of lines before them. */
function lastLines(text: string): readonly string[] {
  const lines = text.split(/\r\n|[\n\r]/u).filter((line) => line.trim() !== "");
  const hidden = lines.length - MAX_OUTPUT_LINES;
  return hidden <= 0 ? lines : [`… ${plural(hidden, "line")} before`, ...lines.slice(hidden)];
}

function retryText({ attempt, delayMs, error }: Of<"call-retry">, width: number): string {
  const failed = `attempt ${attempt} failed, next in ${formatDuration(delayMs)}: `;
  return `${failed}${toOneLine(error.message, width - failed.length - 8)}`;
}

function progressText({ update: { message, done, total } }: Of<"call-progress">): string {
  return message ?? `${done ?? "?"} of ${total ?? "?"}`;
}

/** Prints the events of calls, and numbers the calls in the order of their session. */
export class EventPrinter {
  readonly #screen: Screen;
  readonly #labels = new Map<string, string>();
  readonly #waits = new Map<string, string[]>();
  readonly #nesting = new CallNesting();
  #nameWidth = 0;

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  get width(): number {
    return lineWidth(this.#screen);
  }

  /** Sets the names of the calls that come next, so that the text after them is aligned. */
  setExpectedNames(names: readonly string[]): void {
    this.#nameWidth = columnWidth(names.map(safeName), MAX_NAME_WIDTH);
  }

  print(event: RuntimeEvent): void {
    this.#nesting.handleEvent(event);
    if (event.type === "call-progress" && this.#nesting.hasCalls(event.callId)) return; // its nested calls show the progress
    if ("callId" in event) {
      const indent = "  ".repeat(this.#nesting.depthOf(event.callId));
      for (const line of this.#callLines(event, indent.length)) this.#screen.print(`${indent}${line}`);
    }
    if (event.type === "toolset-change") this.printAside(changeText(event));
    if (event.type === "circuit-change") {
      const { toolName, state } = event;
      const meaning =
        state === "open" ? "fails so often that it is not called for a while" : state === "closed" ? "works again" : "is being tried again";
      this.printNote(`${safeName(toolName)} ${meaning}`);
    }
  }

  /** Prints a note that needs no answer, in the colour of warnings. */
  printNote(text: string): void {
    this.#screen.print(`  ${this.#screen.paint("yellow", `! ${text}`)}`);
  }

  /** Prints a minor note, dimmed. */
  printAside(text: string): void {
    this.#screen.print(`  ${this.#screen.paint("dim", `· ${text}`)}`);
  }

  /** Returns the label of a call, such as `#3 `, of one width for the first 99 calls. */
  labelOf(callId: string): string {
    return (this.#labels.get(callId) ?? callId).padEnd(3);
  }

  /** Returns the id of the call that a person names as `#3` or `3`. */
  findCallId(label: string): string | undefined {
    const wanted = label.startsWith("#") ? label : `#${label}`;
    for (const [callId, known] of this.#labels) if (known === wanted) return callId;
    return undefined;
  }

  #callLines(event: CallEvent, indent: number): readonly string[] {
    const width = this.width - indent;
    const label = event.type === "call-start" ? this.numberCall(event.callId) : this.labelOf(event.callId);
    const dim = (text: string): readonly string[] => [`  ${this.#screen.paint("dim", `· ${label} ${text}`)}`];
    const yellow = (mark: string, text: string): readonly string[] => [`  ${this.#screen.paint("yellow", `${mark} ${label} ${text}`)}`];
    switch (event.type) {
      case "call-start":
        return [this.#startLine(event, label, indent), ...this.#reasoningLines(event, width)];
      case "call-end":
        return this.#endLines(event, label, indent);
      case "call-wait":
        this.#recordWait(event);
        return [];
      case "call-retry":
        return yellow("↻", retryText(event, width));
      case "call-orphan":
        return yellow("!", "is cut off but still running: an orphan, whose answer will not count");
      case "call-late":
        return dim(`ended ${formatDuration(event.lateMs)} after it was cut off; what it ${event.outcome} is not used`);
      case "call-progress":
        return dim(toOneLine(progressText(event), width - 8));
      case "call-block":
        return yellow("!", `blocked everything else for ${formatDuration(event.blockedMs)}`);
      case "outcome-resolve":
        return dim("had its effect after all");
      case "job-start":
      case "job-run":
      case "job-output":
      case "job-input":
      case "job-end":
        return jobWords(event).flatMap((words) => dim(toOneLine(words, width - 8)));
      default:
        return []; // approvals, intents, attempts and state changes are not printed
    }
  }

  /** Numbers a call without printing it, such as one from before its session was resumed. Keeps the number of a call that has one. */
  numberCall(callId: string): string {
    if (!this.#labels.has(callId)) this.#labels.set(callId, `#${this.#labels.size + 1}`);
    return this.labelOf(callId);
  }

  #startLine({ call }: Of<"call-start">, label: string, indent: number): string {
    const start = `  → ${label} ${padColumns(safeName(call.name), Math.max(0, this.#nameWidth - indent))}  `;
    const input = toOneLine(valueText(call.input as JsonValue | undefined), this.width - indent - countColumns(start)); // events hold JSON
    return `${start}${this.#screen.paint("dim", input)}`.trimEnd();
  }

  /** Returns the reason that the model gives for the call, if it gives one. */
  #reasoningLines({ call }: Of<"call-start">, width: number): readonly string[] {
    const reasoning = call.reasoning?.trim() ?? "";
    return reasoning === "" ? [] : [`        ${this.#screen.paint("dim", toOneLine(reasoning, width - 8))}`];
  }

  #endLines({ callId, result }: Of<"call-end">, label: string, indent: number): readonly string[] {
    const waits = this.#waits.get(callId) ?? [];
    this.#waits.delete(callId);
    return resultLines(result, {
      screen: this.#screen,
      width: this.width - indent,
      label,
      nameWidth: Math.max(0, this.#nameWidth - indent),
      waits,
    });
  }

  #recordWait({ callId, waitMs, reason, waitedFor }: Of<"call-wait">): void {
    const others = waitedFor.map((id) => this.#labels.get(id) ?? "another call").join(", ");
    const waits = this.#waits.get(callId) ?? [];
    waits.push(truncateToWidth(`waited ${formatDuration(waitMs)} for ${reason === "slot" ? "a free slot" : others}`, this.width - 8));
    this.#waits.set(callId, waits);
  }
}
