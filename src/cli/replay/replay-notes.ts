/** Which calls of a conversation were not in the recording that answered them. */
import type { ErrorInfo } from "../../core/error.ts";
import type { RuntimeEvent, SessionEvent } from "../../core/event.ts";
import { isJsonArray, isJsonObject } from "../../core/base/json.ts";
import type { ToolResult } from "../../core/result.ts";
import { plural } from "../../core/base/wording.ts";
import { recordedCalls } from "../../engine/recorded-calls.ts";
import type { EventPrinter } from "../print-event.ts";
import { safeText } from "../terminal-text.ts";

export class ReplayNotes {
  readonly #printer: EventPrinter | undefined;
  /** The answers "there is no such thing" that were recorded: a call that gets one of them is in the recording. */
  readonly #recorded: ReadonlySet<string>;
  #calls = 0;
  unmatched = 0;

  constructor(events: readonly SessionEvent[], printer: EventPrinter | undefined) {
    this.#printer = printer;
    this.#recorded = new Set(
      recordedCalls(events).flatMap(({ result }) => (result.error === undefined ? [] : [spell(result, result.error)])),
    );
  }

  /** To be told of every event of the runtime, after it was printed. */
  notice(event: RuntimeEvent): void {
    if (event.type !== "call-end") return;
    const { result } = event;
    this.#calls++;
    if (result.error !== undefined && NOT_THERE.has(result.error.code) && !this.#recorded.has(spell(result, result.error)))
      this.unmatched++;
    for (const difference of differencesOf(result)) this.#printer?.note(`${this.#printer.labelOf(event.callId)} ${safeText(difference)}`);
  }

  /** @param isStrict nothing but what was recorded was an answer */
  conclusion(isStrict: boolean): string {
    if (this.unmatched === 0) return "Every call was answered from the recording; no tool was run.";
    const missing = `${this.unmatched} of ${plural(this.#calls, "call")} ${this.unmatched === 1 ? "is" : "are"} not in the recording`;
    return `${missing}; no tool was run.${isStrict ? " With --nearest, calls with other inputs are answered too." : ""}`;
  }
}

/** What a replay says of a call that it does not have. */
const NOT_THERE: ReadonlySet<string> = new Set<ErrorInfo["code"]>(["not_found", "ambiguous"]);

/** What is said of a name that is no tool depends on which others there are. */
function spell({ name, attempts }: ToolResult, { code, message }: ErrorInfo): string {
  return JSON.stringify(attempts === 0 ? [name, code] : [name, code, message]);
}

/** How the call differs from the recorded one whose answer it was given. */
function differencesOf({ metadata, origin }: ToolResult): readonly string[] {
  const replay = origin === "replay" ? metadata?.["replay"] : undefined;
  const differences = isJsonObject(replay) ? replay["differences"] : undefined;
  return isJsonArray(differences) ? differences.filter((line) => typeof line === "string") : [];
}
