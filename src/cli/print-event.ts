/** Tells a person what a runtime does, line by line, as it happens. */
import type { RuntimeEvent } from "../core/event.ts";
import { valueText } from "../core/content.ts";
import type { JsonValue } from "../core/json.ts";
import { resultLines } from "./print-result.ts";
import { duration, oneLine, safeText } from "./terminal-text.ts";
import type { Paint } from "./terminal-text.ts";

export interface EventPrinterOptions {
  readonly write: (line: string) => void;
  readonly paint: Paint;
  readonly width: number;
}

/** Makes a listener that prints events, calls numbered in the order they arrived. */
export function eventPrinter(options: EventPrinterOptions): (event: RuntimeEvent) => void {
  const { write, paint, width } = options;
  const labels = new Map<string, string>();
  const labelOf = (callId: string): string => labels.get(callId) ?? callId;
  return (event) => {
    if (event.type === "call-start") labels.set(event.callId, paint("cyan", `#${labels.size + 1}`));
    for (const line of linesOf(event, labelOf, { paint, width })) write(`  ${line}\n`);
  };
}

function linesOf(event: RuntimeEvent, labelOf: (callId: string) => string, style: { readonly paint: Paint; readonly width: number }): readonly string[] {
  const { paint, width } = style;
  const note = (text: string): readonly string[] => [paint("yellow", text)];
  switch (event.type) {
    case "call-start":
      return [`→ ${labelOf(event.callId)} ${safeText(event.call.name)} ${paint("dim", oneLine(valueText(event.call.input as JsonValue | undefined), width - 30))}`];
    case "call-end":
      return resultLines(event.result, labelOf(event.callId), style);
    case "call-wait":
      return note(`… ${labelOf(event.callId)} waited ${duration(event.waitMs)} for ${event.reason === "slot" ? "a free slot" : `its turn after ${event.waitedFor.map(safeText).join(", ")}`}`);
    case "call-retry":
      return note(`↻ ${labelOf(event.callId)} attempt ${event.attempt} failed (${event.error.code}: ${oneLine(event.error.message, width - 50)}), again in ${duration(event.delayMs)}`);
    case "call-orphan":
      return note(`! ${labelOf(event.callId)} ${safeText(event.toolName)} did not stop when its time was up; it is left alone`);
    case "call-late":
      return [paint("dim", `· ${labelOf(event.callId)} ${safeText(event.toolName)} ended ${duration(event.lateMs)} late; what it ${event.outcome} is not used`)];
    case "call-progress":
      return [paint("dim", `· ${labelOf(event.callId)} ${oneLine(event.update.message ?? `${event.update.done ?? "?"} of ${event.update.total ?? "?"}`, width - 10)}`)];
    case "call-block":
      return note(`! ${labelOf(event.callId)} ${safeText(event.toolName)} kept everything waiting for ${duration(event.blockedMs)}`);
    case "toolset-open":
      return [paint("dim", `· toolset ${safeText(event.toolset)} is open`)];
    case "toolset-fail":
      return [paint("red", `! toolset ${safeText(event.toolset)} did not open: ${oneLine(event.error.message, width - 30)}`)];
    case "circuit-change":
      return note(`! the circuit of ${safeText(event.toolName)} is ${event.state}`);
    case "call-attempt":
    case "batch-rollback":
    case "toolset-close":
      return [];
  }
}
