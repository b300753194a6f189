/** Admits a call: finds its tool, passes the gates that need no input, resolves its effects, finds its route, and applies the rules of its turn. */
import { OWN_NAMESPACE } from "../../core/call.ts";
import type { ResolvedEffects } from "../../core/resources/effects.ts";
import type { JsonValue } from "../../core/base/json.ts";
import { ToolError } from "../../core/error.ts";
import { noHandlerError } from "../../core/answers/missing-handler.ts";
import { readProviderApproval } from "../../core/approvals/provider-approval.ts";
import { withoutSafetyChecks } from "../../core/safety-checks.ts";
import { waitFor } from "../../policy/attempts/deadline.ts";
import { chooseOverload, offeredFingerprint, toOverloadInput } from "../../registry/overload.ts";
import type { RegisteredTool } from "../../registry/registered-tool.ts";
import { resolveVisible } from "../../registry/visible-tool.ts";
import { takeBackgroundFlag } from "../jobs/background-flag.ts";
import { toAdmittedCall, toResolvedCall, type AdmittedCall, type CallRun, type FittedCall, type ResolvedCall } from "../call-run.ts";
import { tooDeepError } from "../context/composite.ts";
import { passDocumentationGate } from "./documentation-gate.ts";
import { route, type Answerer, type Route } from "../route.ts";
import { applyTurnRules } from "./turn-rules.ts";

/** Finds the tools of this name and chooses the overload by the input. */
export function resolveTool(run: CallRun): ResolvedCall | ToolError {
  const { services, call } = run;
  const candidates = findCandidates(run);
  if (candidates instanceof Error) return candidates;
  const [only] = candidates;
  if (only !== undefined && call.name.length === only.qualifiedName.length - ":".length) warnOfSingleColon(run, only.qualifiedName);
  return toResolvedCall(
    run,
    services.planOf(candidates.length === 1 && only !== undefined ? only : chooseOverload(candidates, readInputForOverload(run))),
  );
}

function findCandidates({ services, call, options }: CallRun): readonly RegisteredTool[] | ToolError {
  const { visibility } = options;
  return visibility === undefined ? services.registry.resolve(call.name) : resolveVisible(services.registry, call.name, visibility);
}

/** The fingerprint of the overload that a call refers to, from its unmodified input; undefined if its name is not overloaded. */
export function findOverloadFingerprint(run: CallRun): string | undefined {
  const { call, services } = run;
  const family = services.registry.overloads(call.name);
  if (family.length < 2) return undefined;
  try {
    const candidates = findCandidates(run);
    if (candidates instanceof Error) return undefined;
    return offeredFingerprint(chooseOverload(candidates, readInputForOverload(run)), family);
  } catch {
    return undefined; // admission reports why the tool cannot be called
  }
}

/**
 * Warns about a name with one colon instead of two. Such a name is one character shorter than the tool's; so may be the encoded name of a long one,
 * which has no colon.
 */
function warnOfSingleColon(run: CallRun, qualifiedName: string): void {
  const { name } = run.call;
  if (!name.includes(":")) return;
  run.warnings = [
    ...run.warnings,
    `${JSON.stringify(name)} was read as ${JSON.stringify(qualifiedName)}: toolset and tool are separated by "::".`,
  ];
}

/** Resolves the tool once its toolset, which was added late, has opened or has failed to open in time. */
export async function resolveLater(run: CallRun, opening: Promise<unknown>): Promise<ResolvedCall | ToolError> {
  const waited = await waitFor(run, opening, {
    endsAt: Infinity,
    timeoutError: () => new ToolError("timeout", "Its toolset did not open in time."),
  });
  return "ended" in waited ? waited.ended : resolveTool(run);
}

/** The input by which the overload of a call is chosen, without the flag `run_in_background` if the model was offered it. */
function readInputForOverload({ call, services, takesFlag }: CallRun): JsonValue {
  const input = toOverloadInput(call.input);
  return (takesFlag === true ? takeBackgroundFlag({ ...call, input }, services.registry)?.input : undefined) ?? input;
}

/** Refuses tools that cannot or may not run, whatever their input. */
export function passGates(run: ResolvedCall): ResolvedCall | ToolError {
  const { tool, qualifiedName, registered } = run.plan;
  const notHere = tool.providerExecuted === true ? providerExecutedError(run) : undefined;
  if (notHere !== undefined) return notHere;
  if (registered.quarantine !== undefined) return registered.quarantine;
  const refusal = tool.composite === true ? tooDeepError(run) : undefined;
  if (refusal !== undefined) return refusal;
  for (const key of tool.requires ?? []) {
    if (!Object.hasOwn(run.options.data, key) || run.options.data[key] === undefined) {
      return new ToolError("unavailable", `${qualifiedName} needs "${key}", which this program did not provide.`, {
        operatorHint: `Give it as data: execute(calls, { data: { ${key}: … } }).`,
      });
    }
  }
  return passDocumentationGate(run) ?? run;
}

/** Refuses calls of tools that the model's provider runs, except for the answer to a provider's question about its own call. */
function providerExecutedError({ plan: { qualifiedName }, call, turn, isProviderQuestion }: ResolvedCall): ToolError | undefined {
  if (isProviderQuestion !== true || readProviderApproval(call.input) === undefined)
    return new ToolError("not_executable", `${qualifiedName} is run by the model's provider, never here.`);
  if (turn.session.simulation === undefined) return undefined;
  return new ToolError("not_simulatable", `The provider would call ${qualifiedName} for real, and this is a simulation.`);
}

/** Finds the route of the call and applies the rules of its turn. The calls of a batch pass here one after another, in call order. */
export function routeCall(run: FittedCall): AdmittedCall | ToolError {
  const { plan, turn, services, options } = run;
  const { session } = turn;
  const effects = plan.effects ?? plan.effectsOf(withoutSafetyChecks(run.input, run.safetyChecks));
  const isOrdinary =
    session.parent === undefined && session.simulation === undefined && options.answerers === undefined && !services.chains.hasRules;
  const found = isOrdinary ? plan.liveRoute : findRoute(run, effects);
  if (found instanceof Error) return found;
  if (plan.hasNoHandler && found.rules.isLiveTool && found.next === undefined) return noHandlerError(plan.tool);
  const call = toAdmittedCall(run, effects, found);
  const refusal = run.cancelled ?? (plan.hasTurnRule ? applyTurnRules(turn, plan.tool, plan.qualifiedName) : undefined);
  if (refusal !== undefined) return refusal;
  if (plan.hasTurnRule) call.countedInTurn = plan.qualifiedName;
  // Remember pretended writes for later reads of the same keys.
  if (found.rules.isPretended) session.simulation?.markDirty(call.callId, { writes: effects.writes, locked: effects.lock.writes });
  return call;
}

function findRoute(run: FittedCall, effects: ResolvedEffects): Route | ToolError {
  const { plan, turn, services } = run;
  const { simulation, parent } = turn.session;
  const found = route({
    toolName: plan.qualifiedName,
    effects,
    liveRoute: plan.liveRoute,
    hasNoHandler: plan.hasNoHandler,
    answerers: findAnswerers(run) ?? [],
    simulation,
    isBranch: parent !== undefined,
    standIns: services.chains.simulation,
  });
  if (found instanceof ToolError || simulation === undefined || services.undecidedHook === undefined) return found;
  return undecidedHookError(plan.qualifiedName, services.undecidedHook);
}

/** The fallback chain of the call. The runtime's own tools always answer themselves, and the answer to a provider is never simulated. */
function findAnswerers({ plan, services, options }: FittedCall): readonly Answerer[] | undefined {
  if (plan.registered.toolset.name === OWN_NAMESPACE || plan.tool.providerExecuted === true) return undefined;
  return options.answerers ?? services.chains.answerersFor(plan.registered, plan.engine);
}

function undecidedHookError(toolName: string, hook: string): ToolError {
  return new ToolError("not_simulatable", `${toolName} was not run: the hook "${hook}" does not say whether it runs in a simulation.`, {
    operatorHint: 'Give the hook inSimulation: "run" when it leaves no trace, or "skip" to leave it out.',
  });
}
