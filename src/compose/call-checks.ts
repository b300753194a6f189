/** The checks of a loop between a call of the model and its tool, and the repeat guard's record of results. */
import { checkRefusal } from "../core/check-argument.ts";
import { ToolError } from "../core/error.ts";
import { declaresNoWrites } from "../core/resources/effects.ts";
import type { ModelCall } from "../core/model.ts";
import type { OfferedName, ToolResult } from "../core/result.ts";
import type { ToolCategory } from "../core/tool.ts";
import { plural } from "../core/base/wording.ts";
import type { LoopBudget } from "./loop-budget.ts";
import { RepeatGuard } from "./repeat-guard.ts";
import { endsTurn, runsOncePerTurn } from "../call/admit/turn-rules.ts";
import type { RuntimeSession } from "../runtime/runtime-session.ts";
import { toolOfResult } from "../runtime/tool-of-result.ts";
import type { RoundCall } from "./reason-to-stop.ts";
import type { CheckedLimits } from "./loop-limits.ts";
import type { AddedCall } from "./run-model-request.ts";

export interface CallChecksOptions {
  readonly limits: CheckedLimits;
  readonly budget: LoopBudget;
  readonly session: RuntimeSession;
  /** Returns the program's own refusals. */
  readonly refuse: (call: ModelCall) => ToolError | undefined;
  /** Returns the name under which the model was offered a tool. */
  readonly offeredName: OfferedName;
}

/** Findings about repeated calls in a round. */
export interface CallFindings {
  readonly warnings: readonly string[];
  /** Why the run ends for repeated calls; undefined if it does not. */
  readonly repeated: string | undefined;
}

/** An untyped program may give a promise, or whether the call is refused. @throws ToolError `invalid_argument` */
function checkedRefusal(refusal: ToolError | null | undefined): ToolError | undefined {
  if (refusal !== undefined && refusal !== null) checkRefusal(refusal, "refuse() of createLoop()", "returns a ToolError or undefined");
  return refusal ?? undefined;
}

export class CallChecks {
  readonly #options: CallChecksOptions;
  readonly #guard: RepeatGuard | undefined;
  /** The refusals of the repeat guard, to distinguish them from others. */
  readonly #repeatRefusals = new WeakSet<ToolError>();

  constructor(options: CallChecksOptions) {
    const { repeat } = options.limits;
    this.#options = options;
    this.#guard = repeat === false ? undefined : new RepeatGuard(repeat, options.offeredName);
  }

  /** Returns why the call is refused. A call that is not refused counts in the budget. @param index its place in the message, from 0 */
  refusal(call: ModelCall, index: number): ToolError | undefined {
    const { limits, budget, refuse } = this.#options;
    const refusal =
      (index >= limits.maxCallsPerRound ? tooManyCallsError(limits.maxCallsPerRound) : undefined) ??
      budget.refusal() ??
      (limits.multiAction || index === 0 ? undefined : oneActionError()) ??
      checkedRefusal(refuse(call)) ??
      this.#refuseRepeated(call);
    if (refusal === undefined) budget.spend("calls", 1);
    return refusal;
  }

  /** Records the results of a round in the repeat guard. */
  recordResults(calls: readonly AddedCall[], results: readonly ToolResult[]): CallFindings {
    const warnings: string[] = [];
    let repeated: string | undefined;
    const guard = this.#guard;
    for (const [index, { call, refusal }] of guard === undefined ? [] : calls.entries()) {
      const result = results[index];
      if (guard === undefined || result === undefined) continue;
      const verdict = this.#verdict(guard, call, refusal, result);
      if (verdict?.kind === "warn") warnings.push(verdict.note);
      if (verdict?.kind === "stop") repeated ??= verdict.note;
    }
    return { warnings, repeated };
  }

  /** Returns the calls in the form that `reasonToStop` takes. @param endedBy the tool that ended the turn */
  roundCalls(results: readonly ToolResult[], endedBy: string | undefined): readonly RoundCall[] {
    return results.map((result) => {
      const { name, status, error } = result;
      const category = this.#categoryOf(result);
      return { category, admitted: category !== "TERMINAL" || (endedBy === name && status !== "skipped"), code: error?.code };
    });
  }

  #refuseRepeated(call: ModelCall): ToolError | undefined {
    const refusal = this.#guard?.refusal(call);
    if (refusal !== undefined) this.#repeatRefusals.add(refusal);
    return refusal;
  }

  #verdict(
    guard: RepeatGuard,
    call: ModelCall,
    refusal: ToolError | undefined,
    result: ToolResult,
  ): ReturnType<RepeatGuard["recordResult"]> | undefined {
    if (refusal !== undefined) return this.#repeatRefusals.has(refusal) ? guard.recordRefusal(call) : undefined;
    if (result.status === "cancelled" || result.status === "skipped" || result.error?.code === "approval_required") return undefined;
    if (call.kind === "approval" && result.status === "ok") return undefined; // only the provider knows the outcome of the call itself
    const effects = toolOfResult(this.#options.session, result)?.tool.effects;
    return guard.recordResult(call, result, effects?.writes !== undefined && !declaresNoWrites(effects));
  }

  #categoryOf(result: ToolResult): ToolCategory {
    const tool = toolOfResult(this.#options.session, result)?.tool;
    if (tool === undefined) return "SAFE_CHAIN";
    if (endsTurn(tool)) return "TERMINAL";
    if (runsOncePerTurn(tool)) return "DANGEROUS";
    return tool.category === "ASYNC_REQUIRED" ? "ASYNC_REQUIRED" : "SAFE_CHAIN";
  }
}

function tooManyCallsError(most: number): ToolError {
  return new ToolError("limit_exceeded", `The call was not made: a message may have at most ${plural(most, "call")}.`, {
    hint: "Make fewer calls at a time; make this one again if it is still needed.",
  });
}

function oneActionError(): ToolError {
  return new ToolError("limit_exceeded", "The call was not made: one action a turn is allowed.", { hint: "Make it in the next turn." });
}
