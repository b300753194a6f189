/** One session: its calls over time, and the chosen call in a panel. */
import { useMemo, useState, type ReactNode } from "react";
import { Link } from "wouter";
import { CallPanel } from "../call/call-panel.tsx";
import { OwnerLink } from "../processes/owner-link.tsx";
import { useSessionLog, type FollowedLog } from "../server/use-session-log.ts";
import { diffPath, lastSessionsPath, replayPath, useQueryValue, useGo } from "../show/address.ts";
import { UntrustedText } from "../show/untrusted-text.tsx";
import { showHiddenCharacters } from "../show/text-pieces.ts";
import { useLogLinks } from "../show/log-links.ts";
import { useScreenActions } from "../show/screen-actions.ts";
import { Badge, Icon, Loading, Notice, SearchField } from "../show/basic-components.tsx";
import { formatCount, formatPlural, formatDuration } from "../show/format.ts";
import { useTitle } from "../show/use-title.ts";
import { useNow } from "../server/use-now.ts";
import { FULL_ZOOM } from "./zoom-keys.ts";
import { callName, type CallEntry } from "./call-entry.ts";
import { Legend } from "./legend.tsx";
import { Minimap } from "./minimap.tsx";
import { SaveMenu } from "./save-menu.tsx";
import type { Zoom } from "./row-props.ts";
import type { Row } from "./row-tree.ts";
import type { TimeAxis } from "./time-axis.ts";
import { TimelineGrid } from "./timeline-grid.tsx";

export function TimelineScreen({ sessionId, callId }: { readonly sessionId: string; readonly callId: string | undefined }): ReactNode {
  const followed = useSessionLog(sessionId);
  const [words, setWords] = useQueryValue("q");
  const [follow, setFollow] = useQueryValue("follow");
  const { log, failure, isReady } = followed;
  const { title } = log;
  useTitle([...(title === "" ? [] : [showHiddenCharacters(title, 60)]), showHiddenCharacters(sessionId, 60), "Haft"].join(" · "));
  useScreenActions([
    { name: follow === "yes" ? "Stop following this session" : "Follow this session", run: () => setFollow(follow === "yes" ? "" : "yes") },
  ]);
  return (
    <div className={callId === undefined ? "timeline-screen" : "timeline-screen with-panel"}>
      <div className="timeline-main">
        <header className="screen-head">
          <Link href={lastSessionsPath()} className="button button-icon" aria-label="All sessions">
            <Icon name="back" />
          </Link>
          <h1>
            <UntrustedText text={sessionId} maxLength={80} />
            {title !== "" && (
              <span className="session-title">
                <UntrustedText text={title} maxLength={120} />
              </span>
            )}
          </h1>
          <CallCounts followed={followed} />
          <OwnerLink sessionId={sessionId} />
          <SearchField label="Filter calls" value={words} onChange={setWords} />
          <button type="button" className="button" aria-pressed={follow === "yes"} onClick={() => setFollow(follow === "yes" ? "" : "yes")}>
            Follow
          </button>
          <Link href={replayPath(sessionId)} className="button">
            Replay
          </Link>
          <Link href={diffPath(sessionId)} className="button">
            Compare
          </Link>
          <SaveMenu sessionId={sessionId} log={log} />
        </header>
        {failure !== undefined && (
          <Notice isFailure title={failure.isGone ? "There is no such session." : "The session could not be read."}>
            <p>{failure.text}</p>
            <p>
              <Link href="/sessions">All sessions</Link>
            </p>
          </Notice>
        )}
        {!isReady && log.entries().length === 0 && <Loading />}
        {isReady && failure === undefined && log.entries().length === 0 && (
          <Notice title="No calls yet.">Calls appear here as they begin.</Notice>
        )}
        {log.entries().length > 0 && (
          <Timeline
            sessionId={sessionId}
            followed={followed}
            callId={callId}
            words={words}
            isFollowing={follow === "yes"}
            onFollow={setFollow}
          />
        )}
      </div>
      {callId !== undefined && isReady && <CallPanel sessionId={sessionId} callId={callId} log={log} version={followed.version} />}
    </div>
  );
}

export function CallCounts({ followed: { log } }: { readonly followed: FollowedLog }): ReactNode {
  return (
    <span className="badges">
      {log.running > 0 && (
        <Badge tone="busy">
          {formatCount(log.running)} {log.endAt === undefined ? "running" : "not ended"}
        </Badge>
      )}
      <span className="muted nowrap">{formatPlural(log.calls.size, "call")}</span>
      {log.failed > 0 && <Badge tone="bad">{formatCount(log.failed)} failed</Badge>}
    </span>
  );
}

interface TimelineProps {
  readonly sessionId: string;
  readonly followed: FollowedLog;
  readonly callId: string | undefined;
  readonly words: string;
  readonly isFollowing: boolean;
  readonly onFollow: (value: string) => void;
}

export function Timeline({ sessionId, followed: { log, version }, callId, words, isFollowing, onFollow }: TimelineProps): ReactNode {
  const go = useGo();
  const { pathTo } = useLogLinks(sessionId);
  const clock = useRunningNow(log.endAt === undefined && log.running > 0, log.calls.size);
  const now = log.endAt ?? clock;
  const [zoom, setZoom] = useState<Zoom>(FULL_ZOOM);
  // The log is the same object at each rendering; its version tells whether it changed.
  const axis = useMemo(() => log.axis(now), [log, version, now]);
  const rows = useMemo(() => filterRows(words, log.rows()), [log, version, words]);
  const open = (id: string, replace: boolean): void => go(pathTo(id), { replace, keepQuery: true });
  return (
    <>
      <Minimap log={log} axis={axis} version={version} zoom={zoom} onZoom={setZoom} />
      <TimeScale axis={axis} zoom={zoom} isTimeless={log.isTimeless} />
      <TimelineGrid
        rows={rows}
        version={version}
        axis={axis}
        now={now}
        zoom={zoom}
        log={log}
        callId={callId}
        isFollowing={isFollowing}
        onOpen={(id) => open(id, callId !== undefined)}
        onZoom={setZoom}
        onFollow={() => onFollow(isFollowing ? "" : "yes")}
        linkTo={(id) => pathTo(id) + window.location.search}
      />
      {rows.length === 0 && <Notice title="No calls match the filter.">Names, states, error codes and origins are searched.</Notice>}
      <Legend />
    </>
  );
}

/** The length of the visible part, and where pauses were folded. */
function TimeScale({ axis, zoom, isTimeless }: { readonly axis: TimeAxis; readonly zoom: Zoom; readonly isTimeless: boolean }): ReactNode {
  const leftOf = (at: number): string => `${((at - zoom.start) / (zoom.end - zoom.start)) * 100}%`;
  const rightOf = (at: number): string => `${100 - ((at - zoom.start) / (zoom.end - zoom.start)) * 100}%`;
  const folds = axis.pieces.filter(({ folded, start, end }) => folded && end > zoom.start && start < zoom.end);
  return (
    <div className="scale" aria-hidden="true">
      <span className="scale-name">Call</span>
      <div className="scale-track">
        <span className="scale-start">{isTimeless ? "The file has no times: turns are shown in order" : "0"}</span>
        {folds.slice(0, 30).map(({ from, to, start, end }) => (
          <span
            key={from}
            className="fold-name"
            style={start > 0.5 ? { right: rightOf(end) } : { left: leftOf(start) }}
            title={`For ${formatDuration(to - from)} no call began or ended`}
          >
            ⋯ {formatDuration(to - from)} ⋯
          </span>
        ))}
        {!isTimeless && folds.every(({ end }) => end < 0.75) && <span className="scale-end">{formatDuration(unfoldedMs(axis))}</span>}
      </div>
      <span className="scale-time">{isTimeless ? "" : "Time"}</span>
    </div>
  );
}

/** Returns the length of the axis without folded stretches. */
function unfoldedMs({ pieces }: TimeAxis): number {
  return pieces.reduce((sum, { from, to, folded }) => sum + (folded ? 0 : to - from), 0);
}

function filterRows(words: string, rows: readonly Row[]): readonly Row[] {
  if (words.trim() === "") return rows;
  const wanted = words.toLowerCase().trim().split(/\s+/u);
  return rows.filter(({ entry }) => {
    const text = (entry.kind === "message" ? `${entry.role} ${entry.text}` : searchableText(entry)).toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}

function searchableText(entry: CallEntry): string {
  const { id, result, undone = "" } = entry;
  return `${callName(entry)} ${result?.status ?? "running"} ${result?.error?.code ?? ""} ${result?.origin ?? ""} ${id} ${undone}`;
}

const EVERY_MS = 120;
const REDUCED_MOTION_MS = 1_000;
/** Number of calls above which each rendering takes a noticeable time. */
const MANY_CALLS = 20_000;

/** Returns the time while something runs. It is updated less often for many calls, and for readers who prefer reduced motion. */
function useRunningNow(isRunning: boolean, calls: number): number {
  const prefersReducedMotion = matchMedia("(prefers-reduced-motion: reduce)").matches;
  return useNow(isRunning ? (prefersReducedMotion || calls > MANY_CALLS ? REDUCED_MOTION_MS : EVERY_MS) : undefined);
}
