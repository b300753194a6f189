/** The phases of a call in words: each wait with the calls that it was for, each attempt with how it ended. */
import type { ReactNode } from "react";
import { Link } from "wouter";
import { ToolName } from "../show/untrusted-text.tsx";
import { useLogLinks } from "../show/log-links.ts";
import { Section } from "../show/basic-components.tsx";
import { formatDuration } from "../show/format.ts";
import { formatPhase } from "../timeline/bar.tsx";
import { callName, type CallEntry, type Phase } from "../timeline/call-entry.ts";
import type { SessionLog } from "../timeline/session-log.ts";

interface PhaseListProps {
  readonly sessionId: string;
  readonly entry: CallEntry;
  readonly log: SessionLog;
}

export function PhaseList({ sessionId, entry, log }: PhaseListProps): ReactNode {
  if (entry.phases.length === 0) return null;
  const origin = entry.result?.origin ?? "open";
  return (
    <Section title="Time">
      <ol className="phases">
        {entry.phases.slice(0, 200).map((phase, index) => (
          <li key={index}>
            <span className="number muted">+{formatDuration(phase.atMs)}</span>
            <span className={`legend-bar ${barClass(phase, origin)}`} aria-hidden="true" />
            <span>
              {phase.ms === undefined ? formatOpenPhase(phase) : formatPhase(phase, phase.ms)}
              {phase.lateMs !== undefined && `; its handler kept running for ${formatDuration(phase.lateMs)}`}
              <Holders sessionId={sessionId} phase={phase} log={log} />
            </span>
          </li>
        ))}
      </ol>
    </Section>
  );
}

function Holders({ sessionId, phase: { holders = [] }, log }: Omit<PhaseListProps, "entry"> & { readonly phase: Phase }): ReactNode {
  const { pathTo } = useLogLinks(sessionId);
  if (holders.length === 0) return null;
  return (
    <span className="holders">
      {holders.map((id) => {
        const call = log.calls.get(id);
        return call === undefined ? (
          <span key={id} className="muted">
            a call of another session
          </span>
        ) : (
          <Link key={id} href={pathTo(id) + window.location.search}>
            <ToolName name={callName(call)} />
          </Link>
        );
      })}
    </span>
  );
}

function barClass({ phase, error, abandoned }: Phase, origin: string): string {
  if (phase !== "attempt") return `bar-${phase}`;
  return `bar-attempt bar-${origin}${error !== undefined || abandoned === true ? " bar-failed" : ""}`;
}

function formatOpenPhase({ phase }: Phase): string {
  return { approval: "waits for approval", slot: "waits", lock: "waits", backoff: "pauses", attempt: "runs" }[phase];
}
