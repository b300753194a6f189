/** Repeats the call of a job that failed: first simulated, then as a new call of the same session with the same input. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { AnswerOf, HaftClient } from "../../client/client.ts";
import { InlineFailure } from "../server/inline-failure.tsx";
import { useRequestKeys } from "../server/request-keys.ts";
import { useConnection, useHasScope } from "../server/use-connection.ts";
import { ActionButton } from "../show/action-button.tsx";
import { jobPath, useGo } from "../show/address.ts";
import { Section } from "../show/basic-components.tsx";
import { castJson } from "../tools/input-form.tsx";
import { TriedResult } from "../tools/tried-result.tsx";
import type { Job } from "./job-state.tsx";

type Result = AnswerOf<"execute">["results"][number];

export function RetryJob({ job }: { readonly job: Job }): ReactNode {
  const { client } = useConnection();
  const may = useHasScope();
  const go = useGo();
  const queries = useQueryClient();
  const keys = useRequestKeys();
  const simulate = useMutation({ mutationFn: () => simulateCall(client, job) });
  const run = useMutation({
    mutationFn: () => keys.send(job.id, (idempotencyKey) => repeatCall(client, job, idempotencyKey)),
    onSuccess: async (result) => {
      await queries.invalidateQueries({ queryKey: ["jobs"] });
      if (result?.status === "pending") go(jobPath(result.callId), { keepQuery: true });
    },
  });
  const isBusy = simulate.isPending || run.isPending;
  const result = run.data ?? simulate.data;
  return (
    <Section title="Run it again">
      <p className="muted">A new call with the same input in the same session, simulated first.</p>
      <div className="button-row">
        <ActionButton
          isOff={isBusy}
          onClick={() => {
            run.reset(); // its result would be shown in place of the simulated one
            simulate.mutate();
          }}
        >
          Run simulated
        </ActionButton>
        {may("execute") && (
          <ActionButton kind="button-danger" isOff={isBusy || simulate.data === undefined} onClick={() => run.mutate()}>
            Run for real
          </ActionButton>
        )}
      </div>
      <InlineFailure error={run.error ?? simulate.error} />
      {result !== undefined && <TriedResult result={result} />}
    </Section>
  );
}

async function loadCalls(client: HaftClient, { id, sessionId, toolName }: Job) {
  const { input, call } = await client.call("getCall", { params: { callId: id }, query: { sessionId } });
  return [{ name: toolName, input: castJson(input ?? call.input ?? {}) }];
}

/** Simulates the call in a branch that is discarded. Waits for its result. */
async function simulateCall(client: HaftClient, job: Job): Promise<Result | undefined> {
  const body = { calls: await loadCalls(client, job) };
  return (await client.call("simulateInSession", { params: { sessionId: job.sessionId }, body })).results[0];
}

async function repeatCall(client: HaftClient, job: Job, idempotencyKey: string): Promise<Result | undefined> {
  const calls = await loadCalls(client, job);
  const body = { calls, ...(job.mode === "background" ? { background: true } : {}) };
  return (await client.call("executeInSession", { params: { sessionId: job.sessionId }, body, idempotencyKey })).results[0];
}
