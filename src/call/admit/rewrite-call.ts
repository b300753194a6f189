/** Calls the hooks that may change, stop or accept a call, before the call is resolved. */
import { ignoreRejection } from "../../core/system/ignore-rejections.ts";
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import type { ToolCall } from "../../core/call.ts";
import { ToolError, describeThrown } from "../../core/error.ts";
import type { Hook, HookDecision } from "../../core/hook.ts";
import { isComputerTool, readSafetyChecks } from "../../core/safety-checks.ts";
import { callHook, hookContext } from "../call-hook.ts";
import type { CallRun } from "../call-run.ts";
import type { Registry } from "../../registry/registry.ts";
import { toOverloadInput } from "../../registry/overload.ts";
import { readCall } from "./read-call.ts";

export function rewriteCall(run: CallRun): CallRun | ToolError | Promise<CallRun | ToolError> {
  const { rewriteInput } = run.options;
  const original = run.call;
  const refusal = rewriteInput === undefined ? undefined : applyRewriteInput(run, rewriteInput);
  if (refusal !== undefined) return refusal;
  return run.services.beforeHooks.length === 0 ? (changedQuestionError(run, original) ?? run) : runHooks(run, original);
}

/** Refuses a changed call if the provider makes it: a person would be shown something else than what is done. */
function changedQuestionError({ services, isProviderQuestion, call }: CallRun, original: ToolCall): ToolError | undefined {
  if (call === original) return undefined;
  if (isProviderQuestion !== true) return changedChecksError(services.registry, call, original);
  const isSame = call.name === original.name && isJsonObject(call.input) && isJsonObject(original.input);
  if (isSame && canonicalJson(call.input) === canonicalJson(original.input)) return undefined;
  return new ToolError(
    "vetoed",
    `The model's provider makes this call of ${original.name} with its own input, and a hook or rewriteInput changed it.`,
    {
      operatorHint: "Let hooks stop such a call with a veto, or leave it as it is.",
    },
  );
}

/** Refuses a call whose safety checks were changed: a person would not be asked what the provider wants confirmed. */
function changedChecksError(registry: Registry, call: ToolCall, original: ToolCall): ToolError | undefined {
  const checks = findSafetyChecks(registry, original);
  if (checks === undefined || canonicalJson(checks) === canonicalJson(findSafetyChecks(registry, call) ?? {})) return undefined;
  return new ToolError(
    "vetoed",
    `The model's provider asks for a confirmation of this call of ${original.name}, and a hook or rewriteInput changed what is to be confirmed.`,
    {
      operatorHint: `Leave ${Object.keys(checks).join(" and ")} of the input as it is.`,
    },
  );
}

/** Returns the safety checks of a computer tool's call. A tool that is not known yet counts as one. */
function findSafetyChecks(registry: Registry, { name, input }: ToolCall): JsonObject | undefined {
  const checks = readSafetyChecks(toOverloadInput(input));
  if (checks === undefined) return undefined;
  const found = registry.resolve(name);
  return found instanceof ToolError || found.some(({ tool }) => isComputerTool(tool)) ? checks : undefined;
}

/** Replaces the input with the result of the caller's `rewriteInput`. */
function applyRewriteInput(run: CallRun, rewriteInput: (call: ToolCall) => unknown): ToolError | undefined {
  const input = rewriteInput(run.call);
  if (input === run.call.input) return undefined;
  const read = readCall({ ...run.call, input }, run.services.inputLimits);
  run.call = read.call;
  run.isRewritten = true;
  return read.error;
}

async function runHooks(run: CallRun, original: ToolCall): Promise<CallRun | ToolError> {
  const asked = run.call.name;
  for (const hook of run.services.beforeHooks) {
    const { returned, endError } = await callHook<HookDecision>(run, hook, () => hook.beforeCall?.(run.call, hookContext(run)));
    const end = run.cancelled ?? endError ?? applyDecision(run, hook, returned);
    if (end !== undefined) return end;
  }
  if (run.call.name !== asked && run.services.registry.resolve(run.call.name) instanceof ToolError) {
    return new ToolError("vetoed", `A hook sent this call to ${JSON.stringify(run.call.name)}, which is not a usable tool.`);
  }
  return changedQuestionError(run, original) ?? run;
}

/** Applies a hook's decision. An invalid decision stops the call, as it may have been meant to. */
function applyDecision(run: CallRun, hook: Hook, decision: HookDecision | null): ToolError | undefined {
  if (decision === undefined || decision === null || decision === run.call) return undefined;
  if (typeof decision === "object" && "veto" in decision) return vetoError(hook, decision.veto);
  const read = readCall(
    typeof decision === "object" && !ArrayBuffer.isView(decision)
      ? { ...decision, ...(run.call.id === undefined ? {} : { id: run.call.id }) }
      : decision,
    run.services.inputLimits,
  );
  if (read.error !== undefined) return new ToolError("vetoed", `The hook "${hook.name}" made an unusable call: ${read.error.message}`);
  run.call = read.call;
  run.isRewritten = true;
  return undefined;
}

function vetoError(hook: Hook, reason: unknown): ToolError {
  return new ToolError("vetoed", vetoText(reason), { operatorHint: `The hook "${hook.name}" stopped this call.` });
}

/** Returns the reason for the model. An untyped hook may give an error, and another value or an empty text says nothing. */
function vetoText(reason: unknown): string {
  if (typeof reason === "string" && reason.trim() !== "") return reason;
  ignoreRejection(reason);
  return reason instanceof Error ? describeThrown(reason) : "The call was stopped, and no reason was given.";
}
