/** The details of one call: its input, its phases, its waits and its result. */
import { useEffect, useRef, type ReactNode } from "react";
import { Link } from "wouter";
import { useConnection, useConnectionState, useHasScope } from "../server/use-connection.ts";
import { approvalPath, jobPath, replayPath, toolPath, useGo } from "../show/address.ts";
import { UntrustedText, JsonBlock, ToolName } from "../show/untrusted-text.tsx";
import { useLogLinks } from "../show/log-links.ts";
import { Panel } from "../show/panel.tsx";
import { Badge, CopyButton, Fact, Notice, Section } from "../show/basic-components.tsx";
import { formatFullTime, formatDuration } from "../show/format.ts";
import { callName, callState, type CallEntry } from "../timeline/call-entry.ts";
import { ORIGIN_LABELS, describeCallState } from "../timeline/call-labels.ts";
import type { SessionLog } from "../timeline/session-log.ts";
import { CancelAction } from "../server/cancel-action.tsx";
import { toCurl, toTestCode, toTypeScript } from "./copy-as.ts";
import { PhaseList } from "./phase-list.tsx";
import { ResultSection } from "./result-section.tsx";

interface PanelProps {
  readonly sessionId: string;
  readonly callId: string;
  readonly log: SessionLog;
  /** Changes whenever the log changes, which it does in place. */
  readonly version: number;
}

export function CallPanel({ sessionId, callId, log }: PanelProps): ReactNode {
  const go = useGo();
  const { pathTo } = useLogLinks(sessionId);
  const frame = useRef<HTMLElement>(null);
  const entry = log.calls.get(callId);
  const close = (): void => go(pathTo(), { keepQuery: true });
  useEffect(() => {
    frame.current?.scrollTo({ top: 0 }); // in braces, as browsers may return a promise, which React would call as a cleanup
  }, [callId]);
  return (
    <Panel
      ref={frame}
      label="Call"
      subject="call"
      title={entry === undefined ? "Call" : <ToolName name={callName(entry)} />}
      onClose={close}
    >
      {entry === undefined ? (
        <Notice isFailure title="This session has no such call.">
          <UntrustedText text={callId} maxLength={120} />
        </Notice>
      ) : (
        <CallDetails key={callId} sessionId={sessionId} entry={entry} log={log} />
      )}
    </Panel>
  );
}

interface DetailsProps {
  readonly sessionId: string;
  readonly entry: CallEntry;
  readonly log: SessionLog;
}

function CallDetails({ sessionId, entry, log }: DetailsProps): ReactNode {
  const { result, call } = entry;
  const { isFile } = useLogLinks(sessionId);
  const { key, keepsScreens } = useConnectionState();
  const isUnserved = key === undefined && !keepsScreens; // there is no server to repeat the call on
  const ran = entry.input;
  const isChanged = ran !== undefined && JSON.stringify(ran) !== JSON.stringify(call.input);
  return (
    <>
      <Summary sessionId={sessionId} entry={entry} log={log} />
      {result?.error !== undefined && <ErrorSection error={result.error} />}
      <Section title={isChanged ? "Input as it was sent" : "Input"}>
        <JsonBlock value={call.input ?? null} label="Input as it was sent" />
      </Section>
      {result !== undefined && result.repairs.length > 0 && (
        <Section title="Repairs">
          <ul className="lines">
            {result.repairs.slice(0, 100).map(({ path, kind, note }, index) => (
              <li key={index}>
                <code>
                  <UntrustedText text={path} />
                </code>
                <Badge tone="warn">{kind.replaceAll("-", " ")}</Badge>
                <UntrustedText text={note} maxLength={400} />
              </li>
            ))}
          </ul>
        </Section>
      )}
      {isChanged && (
        <Section title="Input that ran">
          <JsonBlock value={ran} label="Input that ran" />
        </Section>
      )}
      {call.reasoning !== undefined && (
        <Section title="The model's reason">
          <p className="prose">
            <UntrustedText text={call.reasoning} maxLength={4_000} />
          </p>
        </Section>
      )}
      {!log.isTimeless && <PhaseList sessionId={sessionId} entry={entry} log={log} />}
      {result !== undefined && <ResultSection sessionId={isFile ? undefined : sessionId} result={result} />}
      {!isUnserved && <CopySection sessionId={sessionId} entry={entry} />}
    </>
  );
}

function Summary({ sessionId, entry, log }: DetailsProps): ReactNode {
  const { result } = entry;
  const may = useHasScope();
  const { isFile } = useLogLinks(sessionId);
  const { tone, text } = describeCallState(entry);
  return (
    <>
      <div className="panel-state">
        <Badge tone={tone}>{text}</Badge>
        {result !== undefined && (
          <span className="nowrap">
            <span className={`origin origin-${result.origin}`} aria-hidden="true">
              {ORIGIN_LABELS[result.origin].mark}
            </span>{" "}
            {result.origin}
          </span>
        )}
        {entry.progress !== undefined && result === undefined && (
          <span className="muted">
            <UntrustedText text={entry.progress} />
          </span>
        )}
        {!isFile && callState(entry) === "approval" && <Link href={approvalPath(entry.id)}>Decide</Link>}
        {!isFile && result === undefined && may("execute") && <CancelButton callId={entry.id} />}
        {!isFile && entry.parentId === undefined && may("execute") && (
          <Link className="button" href={replayPath(sessionId, entry.id)}>
            Fork and replay
          </Link>
        )}
      </div>
      <CallFacts sessionId={sessionId} entry={entry} log={log} />
    </>
  );
}

function CallFacts({ sessionId, entry, log }: DetailsProps): ReactNode {
  const { result } = entry;
  const { isFile, pathTo } = useLogLinks(sessionId);
  const parent = entry.parentId === undefined ? undefined : log.calls.get(entry.parentId);
  return (
    <dl className="facts">
      {!log.isTimeless && (
        <Fact name="Began">
          <time dateTime={new Date(entry.at).toISOString()}>{formatFullTime(entry.at)}</time>
        </Fact>
      )}
      {result !== undefined && !log.isTimeless && (
        <Fact name="Took">
          {formatDuration(result.durationMs)}, {result.attempts === 1 ? "1 attempt" : `${result.attempts} attempts`}
        </Fact>
      )}
      {result?.answeredBy !== undefined && (
        <Fact name="Answered by">
          <UntrustedText text={result.answeredBy} />
        </Fact>
      )}
      {result?.fault !== undefined && (
        <Fact name="Injected fault">
          <UntrustedText text={result.fault} />
        </Fact>
      )}
      {entry.principal !== undefined && (
        <Fact name="For">
          <UntrustedText text={entry.principal} />
        </Fact>
      )}
      {parent !== undefined && (
        <Fact name="Made in">
          <Link href={pathTo(parent.id)}>
            <ToolName name={callName(parent)} />
          </Link>
        </Fact>
      )}
      {entry.job !== undefined && <Fact name="Job">{isFile ? entry.job : <Link href={jobPath(entry.id)}>{entry.job}</Link>}</Fact>}
      {entry.approval !== undefined && (
        <Fact name="Approval">
          {entry.approval.status ?? "open"}
          {entry.approval.by === undefined ? null : (
            <>
              {" by "}
              <UntrustedText text={entry.approval.by} />
            </>
          )}
        </Fact>
      )}
      {entry.idempotencyKey !== undefined && (
        <Fact name="Idempotency key">
          <code className="wrap">
            <UntrustedText text={entry.idempotencyKey} />
          </code>
        </Fact>
      )}
      {result?.error !== undefined && <Fact name="Effect">{formatOutcome(result.error.outcome, entry.lateOutcome)}</Fact>}
      {!isFile && (
        <Fact name="Tool">
          <Link href={toolPath(callName(entry))}>Try it</Link>
        </Fact>
      )}
      <Fact name="Id">
        <code className="wrap">
          <UntrustedText text={entry.id} />
        </code>
      </Fact>
    </dl>
  );
}

function formatOutcome(outcome: string, later: string | undefined): string {
  if (later !== undefined) return "it happened after all";
  if (outcome === "not_started") return "nothing was started";
  return outcome === "failed" ? "it did not happen" : "not known";
}

function ErrorSection({ error }: { readonly error: NonNullable<NonNullable<CallEntry["result"]>["error"]> }): ReactNode {
  return (
    <section className="section failure">
      <p className="prose">
        <UntrustedText text={error.message} maxLength={4_096} />
      </p>
      {error.details !== undefined && (
        <ul className="lines">
          {error.details.map((line, index) => (
            <li key={index}>
              <UntrustedText text={line} maxLength={1_000} />
            </li>
          ))}
        </ul>
      )}
      {error.hint !== undefined && (
        <p className="muted">
          <UntrustedText text={error.hint} maxLength={2_000} />
        </p>
      )}
      {error.operatorHint !== undefined && (
        <p className="muted">
          For the operator: <UntrustedText text={error.operatorHint} maxLength={2_000} />
        </p>
      )}
    </section>
  );
}

function CopySection({ sessionId, entry }: { readonly sessionId: string; readonly entry: CallEntry }): ReactNode {
  const { url } = useConnection();
  const call = { url, sessionId, name: callName(entry), input: entry.input ?? entry.call.input ?? {} };
  return (
    <Section title="Call it again">
      <div className="button-row">
        <CopyButton label="Copy as curl" text={() => toCurl(call)} />
        <CopyButton label="Copy as TypeScript" text={() => toTypeScript(call)} />
        <CopyButton label="Copy as test" text={() => toTestCode(call, entry.result)} />
      </div>
    </Section>
  );
}

function CancelButton({ callId }: { readonly callId: string }): ReactNode {
  const { client } = useConnection();
  return (
    <CancelAction
      text="Cancel the call"
      cancel={() => client.call("cancelCall", { params: { callId }, body: { reason: "cancelled in the dashboard" } })}
      after={({ cancelled }) => !cancelled && <span className="muted">It is no longer running in this process.</span>}
    />
  );
}
