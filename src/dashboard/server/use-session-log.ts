/** Follows a session's events into a log, and draws at most once a frame. */
import { useEffect, useState } from "react";
import { SessionLog } from "../timeline/session-log.ts";
import { drawingPauseMs } from "../show/drawing-pace.ts";
import { failureOf } from "./connection.ts";
import { useConnection } from "./use-server.ts";

export interface FollowedLog {
  readonly log: SessionLog;
  /** Grows with each drawing. */
  readonly version: number;
  /** The events that were there when the page was opened have come. */
  readonly isReady: boolean;
  readonly failure: { readonly text: string; readonly isGone: boolean } | undefined;
}

/** How long nothing comes before the first part counts as whole. */
const QUIET_MS = 150;

export function useSessionLog(sessionId: string): FollowedLog {
  const { client } = useConnection();
  const [state, setState] = useState<FollowedLog>(() => emptyLog());
  useEffect(() => {
    const stop = new AbortController();
    const log = new SessionLog();
    let frame: number | undefined;
    let paused: ReturnType<typeof setTimeout> | undefined;
    let quiet: ReturnType<typeof setTimeout> | undefined;
    const draw = (change: Partial<FollowedLog> = {}): void => {
      frame = undefined;
      if (!stop.signal.aborted) setState((last) => ({ ...last, log, version: log.version, ...change }));
    };
    const drawSoon = (): void => {
      if (frame !== undefined || paused !== undefined) return;
      const pauseMs = drawingPauseMs(log.entries().length);
      if (pauseMs === 0) frame = requestAnimationFrame(() => draw());
      else
        paused = setTimeout(() => {
          paused = undefined;
          draw();
        }, pauseMs);
    };
    const settle = (): void => draw({ isReady: true });
    const follow = async (): Promise<void> => {
      await client.call("getSession", { params: { sessionId }, signal: stop.signal });
      quiet = setTimeout(settle, QUIET_MS);
      for await (const { event } of client.follow(sessionId, { live: true, signal: stop.signal })) {
        log.add(event);
        if (quiet !== undefined) clearTimeout(quiet);
        quiet = setTimeout(settle, QUIET_MS);
        drawSoon();
      }
    };
    setState({ ...emptyLog(), log });
    follow().catch((thrown: unknown) => {
      if (!stop.signal.aborted) draw({ failure: failureOf(thrown), isReady: true });
    });
    return () => {
      stop.abort();
      if (frame !== undefined) cancelAnimationFrame(frame);
      if (quiet !== undefined) clearTimeout(quiet);
      if (paused !== undefined) clearTimeout(paused);
    };
  }, [client, sessionId]);
  return state;
}

function emptyLog(): FollowedLog {
  return { log: new SessionLog(), version: 0, isReady: false, failure: undefined };
}
