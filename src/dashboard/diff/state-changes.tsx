/** The values of the state that differ, each with its differences. */
import type { ReactNode } from "react";
import type { AnswerOf } from "../../client/client.ts";
import { UntrustedText } from "../show/untrusted-text.tsx";
import { formatPlural } from "../show/format.ts";
import { JsonDiffView } from "./json-diff-view.tsx";

const SHOWN = 100;

export function StateChanges({ state }: { readonly state: AnswerOf<"getDiff">["state"] }): ReactNode {
  if (state.length === 0) return <p className="muted">No value of the state differs.</p>;
  return (
    <>
      {state.slice(0, SHOWN).map(({ toolset, key, before, after }) => (
        <div key={`${toolset} ${key}`} className="change">
          <p className="change-name">
            <code className="wrap">
              <UntrustedText text={`${toolset} · ${key}`} />
            </code>
          </p>
          <JsonDiffView before={before} after={after} label={`Before and after of one value`} />
        </div>
      ))}
      {state.length > SHOWN && <p className="muted">{formatPlural(state.length - SHOWN, "more value")} differ.</p>}
    </>
  );
}
