/** Tells what the runtime does, line by line, as it happens. */
import type { RuntimeEvent } from "../core/event.ts";
import { valueText } from "../core/content.ts";
import type { JsonValue } from "../core/base/json.ts";
import { resultLines } from "./print-result.ts";
import { columnFor, cut, duration, oneLine, safeText, type Screen } from "./terminal-text.ts";
import { columnsOf, padColumns } from "./text-width.ts";

type CallEvent = Extract<RuntimeEvent, { readonly callId: string }>;
type Of<Type extends RuntimeEvent["type"]> = Extract<RuntimeEvent, { readonly type: Type }>;

/** Names get at most this many columns, so that one long name does not push all others aside. */
const MAX_NAME_WIDTH = 40;
/** Where there is no terminal to fit. */
const FILE_WIDTH = 120;

/** Most names of tools that one line tells. */
const MAX_NAMES = 5;

function changeText({ toolset, ...change }: Of<"toolset-change">): string {
  const parts = (["added", "removed", "changed"] as const).flatMap((what) => {
    const names = change[what];
    if (names.length === 0) return [];
    const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : "";
    return [`${what} ${names.slice(0, MAX_NAMES).map(safeText).join(", ")}${more}`];
  });
  return `the tools of ${safeText(toolset)} have changed: ${parts.join("; ")}`;
}

/** Prints the events of calls, which it numbers in the order they arrive. */
export class EventPrinter {
  readonly #screen: Screen;
  readonly #labels = new Map<string, string>();
  readonly #waits = new Map<string, string[]>();
  #nameWidth = 0;

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  get width(): number {
    return this.#screen.width === Infinity ? FILE_WIDTH : this.#screen.width;
  }

  /** The names of the calls that come next, so that what stands behind them is aligned. */
  expect(names: readonly string[]): void {
    this.#nameWidth = columnFor(names.map(safeText), MAX_NAME_WIDTH);
  }

  print(event: RuntimeEvent): void {
    if ("callId" in event) for (const line of this.#callLines(event)) this.#screen.print(line);
    if (event.type === "toolset-change") this.aside(changeText(event));
    if (event.type === "circuit-change") {
      const { toolName, state } = event;
      const meaning =
        state === "open" ? "fails so often that it is left alone for a while" : state === "closed" ? "works again" : "is being tried again";
      this.note(`${safeText(toolName)} ${meaning}`);
    }
  }

  /** Something that needs no answer, in the colour of warnings. */
  note(text: string): void {
    this.#screen.print(`  ${this.#screen.paint("yellow", `! ${text}`)}`);
  }

  /** Something that happened by the way. */
  aside(text: string): void {
    this.#screen.print(`  ${this.#screen.paint("dim", `· ${text}`)}`);
  }

  /** `#3 `, as wide for each of the first ninety-nine calls. */
  labelOf(callId: string): string {
    return (this.#labels.get(callId) ?? callId).padEnd(3);
  }

  #callLines(event: CallEvent): readonly string[] {
    const { paint } = this.#screen;
    const label = event.type === "call-start" ? this.#number(event.callId) : this.labelOf(event.callId);
    const dim = (text: string): readonly string[] => [`  ${paint("dim", `· ${label} ${text}`)}`];
    const yellow = (mark: string, text: string): readonly string[] => [`  ${paint("yellow", `${mark} ${label} ${text}`)}`];
    switch (event.type) {
      case "call-start":
        return [this.#startLine(event, label)];
      case "call-end":
        return this.#endLines(event, label);
      case "call-wait":
        this.#noteWait(event);
        return [];
      case "call-retry": {
        const failed = `attempt ${event.attempt} failed, next in ${duration(event.delayMs)}: `;
        return yellow("↻", `${failed}${oneLine(event.error.message, this.width - failed.length - 8)}`);
      }
      case "call-orphan":
        return yellow("!", "is cut off but still running: an orphan, whose answer will not count");
      case "call-late":
        return dim(`ended ${duration(event.lateMs)} after it was cut off; what it ${event.outcome} is not used`);
      case "call-progress":
        return dim(oneLine(event.update.message ?? `${event.update.done ?? "?"} of ${event.update.total ?? "?"}`, this.width - 8));
      case "call-block":
        return yellow("!", `kept everything else waiting for ${duration(event.blockedMs)}`);
      case "outcome-resolve":
        return dim("had its effect after all");
      case "call-attempt":
      case "call-intent":
      case "output-keep":
      case "state-change":
        return [];
    }
  }

  #number(callId: string): string {
    this.#labels.set(callId, `#${this.#labels.size + 1}`);
    return this.labelOf(callId);
  }

  #startLine({ call }: Of<"call-start">, label: string): string {
    const start = `  → ${label} ${padColumns(safeText(call.name), this.#nameWidth)}  `;
    const input = oneLine(valueText(call.input as JsonValue | undefined), this.width - columnsOf(start)); // an event holds JSON
    return `${start}${this.#screen.paint("dim", input)}`.trimEnd();
  }

  #endLines({ callId, result }: Of<"call-end">, label: string): readonly string[] {
    const waits = this.#waits.get(callId) ?? [];
    this.#waits.delete(callId);
    return resultLines(result, { screen: this.#screen, width: this.width, label, nameWidth: this.#nameWidth, waits });
  }

  #noteWait({ callId, waitMs, reason, waitedFor }: Of<"call-wait">): void {
    const others = waitedFor.map((id) => this.#labels.get(id) ?? "another call").join(", ");
    const waits = this.#waits.get(callId) ?? [];
    waits.push(cut(`waited ${duration(waitMs)} for ${reason === "slot" ? "a free slot" : others}`, this.width - 8));
    this.#waits.set(callId, waits);
  }
}
