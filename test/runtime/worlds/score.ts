/** What a run over the recorded worlds came to: how much was looked at, and all that was wrong. */
import { isDeepStrictEqual } from "node:util";
import type { ToolResult } from "../../../src/core/result.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { hashOf } from "./play-task.ts";
import type { RecordedCall, RecordedTask } from "./recorded-worlds.ts";

type Counted = "tasks" | "calls" | "final states" | "recorded errors";

export class Score {
  readonly #counts = new Map<string, number>();
  /** One line for each fault, beginning with where it was. */
  readonly wrong: string[] = [];

  add(counted: string, count = 1): void {
    this.#counts.set(counted, (this.#counts.get(counted) ?? 0) + count);
  }

  /** Notes a fault unless the claim holds. */
  hold(claim: boolean, otherwise: string): void {
    if (!claim) this.wrong.push(otherwise);
  }

  /** Counts calls and notes where their results are not the recorded ones. */
  holdResults(task: RecordedTask, calls: readonly RecordedCall[], results: readonly ToolResult[]): void {
    this.add("calls", calls.length);
    this.hold(results.length === calls.length, `${task.id}: ${results.length} results for ${calls.length} calls`);
    for (const [index, call] of calls.entries()) {
      const problem = misanswer(call, results[index]);
      if (problem !== undefined) this.wrong.push(`${task.id}: ${call.toolset}::${call.name} ${problem}`);
      else if (call.error !== undefined) this.add("recorded errors");
    }
  }

  /** Counts a task that is through, and notes when it did not come to the recorded state. */
  holdEnd(task: RecordedTask, session: RuntimeSession): void {
    this.add("tasks");
    if (task.finalHash === undefined) return;
    this.add("final states");
    this.hold(hashOf(session, task) === task.finalHash, `${task.id}: the final state is another than the recorded one`);
  }

  /** How much of what every run counts. */
  get totals(): Readonly<Record<Counted, number>> {
    const count = (counted: Counted): number => this.#counts.get(counted) ?? 0;
    return {
      tasks: count("tasks"),
      calls: count("calls"),
      "final states": count("final states"),
      "recorded errors": count("recorded errors"),
    };
  }

  count(counted: string): number {
    return this.#counts.get(counted) ?? 0;
  }

  /** The first faults: all of them would be too many to read. */
  get faults(): readonly string[] {
    return this.wrong.slice(0, 20);
  }

  /** One line for people: `recorded worlds, executed: 790 tasks, 3672 calls, 0 wrong`. */
  print(title: string): void {
    const counts = [...this.#counts].map(([name, count]) => `${count} ${name}`);
    console.log(`recorded worlds, ${title}: ${[...counts, `${this.wrong.length} wrong`].join(", ")}`);
  }
}

/** What a run over all of these tasks comes to when all of it is looked at. */
export function totalsOf(tasks: readonly RecordedTask[]): Readonly<Record<Counted, number>> {
  const calls = tasks.flatMap((task) => task.calls);
  return {
    tasks: tasks.length,
    calls: calls.length,
    "final states": tasks.filter((task) => task.finalHash !== undefined).length,
    "recorded errors": calls.filter((call) => call.error !== undefined).length,
  };
}

/** What is wrong with a result by the recording; undefined when nothing is. */
export function misanswer(call: RecordedCall, result: ToolResult | undefined): string | undefined {
  if (result === undefined) return "has no result";
  if (call.error !== undefined && result.status === "error" && result.error?.message === call.error) return undefined;
  if (call.error === undefined && result.status === "ok" && isDeepStrictEqual(result.output, call.output ?? null)) return undefined;
  return `gave ${result.status} ${result.error?.message ?? JSON.stringify(result.output)?.slice(0, 200)}`;
}
