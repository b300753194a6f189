/** The changes that a call would make, found by simulating it. */
import type { ReactNode } from "react";
import type { AnswerOf } from "../../client/client.ts";
import { JsonLine, UntrustedText, JsonBlock, TextBlock, ToolName } from "../show/untrusted-text.tsx";
import { Badge } from "../show/basic-components.tsx";

type Preview = AnswerOf<"previewApproval">;
type JsonChange = NonNullable<Preview["state"]>[number];

export function PreviewView({ preview }: { readonly preview: Preview }): ReactNode {
  const { available, reason = "", state = [], calls = [], writes = [], answer = "", isCut } = preview;
  if (!available)
    return (
      <p className="muted prose">
        Not known: <UntrustedText text={reason} maxLength={1_000} />
      </p>
    );
  return (
    <div className="preview">
      {state.length + calls.length + writes.length === 0 && answer === "" && <p className="muted">Nothing.</p>}
      {writes.length > 0 && (
        <ul className="lines">
          {writes.slice(0, 200).map((key, index) => (
            <li key={index}>
              <Badge tone="warn">writes</Badge>
              <code className="wrap">
                <UntrustedText text={key} />
              </code>
            </li>
          ))}
        </ul>
      )}
      {state.slice(0, 100).map((change, index) => (
        <StateChange key={index} change={change} />
      ))}
      {calls.length > 0 && (
        <ul className="lines">
          {calls.slice(0, 200).map(({ toolName, input, outcome }, index) => (
            <li key={index}>
              <ToolName name={String(toolName)} />
              <span className="mono">
                <JsonLine text={JSON.stringify(input)} maxLength={160} />
              </span>
              <Badge tone={outcome === "ok" ? "good" : "bad"}>{String(outcome)}</Badge>
            </li>
          ))}
        </ul>
      )}
      {answer !== "" && <TextBlock text={answer} label="The answer it would have" />}
      {isCut === true && <p className="muted">Parts were left out: it is too long.</p>}
    </div>
  );
}

/** One value before and after. */
function StateChange({ change: { toolset, key, before, after } }: { readonly change: JsonChange }): ReactNode {
  return (
    <div className="change">
      <p className="change-name">
        <code>
          <UntrustedText text={`${String(toolset)} · ${String(key)}`} />
        </code>
      </p>
      <div className="change-sides">
        <div className="change-before">
          <span className="change-side">before</span>
          <JsonBlock value={before ?? null} label="Before" />
        </div>
        <div className="change-after">
          <span className="change-side">after</span>
          <JsonBlock value={after ?? null} label="After" />
        </div>
      </div>
    </div>
  );
}
