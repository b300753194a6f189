/** One tool: what it is, and a form that tries it, judged by the server as it is written. */
import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";
import { useCallback, useId, useState, type ReactNode } from "react";
import { failureOf } from "../server/connection.ts";
import { useConnection, useMay } from "../server/use-server.ts";
import { useGo } from "../show/address.ts";
import { Inert, JsonBlock, ToolName } from "../show/inert.tsx";
import { Fact, Icon, Loading, Notice, Section } from "../show/parts.tsx";
import { JsonField } from "./json-field.tsx";
import { firstValue, isSchema } from "./schema-shape.ts";
import { SchemaField } from "./schema-field.tsx";
import { usePaused } from "../show/use-paused.ts";
import { Hints, type Tool } from "./tool-hints.tsx";
import { Verdict } from "./verdict.tsx";
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
    <aside className="panel" aria-label="Tool" onKeyDown={({ key }) => key === "Escape" && close()}>
      <div className="panel-head">
        <h2>
          <ToolName name={toolName} />
        </h2>
        <button type="button" className="button button-icon" onClick={close} aria-label="Close the tool">
          <Icon name="close" />
        </button>
      </div>
      {data === undefined && error === null && <Loading />}
      {error !== null && (
        <Notice isFailure title={failureOf(error).isGone ? "There is no such tool." : "The tool could not be read."}>
          <Inert text={failureOf(error).text} maxLength={1_000} />
        </Notice>
      )}
      {data !== undefined && <ToolDetails tool={data} />}
    </aside>
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
          <Inert text={title} />
        </p>
      )}
      <p className="prose muted">
        <Inert text={description} maxLength={4_000} />
      </p>
      <TryForm tool={tool} />
      <details className="details">
        <summary>Schemas</summary>
        <JsonBlock value={inputSchema} label="Schema of the input" />
        {outputSchema !== undefined && <JsonBlock value={outputSchema} label="Schema of the output" />}
      </details>
      <dl className="facts">
        <Fact name="Toolset">
          <Inert text={toolset} />
        </Fact>
        {tags.length > 0 && (
          <Fact name="Tags">
            <Inert text={tags.join(", ")} />
          </Fact>
        )}
      </dl>
    </>
  );
}

const NOTHING: ReadonlySet<string> = new Set();

function TryForm({ tool }: { readonly tool: Tool }): ReactNode {
  const { name, inputSchema } = tool;
  const { client } = useConnection();
  const may = useMay();
  const id = useId();
  const schema = isSchema(inputSchema) ? inputSchema : {};
  const [value, setValue] = useState<unknown>(() => firstValue(schema, schema) ?? {});
  const [unreadable, setUnreadable] = useState(NOTHING);
  const onUnreadable = useCallback((path: string, isBad: boolean) => setUnreadable((last) => withPath(last, path, isBad)), []);
  const judged = usePaused(value);
  const check = useQuery({
    queryKey: ["check", name, judged],
    queryFn: ({ signal }) => client.call("checkTool", { params: { toolName: name }, body: { input: asJson(judged) }, signal }),
    enabled: unreadable.size === 0,
    placeholderData: keepPreviousData,
  });
  const run = useMutation({
    mutationFn: async (isSimulated: boolean) => {
      const body = { calls: [{ name, input: asJson(value) }] };
      const { results } = isSimulated ? await client.call("simulate", { body }) : await client.call("execute", { body });
      return results[0];
    },
  });
  const isBlocked = unreadable.size > 0 || run.isPending;
  return (
    <Section title="Try it">
      <div className="try">
        <div className="try-form">
          <SchemaField
            name="input"
            schema={schema}
            root={schema}
            value={value}
            isRequired
            depth={0}
            path=""
            onChange={setValue}
            onUnreadable={onUnreadable}
          />
        </div>
        <div className="field try-json">
          <label className="field-name" htmlFor={id}>
            JSON
          </label>
          <JsonField id={id} rows={10} value={value} path="#" onChange={(next) => setValue(next ?? {})} onUnreadable={onUnreadable} />
        </div>
      </div>
      <Verdict unreadable={unreadable} check={check.data} failure={check.error} />
      <div className="button-row">
        {may("execute") && (
          <button type="button" className="button button-main" disabled={isBlocked} onClick={() => run.mutate(false)}>
            Run
          </button>
        )}
        {may("simulate") && (
          <button type="button" className="button" disabled={isBlocked} onClick={() => run.mutate(true)}>
            Simulate
          </button>
        )}
        {run.isPending && (
          <span className="muted" role="status">
            Running…
          </span>
        )}
      </div>
      {run.error !== null && (
        <p className="inline-failure" role="alert">
          <Inert text={failureOf(run.error).text} maxLength={2_000} />
        </p>
      )}
      {run.data !== undefined && <TriedResult result={run.data} />}
    </Section>
  );
}

/** A form gives nothing but JSON. */
function asJson(value: unknown): null {
  return (value ?? null) as null;
}

function withPath(last: ReadonlySet<string>, path: string, isBad: boolean): ReadonlySet<string> {
  if (last.has(path) === isBad) return last;
  const next = new Set(last);
  if (isBad) next.add(path);
  else next.delete(path);
  return next;
}
