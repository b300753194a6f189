/** Makes the comparison of replayed results with the recorded ones. */
import type { ToolCall } from "../../../core/call.ts";
import { valueText } from "../../../core/content.ts";
import { canonicalJson } from "../../../core/base/canonical-json.ts";
import { copyJson, type JsonValue } from "../../../core/base/json.ts";
import type { ToolResult } from "../../../core/result.ts";
import { plural } from "../../../core/base/wording.ts";
import { recordedAnswer, type RecordedAnswer } from "../../../testing/recorded-toolset.ts";
import type { CommandContext } from "../../command.ts";
import { Progress } from "../../terminal/progress.ts";
import { toOneLine, safeName } from "../../terminal/terminal-text.ts";
import { lineWidth } from "../../terminal/text-width.ts";

export interface ComparedCall {
  /** The number of the call, from 1. */
  readonly number: number;
  readonly call: ToolCall;
  readonly recorded: RecordedAnswer;
  readonly result: ToolResult;
}

const INDENT = "        ";

export class RecordingComparison {
  readonly #context: CommandContext;
  readonly #progress: Progress;
  readonly #total: number;
  #done = 0;
  #differing = 0;

  constructor(context: CommandContext, total: number) {
    this.#context = context;
    this.#progress = new Progress(context.err);
    this.#total = total;
  }

  compare(compared: ComparedCall): void {
    const replayed = recordedAnswer(compared.result);
    const same = canonicalJson(copyJson(compared.recorded).value) === canonicalJson(copyJson(replayed).value);
    this.#done++;
    if (!same) this.#differing++;
    this.#progress.show(() => `replaying: ${this.#done} of ${plural(this.#total, "call")}`);
    const { options, out } = this.#context;
    if (options.json) out.writeJson({ name: compared.call.name, same, recorded: compared.recorded, replayed });
    else if (!same) this.#print(compared, replayed);
  }

  clearProgress(): void {
    this.#progress.clear();
  }

  /** Prints the conclusion about all calls. Returns the number of results that differ. */
  printConclusion(): number {
    const { options, out } = this.#context;
    if (!options.json) {
      const mark = this.#differing === 0 ? out.paint("green", "✓") : out.paint("red", "✗");
      const outcome =
        this.#differing === 0
          ? "every result is the recorded one"
          : `${plural(this.#differing, "result")} ${this.#differing === 1 ? "is" : "are"} not the recorded one${this.#differing === 1 ? "" : "s"}`;
      out.print(`${mark} ${plural(this.#done, "call")} made again: ${outcome}; no tool was run`);
    }
    return this.#differing;
  }

  #print({ number, call, recorded }: ComparedCall, replayed: RecordedAnswer): void {
    this.#progress.clear();
    const { out } = this.#context;
    const width = lineWidth(out) - INDENT.length - "recorded: ".length;
    const input = toOneLine(valueText(call.input as JsonValue | undefined), width); // a recorded call is JSON
    out.print(`${out.paint("red", "✗")} #${number}  ${safeName(call.name)}  ${out.paint("dim", input)}`);
    out.print(
      `${INDENT}recorded: ${toOneLine(formatAnswer(recorded), width)}\n${INDENT}now:      ${toOneLine(formatAnswer(replayed), width)}`,
    );
  }
}

function formatAnswer(answer: RecordedAnswer): string {
  if (answer.error !== undefined) return `${answer.name}: ${answer.error}`;
  return `${answer.name}: ${valueText(answer.output ?? copyJson(answer.content ?? null).value)}`;
}
