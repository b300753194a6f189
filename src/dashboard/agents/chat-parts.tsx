/** The parts of a conversation: messages, and calls with their answers. */
import { useEffect, useState, type ReactNode } from "react";
import { Link } from "wouter";
import { approvalPath, sessionPath } from "../show/address.ts";
import { UntrustedText, JsonBlock, ToolName } from "../show/untrusted-text.tsx";
import { Badge } from "../show/basic-components.tsx";
import { formatTime, formatPlural, formatDuration } from "../show/format.ts";
import { callName, callState, type CallEntry } from "../timeline/call-entry.ts";
import { ORIGIN_LABELS, describeCallState } from "../timeline/call-labels.ts";
import type { MessageEntry } from "../timeline/timeline-entry.ts";
import type { SessionLog } from "../timeline/session-log.ts";

export function ChatMessage({ entry: { role, text, at, voided } }: { readonly entry: MessageEntry }): ReactNode {
  const side = role === "assistant" ? "chat-agent" : role === "user" ? "chat-user" : "chat-other";
  return (
    <div className={`chat-message ${side}`}>
      <p className="chat-role">
        {role} <span className="number">{formatTime(at)}</span>
        {voided !== undefined && <Badge>voided</Badge>}
      </p>
      {(text !== "" || voided === undefined) && (
        <p className="prose">
          <UntrustedText text={text === "" ? "–" : text} maxLength={20_000} />
        </p>
      )}
      {voided !== undefined && (
        <p className="prose muted">
          <UntrustedText text={voided} maxLength={1_000} />
        </p>
      )}
    </div>
  );
}

/** How long a message may be without new text before it counts as cut off, in milliseconds: the list of agents may lag behind the text. */
const STALLED_MS = 3_000;

/** A message that the model is writing, or that was cut off. */
export function PartialMessage({ text, isRunning }: { readonly text: string; readonly isRunning: boolean }): ReactNode {
  const [stalledText, setStalledText] = useState<string>();
  useEffect(() => {
    if (isRunning) return;
    const timer = setTimeout(() => setStalledText(text), STALLED_MS);
    return () => clearTimeout(timer);
  }, [text, isRunning]);
  return (
    <div className="chat-message" aria-live="off">
      <p className="chat-role">
        assistant
        {stalledText === text && !isRunning && <Badge tone="warn">cut off</Badge>}
      </p>
      <p className="prose">
        <UntrustedText text={text} maxLength={20_000} />
      </p>
    </div>
  );
}

interface ChatCallProps {
  readonly entry: CallEntry;
  readonly log: SessionLog;
  readonly sessionId: string;
}

export function ChatCall({ entry, log, sessionId }: ChatCallProps): ReactNode {
  const { result } = entry;
  const { tone, text } = describeCallState(entry);
  const inner = [...log.calls.values()].filter(({ parentId }) => parentId === entry.id);
  return (
    <div className="chat-call">
      <details>
        <summary>
          {result !== undefined && (
            <span className={`origin origin-${result.origin}`} title={ORIGIN_LABELS[result.origin].text} aria-hidden="true">
              {ORIGIN_LABELS[result.origin].mark}
            </span>
          )}
          <ToolName name={callName(entry)} />
          <Badge tone={tone}>{text}</Badge>
          {result !== undefined && <span className="muted number">{formatDuration(result.durationMs)}</span>}
          {entry.progress !== undefined && result === undefined && (
            <span className="muted">
              <UntrustedText text={entry.progress} maxLength={120} />
            </span>
          )}
        </summary>
        <JsonBlock value={entry.input ?? entry.call.input ?? null} label="Input of the call" />
        {result !== undefined && (
          <JsonBlock value={result.error?.message ?? result.output ?? result.content ?? null} label="Answer of the call" />
        )}
        {inner.length > 0 && <p className="muted">It made {formatPlural(inner.length, "call")} itself.</p>}
      </details>
      <span className="chat-links">
        {callState(entry) === "approval" && <Link href={approvalPath(entry.id)}>Decide</Link>}
        <Link href={sessionPath(sessionId, entry.id)}>Open</Link>
      </span>
    </div>
  );
}
