/** The parts of a conversation: messages, and calls with their answers. */
import { useEffect, useState, type ReactNode } from "react";
import { Link } from "wouter";
import { approvalPath, sessionPath } from "../show/address.ts";
import { Inert, JsonBlock, ToolName } from "../show/inert.tsx";
import { Badge } from "../show/parts.tsx";
import { clockTime, plural, span } from "../show/words.ts";
import { nameOf, stateOf, type CallEntry } from "../timeline/call-entry.ts";
import { ORIGINS, stateWords } from "../timeline/origins.ts";
import type { MessageEntry } from "../timeline/entry.ts";
import type { SessionLog } from "../timeline/session-log.ts";

export function ChatMessage({ entry: { role, text, at, voided } }: { readonly entry: MessageEntry }): ReactNode {
  const side = role === "assistant" ? "chat-agent" : role === "user" ? "chat-user" : "chat-other";
  return (
    <div className={`chat-message ${side}`}>
      <p className="chat-role">
        {role} <span className="number">{clockTime(at)}</span>
        {voided !== undefined && <Badge>voided</Badge>}
      </p>
      {(text !== "" || voided === undefined) && (
        <p className="prose">
          <Inert text={text === "" ? "–" : text} maxLength={20_000} />
        </p>
      )}
      {voided !== undefined && (
        <p className="prose muted">
          <Inert text={voided} maxLength={1_000} />
        </p>
      )}
    </div>
  );
}

/** How long a message may be without new text before it counts as cut off, in milliseconds: the list of agents may lag behind the text. */
const STILL_MS = 3_000;

/** A message that the model is writing, or that was cut off. */
export function ChatWriting({ text, isRunning }: { readonly text: string; readonly isRunning: boolean }): ReactNode {
  const [still, setStill] = useState<string>();
  useEffect(() => {
    if (isRunning) return;
    const timer = setTimeout(() => setStill(text), STILL_MS);
    return () => clearTimeout(timer);
  }, [text, isRunning]);
  return (
    <div className="chat-message" aria-live="off">
      <p className="chat-role">
        assistant
        {still === text && !isRunning && <Badge tone="warn">cut off</Badge>}
      </p>
      <p className="prose">
        <Inert text={text} maxLength={20_000} />
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
  const { tone, text } = stateWords(entry);
  const inner = [...log.calls.values()].filter(({ parentId }) => parentId === entry.id);
  return (
    <div className="chat-call">
      <details>
        <summary>
          {result !== undefined && (
            <span className={`origin origin-${result.origin}`} title={ORIGINS[result.origin].says} aria-hidden="true">
              {ORIGINS[result.origin].mark}
            </span>
          )}
          <ToolName name={nameOf(entry)} />
          <Badge tone={tone}>{text}</Badge>
          {result !== undefined && <span className="muted number">{span(result.durationMs)}</span>}
          {entry.progress !== undefined && result === undefined && (
            <span className="muted">
              <Inert text={entry.progress} maxLength={120} />
            </span>
          )}
        </summary>
        <JsonBlock value={entry.input ?? entry.call.input ?? null} label="Input of the call" />
        {result !== undefined && (
          <JsonBlock value={result.error?.message ?? result.output ?? result.content ?? null} label="Answer of the call" />
        )}
        {inner.length > 0 && <p className="muted">It made {plural(inner.length, "call")} itself.</p>}
      </details>
      <span className="chat-links">
        {stateOf(entry) === "approval" && <Link href={approvalPath(entry.id)}>Decide</Link>}
        <Link href={sessionPath(sessionId, entry.id)}>Open</Link>
      </span>
    </div>
  );
}
