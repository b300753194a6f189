/** Ensures that a call runs the tool that it was resolved to: while the call waits, a server may list another tool under the same name. */
import { ToolError } from "../../core/error.ts";
import { definitionFingerprint } from "../../schema/definition-fingerprint.ts";
import type { AdmittedCall } from "../call-run.ts";

/**
 * The error of a call whose tool's definition has changed. Checked right before each attempt, after all waits, if the registry has changed since the
 * tool was found. A tool that was removed meanwhile is still called; its engine may refuse it.
 */
export function definitionChangedError({ plan, services, isReal, resumed, attempts }: AdmittedCall): ToolError | undefined {
  const { registry } = services;
  if (!isReal || resumed?.remoteId !== undefined) return undefined;
  const { registered, qualifiedName, tool } = plan;
  const tools = registry.overloads(qualifiedName);
  const isSame = tools.includes(registered) || tools.some((other) => definitionFingerprint(other.tool) === definitionFingerprint(tool));
  if (isSame || tools.length === 0) {
    plan.checkedVersion = registry.version;
    return undefined;
  }
  const what = attempts === 0 ? "called" : "called again";
  return new ToolError(
    "definition_changed",
    `The definition of ${qualifiedName} was changed while the call waited, so it was not ${what}.`,
    {
      outcome: attempts === 0 ? "not_started" : "unknown",
      hint: "Look at its definition, then call again.",
    },
  );
}
