/** The server's check of an input before it is sent: whether it is valid, and what would be repaired. */
import type { ReactNode } from "react";
import type { AnswerOf } from "../../client/client.ts";
import { describeFailure } from "../server/describe-failure.ts";
import { UntrustedText } from "../show/untrusted-text.tsx";
import { Badge } from "../show/basic-components.tsx";

interface InputCheckProps {
  readonly unreadable: ReadonlySet<string>;
  readonly check: AnswerOf<"checkTool"> | undefined;
  readonly failure: Error | null;
}

export function InputCheck({ unreadable, check, failure }: InputCheckProps): ReactNode {
  return (
    <div className="verdict" role="status">
      <InputCheckText unreadable={unreadable} check={check} failure={failure} />
    </div>
  );
}

function InputCheckText({ unreadable, check, failure }: InputCheckProps): ReactNode {
  if (unreadable.size > 0) return <Badge tone="warn">A field cannot be read: nothing is sent until it can.</Badge>;
  if (failure !== null) return <UntrustedText text={describeFailure(failure).text} maxLength={500} />;
  if (check === undefined) return <span className="muted">Checking…</span>;
  return (
    <>
      <Badge tone={check.valid ? (check.warnings.length > 0 ? "warn" : "good") : "bad"}>
        {check.valid ? (check.warnings.length > 0 ? "Fits after repairs" : "Fits the schema") : "Does not fit"}
      </Badge>
      <Lines lines={check.errors} />
      <Lines lines={check.warnings} />
    </>
  );
}

function Lines({ lines }: { readonly lines: readonly string[] }): ReactNode {
  if (lines.length === 0) return null;
  return (
    <ul className="lines">
      {lines.slice(0, 50).map((line, index) => (
        <li key={index}>
          <UntrustedText text={line} maxLength={500} />
        </li>
      ))}
    </ul>
  );
}
