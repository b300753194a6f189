/** The result of a call that was tried. */
import type { ReactNode } from "react";
import type { AnswerOf } from "../../client/client.ts";
import { ResultSection } from "../call/result-section.tsx";
import { Inert } from "../show/inert.tsx";
import { Badge } from "../show/parts.tsx";
import { span } from "../show/words.ts";
import { ORIGINS } from "../timeline/origins.ts";

export function TriedResult({ result }: { readonly result: AnswerOf<"execute">["results"][number] }): ReactNode {
  const { status, origin, durationMs, error } = result;
  return (
    <div className="tried" aria-live="polite">
      <div className="panel-state">
        <Badge tone={status === "ok" ? "good" : status === "error" ? "bad" : "warn"}>{error?.code.replaceAll("_", " ") ?? status}</Badge>
        <span className="nowrap">
          <span className={`origin origin-${origin}`} aria-hidden="true">
            {ORIGINS[origin].mark}
          </span>{" "}
          {origin}
        </span>
        <span className="muted number">{span(durationMs)}</span>
      </div>
      {error !== undefined && (
        <div className="failure">
          <p className="prose">
            <Inert text={error.message} maxLength={4_096} />
          </p>
          {error.details?.map((line, index) => (
            <p key={index} className="muted">
              <Inert text={line} maxLength={500} />
            </p>
          ))}
        </div>
      )}
      <ResultSection sessionId={undefined} result={result} />
    </div>
  );
}
