/** The calls that will be made again, each with a form for its arguments. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState, type ReactNode } from "react";
import { useConnection } from "../server/use-connection.ts";
import { InlineFailure } from "../server/inline-failure.tsx";
import { JsonBlock, JsonLine, ToolName } from "../show/untrusted-text.tsx";
import { Badge, Loading } from "../show/basic-components.tsx";
import { formatPlural } from "../show/format.ts";
import { NO_UNREADABLE_PATHS, InputForm } from "../tools/input-form.tsx";
import { isSchema } from "../tools/field-shape.ts";
import { isUnchanged, type PlannedCall } from "./run-replay.ts";

const SHOWN = 200;

interface StepListProps {
  readonly planned: readonly PlannedCall[];
  /** Ids of the calls that are left out. */
  readonly skipped: ReadonlySet<string>;
  readonly onSkip: (skipped: ReadonlySet<string>) => void;
  readonly mayEdit: boolean;
  readonly onEdit: (callId: string, input: unknown) => void;
  readonly onUnreadable: (isUnreadable: boolean) => void;
}

export function StepList({ planned, ...props }: StepListProps): ReactNode {
  const [open, setOpen] = useState(planned[0]?.step.callId);
  return (
    <>
      <ol className="steps">
        {planned.slice(0, SHOWN).map((call, index) => (
          <StepItem
            key={call.step.callId}
            {...props}
            call={call}
            number={index + 1}
            isOpen={open === call.step.callId}
            onOpen={(isOpen) => setOpen(isOpen ? call.step.callId : undefined)}
          />
        ))}
      </ol>
      {planned.length > SHOWN && <p className="muted">{formatPlural(planned.length - SHOWN, "more call")} are made as they were.</p>}
    </>
  );
}

interface StepItemProps extends Omit<StepListProps, "planned"> {
  readonly call: PlannedCall;
  readonly number: number;
  readonly isOpen: boolean;
  readonly onOpen: (isOpen: boolean) => void;
}

function StepItem({ call, number, skipped, onSkip, mayEdit, isOpen, onOpen, onEdit, onUnreadable }: StepItemProps): ReactNode {
  const { callId, name, result } = call.step;
  const isSkipped = skipped.has(callId);
  return (
    <li className={isSkipped ? "step step-left" : "step"}>
      <div className="step-head">
        {mayEdit && (
          <input
            type="checkbox"
            aria-label={`Make call ${number}`}
            checked={!isSkipped}
            onChange={({ target }) => onSkip(new Set(target.checked ? [...skipped].filter((id) => id !== callId) : [...skipped, callId]))}
          />
        )}
        <ToolName name={name} />
        {!isUnchanged(call) && <Badge tone="busy">edited</Badge>}
        {result !== undefined && (
          <span className="muted">
            was {result.error?.code === undefined ? result.status : String(result.error.code).replaceAll("_", " ")}
          </span>
        )}
        <span className="step-space" />
        {!isUnchanged(call) && (
          <button type="button" className="button button-quiet" onClick={() => onEdit(callId, call.step.input)}>
            As it was
          </button>
        )}
        <button type="button" className="button button-quiet" aria-expanded={isOpen} onClick={() => onOpen(!isOpen)}>
          {mayEdit ? "Edit arguments" : "Arguments"}
        </button>
      </div>
      {!isOpen && (
        <p className="step-input mono">
          <JsonLine text={JSON.stringify(call.input) ?? ""} maxLength={160} />
        </p>
      )}
      {isOpen && !mayEdit && <JsonBlock value={call.input ?? null} label="Arguments" />}
      {isOpen && mayEdit && <StepForm call={call} onEdit={onEdit} onUnreadable={onUnreadable} />}
    </li>
  );
}

function StepForm({ call, onEdit, onUnreadable }: Pick<StepItemProps, "call" | "onEdit" | "onUnreadable">): ReactNode {
  const { client } = useConnection();
  const { callId, name } = call.step;
  const [unreadable, setUnreadable] = useState(NO_UNREADABLE_PATHS);
  const { data, error } = useQuery({
    queryKey: ["tool", name],
    queryFn: ({ signal }) => client.call("getTool", { params: { toolName: name }, signal }),
  });
  useEffect(() => {
    onUnreadable(unreadable.size > 0);
    return () => onUnreadable(false);
  }, [unreadable, onUnreadable]);
  if (error !== null && data === undefined) return <InlineFailure error={error} />;
  if (data === undefined) return <Loading />;
  const schema = isSchema(data.inputSchema) ? data.inputSchema : {};
  return (
    <InputForm
      toolName={name}
      schema={schema}
      value={call.input}
      onChange={(input) => onEdit(callId, input)}
      unreadable={unreadable}
      onUnreadable={setUnreadable}
    />
  );
}
