/** One tool: its description, and a form to try it, checked by the server while it is filled in. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { Link } from "wouter";
import { describeFailure } from "../server/describe-failure.ts";
import { InlineFailure } from "../server/inline-failure.tsx";
import { useRequestKeys } from "../server/request-keys.ts";
import { useConnection, useHasScope } from "../server/use-connection.ts";
import { ActionButton } from "../show/action-button.tsx";
import { useGo, approvalPath } from "../show/address.ts";
import { UntrustedText, JsonBlock, ToolName } from "../show/untrusted-text.tsx";
import { Panel } from "../show/panel.tsx";
import { Fact, Loading, Notice, Section } from "../show/basic-components.tsx";
import { NO_UNREADABLE_PATHS, InputForm, castJson } from "./input-form.tsx";
import { createInitialValue, isSchema } from "./field-shape.ts";
import { Hints, type Tool } from "./tool-hints.tsx";
import { TriedResult } from "./tried-result.tsx";

export function ToolPanel({ toolName }: { readonly toolName: string }): ReactNode {
  const { client } = useConnection();
  const go = useGo();
  const { data, error } = useQuery({
    queryKey: ["tool", toolName],
    queryFn: ({ signal }) => client.call("getTool", { params: { toolName }, signal }),
  });
  const close = (): void => go("/tools", { keepQuery: true });
  return (
    <Panel label="Tool" subject="tool" title={<ToolName name={toolName} />} onClose={close}>
      {data === undefined && error === null && <Loading />}
      {error !== null && (
        <Notice isFailure title={describeFailure(error).isGone ? "There is no such tool." : "The tool could not be read."}>
          <UntrustedText text={describeFailure(error).text} maxLength={1_000} />
        </Notice>
      )}
      {data !== undefined && <ToolDetails tool={data} />}
    </Panel>
  );
}

function ToolDetails({ tool }: { readonly tool: Tool }): ReactNode {
  const { description, title, toolset, inputSchema, outputSchema, tags = [] } = tool;
  return (
    <>
      <div className="panel-state">
        <Hints tool={tool} />
      </div>
      {title !== undefined && (
        <p className="prose">
          <UntrustedText text={title} />
        </p>
      )}
      <p className="prose muted">
        <UntrustedText text={description} maxLength={4_000} />
      </p>
      <TryToolForm tool={tool} />
      <details className="details">
        <summary>Schemas</summary>
        <JsonBlock value={inputSchema} label="Schema of the input" />
        {outputSchema !== undefined && <JsonBlock value={outputSchema} label="Schema of the output" />}
      </details>
      <dl className="facts">
        <Fact name="Toolset">
          <UntrustedText text={toolset} />
        </Fact>
        {tags.length > 0 && (
          <Fact name="Tags">
            <UntrustedText text={tags.join(", ")} />
          </Fact>
        )}
      </dl>
    </>
  );
}

function TryToolForm({ tool }: { readonly tool: Tool }): ReactNode {
  const { name, inputSchema } = tool;
  const { client } = useConnection();
  const may = useHasScope();
  const keys = useRequestKeys();
  const schema = isSchema(inputSchema) ? inputSchema : {};
  const [value, setValue] = useState<unknown>(() => createInitialValue(schema, schema) ?? {});
  const [unreadable, setUnreadable] = useState(NO_UNREADABLE_PATHS);
  const run = useMutation({
    mutationFn: async (isSimulated: boolean) => {
      const body = { calls: [{ name, input: castJson(value) }] };
      const { results } = isSimulated
        ? await client.call("simulate", { body })
        : await keys.send(body, (idempotencyKey) => client.call("execute", { body, idempotencyKey }));
      return results[0];
    },
  });
  const isBlocked = unreadable.size > 0 || run.isPending;
  return (
    <Section title="Try it">
      <InputForm toolName={name} schema={schema} value={value} onChange={setValue} unreadable={unreadable} onUnreadable={setUnreadable} />
      <div className="button-row">
        {may("execute") && (
          <ActionButton kind="button-main" isOff={isBlocked} onClick={() => run.mutate(false)}>
            Run
          </ActionButton>
        )}
        {may("simulate") && (
          <ActionButton isOff={isBlocked} onClick={() => run.mutate(true)}>
            Simulate
          </ActionButton>
        )}
        {run.isPending && (
          <span className="muted" role="status">
            {run.variables ? "Running…" : <WaitingNotice toolName={name} />}
          </span>
        )}
      </div>
      <InlineFailure error={run.error} />
      {run.data !== undefined && <TriedResult result={run.data} />}
    </Section>
  );
}

/**
 * A link to the approval of the running call: the one of this tool that was not open before, as the call's id is not known yet. The menu polls the
 * list.
 */
function WaitingNotice({ toolName }: { readonly toolName: string }): ReactNode {
  const { client } = useConnection();
  const { data } = useQuery({ queryKey: ["approvals"], queryFn: ({ signal }) => client.call("listApprovals", { signal }) });
  const [before] = useState(() => new Set(data?.approvals.map(({ id }) => id)));
  const approval = data?.approvals.find((one) => one.toolName === toolName && !before.has(one.id));
  if (approval === undefined) return "Running…";
  return (
    <>
      Waits for approval. <Link href={approvalPath(approval.callId)}>Decide</Link>
    </>
  );
}
