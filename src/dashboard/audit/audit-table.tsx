/** The entries of the audit as rows, with links to their call or session. */
import type { ReactNode } from "react";
import { Link } from "wouter";
import type { AnswerOf } from "../../client/client.ts";
import { useNow } from "../server/use-now.ts";
import { sessionPath } from "../show/address.ts";
import { UntrustedText, ToolName } from "../show/untrusted-text.tsx";
import { ListTable } from "../show/list-table.tsx";
import { Badge, TimeAgo, type Tone } from "../show/basic-components.tsx";
import { formatCount, formatDuration } from "../show/format.ts";

type Entry = AnswerOf<"listAudit">["entries"][number];

export function AuditTable({ entries }: { readonly entries: readonly Entry[] }): ReactNode {
  const now = useNow(5_000);
  return (
    <ListTable columns={[["Entry"], ["Outcome"], ["Session", "wide-only"], ["Time", "number wide-only"], ["When"]]}>
      {entries.map((entry, index) => (
        <tr key={index}>
          <td className="main-cell">
            <Subject entry={entry} />
            <Details entry={entry} />
          </td>
          <td>
            <Outcome entry={entry} />
          </td>
          <td className="wide-only muted">{"sessionId" in entry && <UntrustedText text={entry.sessionId} maxLength={60} />}</td>
          <td className="number wide-only">
            {entry.type === "call" && entry.durationMs !== undefined && formatDuration(entry.durationMs)}
          </td>
          <td className="muted">
            <TimeAgo at={entry.at} now={now} />
          </td>
        </tr>
      ))}
    </ListTable>
  );
}

/** The tool or the action, linked if it belongs to a session. */
function Subject({ entry }: { readonly entry: Entry }): ReactNode {
  const subject = renderSubject(entry);
  const path = findPath(entry);
  if (path === undefined) return <span className="row-link">{subject}</span>;
  return (
    <Link href={path} className="row-link" data-row="">
      {subject}
    </Link>
  );
}

function renderSubject(entry: Entry): ReactNode {
  switch (entry.type) {
    case "call":
    case "approval-ask":
    case "approval-answer":
      return <ToolName name={entry.toolName} />;
    case "message":
      return "Message";
    case "input":
      return "Input of a job";
    case "key-add":
    case "key-revoke":
      return (
        <>
          Key <UntrustedText text={entry.name} maxLength={80} />
        </>
      );
    case "refusal":
      return <UntrustedText text={`${entry.method} ${entry.path}`} maxLength={160} />;
  }
}

/** Returns the address of the entry's call or session; for a key, the session that it is for. Logs do not have simulated calls. */
function findPath(entry: Entry): string | undefined {
  if (!("sessionId" in entry)) return undefined;
  const isKept = "callId" in entry && !(entry.type === "call" && entry.simulated === true);
  return sessionPath(entry.sessionId, isKept ? entry.callId : undefined);
}

/** The principal and other facts of an entry, on one line. */
function Details({ entry }: { readonly entry: Entry }): ReactNode {
  const facts = [...(entry.principal === undefined ? [] : [entry.principal]), ...listFacts(entry)];
  return facts.length === 0 ? null : (
    <span className="sub-line">
      <UntrustedText text={facts.join(" · ")} maxLength={400} />
    </span>
  );
}

function listFacts(entry: Entry): readonly string[] {
  switch (entry.type) {
    case "call":
      return [
        ...(entry.via === undefined ? [] : [entry.via === "api" ? "over HTTP" : "over MCP"]),
        ...(entry.approvedBy === undefined ? [] : [`approved by ${entry.approvedBy}`]),
        ...(entry.simulated === true ? ["simulated"] : []),
        ...formatMissed(entry.missed),
      ];
    case "approval-answer":
      return [...(entry.scope === undefined ? [] : [entry.scope]), ...(entry.ruleId === undefined ? [] : [`rule ${entry.ruleId}`])];
    case "key-add":
    case "key-revoke":
      return [entry.keyId, entry.scopes.join(" ")];
    case "refusal":
      return [
        ...(entry.toolNames ?? []),
        entry.reason,
        ...(entry.from === undefined ? [] : [`from ${entry.from}`]),
        ...formatMissed(entry.missed),
      ];
    default:
      return [];
  }
}

function formatMissed(missed: number | undefined): readonly string[] {
  return missed === undefined ? [] : [`${formatCount(missed)} earlier entries not kept`];
}

const TONES: Readonly<Record<string, Tone>> = {
  ok: "good",
  allowed: "good",
  partial: "warn",
  asked: "warn",
  error: "bad",
  denied: "bad",
  open: "busy",
};

function Outcome({ entry }: { readonly entry: Entry }): ReactNode {
  if (entry.type === "refusal") return <Badge tone="bad">refused {entry.status}</Badge>;
  const word = findOutcome(entry);
  if (word === undefined) return null;
  const code = entry.type === "call" && entry.errorCode !== word ? entry.errorCode : undefined;
  return (
    <span className="badges">
      <Badge tone={TONES[word] ?? "plain"}>{word}</Badge>
      {code !== undefined && <span className="muted">{code.replaceAll("_", " ")}</span>}
    </span>
  );
}

function findOutcome(entry: Exclude<Entry, { readonly type: "refusal" }>): string | undefined {
  switch (entry.type) {
    case "call":
      return entry.outcome;
    case "approval-ask":
      return "asked";
    case "approval-answer":
      return entry.status;
    case "key-add":
      return "made";
    case "key-revoke":
      return "revoked";
    default:
      return undefined;
  }
}
