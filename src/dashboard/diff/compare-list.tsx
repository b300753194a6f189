/** Calls of two sessions, side by side: whether each is the same, and how it differs. */
import type { ReactNode } from "react";
import { Link } from "wouter";
import { sessionPath } from "../show/address.ts";
import { ToolName } from "../show/untrusted-text.tsx";
import { Badge, type Tone } from "../show/basic-components.tsx";
import { formatPlural, formatDuration } from "../show/format.ts";
import { useListKeys } from "../show/use-list-keys.ts";
import { toComparable, compareCalls, type CallPair, type ComparedCall, type CallComparison } from "./align-calls.ts";
import { isSameJson } from "./json-diff.ts";
import { JsonDiffView } from "./json-diff-view.tsx";

const TONES: Readonly<Record<CallComparison, Tone>> = {
  same: "good",
  changed: "warn",
  "not made": "plain",
  new: "busy",
  "no result": "plain",
};
const SHOWN = 300;

interface CompareListProps {
  readonly pairs: readonly CallPair[];
  /** The names of the two sides. */
  readonly sides: readonly [before: string, after: string];
  /** Whether the calls of the second side are stored, and so can be linked to. */
  readonly linksAfter: boolean;
}

export function CompareList({ pairs, sides, linksAfter }: CompareListProps): ReactNode {
  const keys = useListKeys();
  const counts = Map.groupBy(pairs, compareCalls);
  return (
    <>
      <p className="badges compare-counts" role="status">
        {[...counts].map(([verdict, { length }]) => (
          <Badge key={verdict} tone={TONES[verdict]}>
            {length} {verdict}
          </Badge>
        ))}
      </p>
      <ul className="compare" onKeyDown={keys}>
        {pairs.slice(0, SHOWN).map((pair, index) => (
          <PairItem key={index} pair={pair} sides={sides} linksAfter={linksAfter} />
        ))}
      </ul>
      {pairs.length > SHOWN && <p className="muted">{formatPlural(pairs.length - SHOWN, "more call")} are not shown.</p>}
    </>
  );
}

function PairItem({ pair, sides, linksAfter }: Omit<CompareListProps, "pairs"> & { readonly pair: CallPair }): ReactNode {
  const { before, after } = pair;
  const verdict = compareCalls(pair);
  const isEdited = before !== undefined && after !== undefined && !isSameJson(before.input, after.input);
  return (
    <li>
      <details className="compare-item" open={verdict === "changed" || isEdited}>
        <summary data-row="">
          <ToolName name={(after ?? before)?.name ?? ""} />
          <span className="badges">
            {isEdited && <Badge tone="busy">edited</Badge>}
            <Badge tone={TONES[verdict]}>{verdict}</Badge>
          </span>
          <span className="muted compare-ends">
            <CallOutcome call={before} /> → <CallOutcome call={after} />
          </span>
        </summary>
        <div className="compare-body">
          <div className="compare-heads">
            <CallHeader name={sides[0]} call={before} links />
            <CallHeader name={sides[1]} call={after} links={linksAfter} />
          </div>
          <h4>Input</h4>
          <JsonDiffView before={before?.input} after={after?.input} label="Input of both" />
          <h4>Result</h4>
          <JsonDiffView before={comparableResult(before)} after={comparableResult(after)} label="Result of both" />
        </div>
      </details>
    </li>
  );
}

function comparableResult(call: ComparedCall | undefined): unknown {
  return call?.result === undefined ? undefined : toComparable(call.result);
}

function CallOutcome({ call }: { readonly call: ComparedCall | undefined }): ReactNode {
  if (call === undefined) return "–";
  if (call.result === undefined) return "no result";
  const { status, error, durationMs } = call.result;
  return `${error?.code === undefined ? status : String(error.code).replaceAll("_", " ")}, ${formatDuration(durationMs)}`;
}

function CallHeader({
  name,
  call,
  links,
}: {
  readonly name: string;
  readonly call: ComparedCall | undefined;
  readonly links: boolean;
}): ReactNode {
  return (
    <p className="compare-head">
      <b>{name}</b>
      {call?.result !== undefined && <span className="muted">{call.result.origin}</span>}
      {call !== undefined && links && <Link href={sessionPath(call.sessionId, call.callId)}>Open the call</Link>}
      {call === undefined && <span className="muted">not made</span>}
    </p>
  );
}
