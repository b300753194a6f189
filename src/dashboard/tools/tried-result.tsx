/** The result of a call that was tried. */
import type { ReactNode } from "react";
import type { AnswerOf } from "../../client/client.ts";
import { ResultSection } from "../call/result-section.tsx";
import { UntrustedText } from "../show/untrusted-text.tsx";
import { Badge } from "../show/basic-components.tsx";
import { formatDuration } from "../show/format.ts";
import { ORIGIN_LABELS } from "../timeline/call-labels.ts";

export function TriedResult({ result }: { readonly result: AnswerOf<"execute">["results"][number] }): ReactNode {
  const { status, origin, durationMs, error } = result;
  return (
    <div className="tried" aria-live="polite">
      <div className="panel-state">
        <Badge tone={status === "ok" ? "good" : status === "error" ? "bad" : "warn"}>{error?.code.replaceAll("_", " ") ?? status}</Badge>
        <span className="nowrap">
          <span className={`origin origin-${origin}`} aria-hidden="true">
            {ORIGIN_LABELS[origin].mark}
          </span>{" "}
          {origin}
        </span>
        <span className="muted number">{formatDuration(durationMs)}</span>
      </div>
      {error !== undefined && (
        <div className="failure">
          <p className="prose">
            <UntrustedText text={error.message} maxLength={4_096} />
          </p>
          {error.details?.map((line, index) => (
            <p key={index} className="muted">
              <UntrustedText text={line} maxLength={500} />
            </p>
          ))}
        </div>
      )}
      <ResultSection sessionId={undefined} result={result} />
    </div>
  );
}
