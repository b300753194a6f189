/** One call that waits for approval: its final input, what it would change, and the answers that the key may give. */
import { useMutation, useQuery, useQueryClient, type UseMutationResult } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { Link } from "wouter";
import type { BodyOf } from "../../client/client.ts";
import { InlineFailure } from "../server/inline-failure.tsx";
import { useRequestKeys } from "../server/request-keys.ts";
import { useConnection, useHasScope } from "../server/use-connection.ts";
import { ActionButton } from "../show/action-button.tsx";
import { sessionPath, useGo } from "../show/address.ts";
import { SelectField } from "../show/select-field.tsx";
import { UntrustedText, JsonBlock, ToolName } from "../show/untrusted-text.tsx";
import { Panel } from "../show/panel.tsx";
import { Badge, Fact, Notice, Section } from "../show/basic-components.tsx";
import { formatFullTime, formatPlural } from "../show/format.ts";
import type { Approval } from "./approval.ts";
import { PreviewView } from "./preview-view.tsx";

type Verdict = Pick<BodyOf<"decideApproval">, "answer" | "scope">;
type ApprovalScope = NonNullable<Verdict["scope"]>;

export function ApprovalPanel({
  approval,
  others,
}: {
  readonly approval: Approval | undefined;
  readonly others: readonly Approval[];
}): ReactNode {
  const go = useGo();
  const deciding = useDecide(); // kept here, as the question disappears when it is decided, here or elsewhere
  const close = (): void => go("/approvals", { keepQuery: true });
  return (
    <Panel
      label="Waiting call"
      subject="approval"
      title={approval === undefined ? "Approval" : <ToolName name={approval.toolName} />}
      onClose={close}
    >
      <InlineFailure error={deciding.error} />
      {approval === undefined ? (
        <Notice title="This call is no longer waiting.">It was answered, was withdrawn or has expired.</Notice>
      ) : approval.damage !== undefined ? (
        <Notice title="This call cannot be decided.">
          <UntrustedText text={approval.damage} maxLength={1_000} />
        </Notice>
      ) : (
        <ApprovalDetails approval={approval} others={others} deciding={deciding} />
      )}
    </Panel>
  );
}

interface Decision {
  readonly verdict: Verdict;
  readonly calls: readonly Approval[];
}

/** Sends decisions. Fails if an answer does not count because another one came first. */
function useDecide(): UseMutationResult<void, Error, Decision> {
  const { client } = useConnection();
  const queries = useQueryClient();
  const keys = useRequestKeys();
  return useMutation({
    mutationFn: async ({ verdict, calls }: Decision) => {
      const body = { decisions: calls.map(({ callId, digest }) => ({ ...verdict, callId, digest })) };
      const [only, ...more] = calls;
      if (only !== undefined && more.length === 0) {
        const params = { callId: only.callId };
        const answer = { ...verdict, digest: only.digest };
        await keys.send(body, (idempotencyKey) => client.call("decideApproval", { params, body: answer, idempotencyKey }));
        return;
      }
      const { decisions } = await keys.send(body, (idempotencyKey) => client.call("decideApprovals", { body, idempotencyKey }));
      const ineffective = decisions.filter(({ decided }) => !decided).length;
      if (ineffective > 0)
        throw new Error(`This answer had no effect on ${formatPlural(ineffective, "call")} of ${calls.length}, which no longer waited.`);
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["approvals"] }),
  });
}

interface QuestionProps {
  readonly approval: Approval;
  readonly others: readonly Approval[];
  readonly deciding: UseMutationResult<void, Error, Decision>;
}

function ApprovalDetails({ approval, others, deciding }: QuestionProps): ReactNode {
  const may = useHasScope();
  const { reason, description, sessionId, callId, input, digest, within = [], askedBy, askedAt, expiresAt, askedIn, simulated } = approval;
  return (
    <>
      <p className="prose">
        <UntrustedText text={reason} maxLength={2_000} />
      </p>
      <p className="muted prose">
        <UntrustedText text={description} maxLength={1_000} />
      </p>
      {may("approve") && <AnswerButtons approval={approval} others={others} deciding={deciding} />}
      {!may("approve") && <p className="muted">You may see this call, but not decide it.</p>}
      <Section title="Input that would run">
        <JsonBlock value={input} label="Input that would run" />
      </Section>
      {may("approve") && <Preview callId={callId} digest={digest} />}
      {within.map((call) => (
        <Section key={call.callId} title="Made in">
          <p>
            <ToolName name={call.toolName} />
          </p>
          <JsonBlock value={call.input} label="Input of the enclosing call" />
        </Section>
      ))}
      <dl className="facts">
        <Fact name="Session">
          <Link href={sessionPath(sessionId, callId)}>
            <UntrustedText text={sessionId} maxLength={120} />
          </Link>
          {simulated && <Badge tone="warn">simulated</Badge>}
        </Fact>
        <Fact name="Asked">
          {formatFullTime(askedAt)}
          {askedBy !== undefined && (
            <>
              {" for "}
              <UntrustedText text={askedBy} />
            </>
          )}
        </Fact>
        {expiresAt !== undefined && <Fact name="Until">{formatFullTime(expiresAt)}</Fact>}
        <Fact name="Waits in">{askedIn === undefined ? "no process, until its session is resumed" : <UntrustedText text={askedIn} />}</Fact>
        <Fact name="Digest">
          <code className="wrap">
            <UntrustedText text={digest} />
          </code>
        </Fact>
      </dl>
    </>
  );
}

const SCOPE_OPTIONS: readonly (readonly [ApprovalScope, string])[] = [
  ["once", "this call"],
  ["input", "this input, in this session"],
  ["tool", "this tool, in this session"],
  ["rule", "this tool, in all sessions"],
];

/** Buttons for the answer, which is bound to the digest of the shown call and decides nothing else. */
function AnswerButtons({ approval, others, deciding: { mutate, isPending } }: QuestionProps): ReactNode {
  const [scope, setScope] = useState<ApprovalScope>("once");
  const alike = others.filter(({ toolName }) => toolName === approval.toolName);
  const decide = (verdict: Verdict, calls: readonly Approval[] = [approval]): void => mutate({ verdict, calls });
  return (
    <div className="answers">
      <div className="button-row">
        <ActionButton kind="button-main" isOff={isPending} onClick={() => decide({ answer: "allow", scope })}>
          Allow
        </ActionButton>
        <SelectField label="What the approval applies to" value={scope} onChange={setScope} options={SCOPE_OPTIONS} />
        <ActionButton kind="button-danger" isOff={isPending} onClick={() => decide({ answer: "deny" })}>
          Deny
        </ActionButton>
        {alike.length > 1 && (
          <ActionButton isOff={isPending} onClick={() => decide({ answer: "deny" }, alike)}>
            Deny all {alike.length} of this tool
          </ActionButton>
        )}
      </div>
    </div>
  );
}

function Preview({ callId, digest }: { readonly callId: string; readonly digest: string }): ReactNode {
  const { client } = useConnection();
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ["preview", callId, digest],
    queryFn: ({ signal }) => client.call("previewApproval", { params: { callId }, signal }),
    staleTime: Infinity,
    refetchOnWindowFocus: false,
  });
  const simulateAgain = (
    <ActionButton kind="button-quiet" isOff={isFetching} onClick={() => void refetch()}>
      {isFetching ? "Simulating…" : "Simulate again"}
    </ActionButton>
  );
  return (
    <Section title="What it would change" aside={simulateAgain}>
      {data !== undefined && <PreviewView preview={data} />}
      {data === undefined && error === null && <p className="muted">Simulated by the process that waits; nothing happens for real.</p>}
      <InlineFailure error={error} />
    </Section>
  );
}
