/** The time of a call as a bar: waits, attempts, pauses between them, handlers that ran on, and output. */
import type { ReactNode } from "react";
import { Link } from "wouter";
import { showHiddenCharacters } from "../show/text-pieces.ts";
import { formatDuration } from "../show/format.ts";
import { callName, type CallEntry, type Phase } from "./call-entry.ts";
import type { RowProps } from "./row-props.ts";

type BarProps = RowProps & { readonly entry: CallEntry };

/** The distance between output marks, in percent. */
const OUTPUT_STEP = 0.75;

interface BarPlace {
  readonly left: number;
  readonly width: number;
}

export function Bar(props: BarProps): ReactNode {
  const { entry, now } = props;
  const endMs = (entry.endedAt ?? now) - entry.at;
  const whole = findPlace(props, 0, endMs);
  if (whole === undefined) return null;
  const origin = entry.result?.origin ?? "open";
  return (
    <>
      <FoldMarks axis={props.axis} zoom={props.zoom} />
      <span className={`bar bar-whole bar-${origin}`} style={toStyle(whole)} />
      {entry.phases.map((phase, index) => (
        <PhaseBar key={index} {...props} phase={phase} endMs={endMs} />
      ))}
      {entry.result === undefined && entry.phases.length === 0 && <span className="bar bar-open-wait" style={toStyle(whole)} />}
      {findOutputPlaces(props).map((left) => (
        <span key={left} className="bar-output" style={{ left: `${left}%` }} />
      ))}
      {entry.result?.status === "error" && <FailureMark {...props} endMs={endMs} />}
      <HolderLink {...props} endMs={endMs} />
    </>
  );
}

/** Returns the places of output marks, each only once. */
function findOutputPlaces(props: BarProps): readonly number[] {
  const places = new Set<number>();
  for (const atMs of props.entry.outputs) {
    const at = findPlace(props, atMs, atMs);
    if (at !== undefined) places.add(Math.round(at.left / OUTPUT_STEP) * OUTPUT_STEP);
  }
  return [...places];
}

function PhaseBar({ phase, endMs, ...props }: BarProps & { readonly phase: Phase; readonly endMs: number }): ReactNode {
  const ms = phase.ms ?? Math.max(0, endMs - phase.atMs);
  const at = findPlace(props, phase.atMs, phase.atMs + ms);
  const lateHandler = phase.lateMs === undefined ? undefined : findPlace(props, phase.atMs + ms, phase.atMs + ms + phase.lateMs);
  const origin = props.entry.result?.origin ?? "open";
  const failed = phase.error !== undefined || phase.abandoned === true ? " bar-failed" : "";
  const kind = phase.phase === "attempt" ? `bar-attempt bar-${origin}${failed}` : `bar-${phase.phase}`;
  return (
    <>
      {at !== undefined && <span className={`bar ${kind}`} style={toStyle(at)} title={formatPhase(phase, ms)} />}
      {lateHandler !== undefined && (
        <span
          className="bar bar-late"
          style={toStyle(lateHandler)}
          title={`kept running for ${formatDuration(phase.lateMs ?? 0)} after it was abandoned`}
        />
      )}
    </>
  );
}

/** The folded pieces of the axis, which run through all rows. */
function FoldMarks({ axis, zoom }: Pick<RowProps, "axis" | "zoom">): ReactNode {
  const width = zoom.end - zoom.start;
  return axis.pieces
    .filter(({ folded, start, end }) => folded && end > zoom.start && start < zoom.end)
    .slice(0, 30)
    .map(({ from, start, end }) => (
      <span
        key={from}
        className="fold"
        style={{ left: `${((start - zoom.start) / width) * 100}%`, width: `${((end - start) / width) * 100}%` }}
      />
    ));
}

/** A link to the call that this call waits for, or waited for longest, next to the bar. */
function HolderLink(props: BarProps & { readonly endMs: number }): ReactNode {
  const { entry, log, linkTo, endMs } = props;
  const wait = entry.phases.filter(({ holders }) => (holders?.length ?? 0) > 0).sort((one, other) => (other.ms ?? 0) - (one.ms ?? 0))[0];
  const holder = log.calls.get(wait?.holders?.[0] ?? "");
  const end = findPlace(props, endMs, endMs);
  if (wait === undefined || holder === undefined || end === undefined) return null;
  const more = (wait.holders?.length ?? 1) - 1;
  const start = findPlace(props, 0, endMs)?.left ?? 0;
  // On the side with more room.
  const side = start > 100 - end.left ? { right: `calc(${100 - start}% + 6px)` } : { left: `calc(${end.left}% + 6px)` };
  return (
    <Link href={linkTo(holder.id)} className="holder" style={side} tabIndex={-1} onClick={(event) => event.stopPropagation()}>
      waited {formatDuration(wait.ms ?? 0)} for {showHiddenCharacters(callName(holder), 40)}
      {more > 0 ? ` and ${more} more` : ""}
    </Link>
  );
}

function FailureMark({ endMs, ...props }: BarProps & { readonly endMs: number }): ReactNode {
  const at = findPlace(props, endMs, endMs);
  return at === undefined ? null : <span className="bar-end-failed" style={{ left: `${at.left}%` }} />;
}

export function formatPhase(phase: Phase, ms: number): string {
  switch (phase.phase) {
    case "approval":
      return `waited ${formatDuration(ms)} for approval`;
    case "slot":
      return `waited ${formatDuration(ms)} until fewer calls ran`;
    case "lock":
      return `waited ${formatDuration(ms)} for resources that other calls held`;
    case "backoff":
      return `paused ${formatDuration(ms)} before the next attempt`;
    case "attempt":
      return `attempt of ${formatDuration(ms)}${phase.error === undefined ? "" : `, failed: ${phase.error}`}${phase.abandoned === true ? ", abandoned" : ""}`;
  }
}

/** Returns a place in percent of the visible part; undefined if it is outside. */
function findPlace({ entry, axis, zoom }: BarProps, fromMs: number, toMs: number): BarPlace | undefined {
  const width = zoom.end - zoom.start;
  const start = (axis.at(entry.at + fromMs) - zoom.start) / width;
  const end = (axis.at(entry.at + toMs) - zoom.start) / width;
  if (end < 0 || start > 1) return undefined;
  const left = Math.max(0, start) * 100;
  return { left, width: Math.min(100, end * 100) - left };
}

function toStyle({ left, width }: BarPlace): { readonly left: string; readonly width: string } {
  return { left: `${left}%`, width: `${width}%` };
}
