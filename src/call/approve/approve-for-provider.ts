/** Asks a person a question of the model's provider, like an approval. The answer goes back to the provider, which runs the tool. */
import type { Engine } from "../../core/engine.ts";
import type { ToolError } from "../../core/error.ts";
import { readProviderApproval } from "../../core/approvals/provider-approval.ts";
import type { AdmittedCall } from "../call-run.ts";
import { approvalReason } from "./approval-reason.ts";
import { isCovered, wasApprovedBefore } from "./approve-whole.ts";
import { askApproval } from "./ask-approval.ts";

/** Asks for approval unless a rule or an earlier answer allows the call. */
export function approveForProvider(run: AdmittedCall): AdmittedCall | Promise<AdmittedCall | ToolError> {
  if (approvalReason(run, true) === undefined || wasApprovedBefore(run) || isCovered(run)) return run;
  const { server = "", tool = "" } = readProviderApproval(run.input) ?? {};
  return askApproval(run, `The model's provider asks before it calls ${JSON.stringify(tool)} of the server ${JSON.stringify(server)}.`);
}

/** Answers the approved calls. Runs nothing. */
export const PROVIDER_ENGINE: Engine = Object.freeze({ kind: "provider", call: () => ({ approved: true }) });
