/** Follows a session's events, folds them into a log for a screen, and renders at most once a frame, large logs less often. */
import { useEffect, useState } from "react";
import { ApiError, type HaftClient, type ReceivedEvent } from "../../client/client.ts";
import { drawingPauseMs } from "../show/drawing-pace.ts";
import { nextTask, SLICE_MS } from "../show/next-task.ts";
import { failureOf } from "./failure-of.ts";
import type { LogEvent } from "./log-event.ts";
import { useConnection } from "./use-server.ts";

interface Foldable {
  /** Grows with each event. */
  readonly version: number;
  add(event: LogEvent): void;
}

export interface Followed<Log> {
  readonly log: Log;
  /** Grows with each rendering. */
  readonly version: number;
  /** Whether the events that existed when the page was opened were received. */
  readonly isReady: boolean;
  readonly failure: { readonly text: string; readonly isGone: boolean } | undefined;
}

/** How long no event must come, in milliseconds, before the existing events count as received. */
const QUIET_MS = 150;

/** Follows a session. @param makeLog the same function at each rendering */
export function useFoldedLog<Log extends Foldable>(sessionId: string, makeLog: () => Log): Followed<Log> {
  const { client } = useConnection();
  const [state, setState] = useState<Followed<Log>>(() => emptyLog(makeLog()));
  useEffect(() => {
    const stop = new AbortController();
    const log = makeLog();
    let frame: number | undefined;
    let paused: ReturnType<typeof setTimeout> | undefined;
    let quiet: ReturnType<typeof setTimeout> | undefined;
    const draw = (change: Partial<Followed<Log>> = {}): void => {
      frame = undefined;
      if (!stop.signal.aborted) setState((last) => ({ ...last, log, version: log.version, ...change }));
    };
    const drawSoon = (): void => {
      if (frame !== undefined || paused !== undefined) return;
      const pauseMs = drawingPauseMs(log.version);
      if (pauseMs === 0) frame = requestAnimationFrame(() => draw());
      else
        paused = setTimeout(() => {
          paused = undefined;
          draw();
        }, pauseMs);
    };
    const settle = (): void => draw({ isReady: true });
    const follow = async (): Promise<void> => {
      await untilSeen(stop.signal);
      await untilAnswered(() => client.call("getSession", { params: { sessionId }, signal: stop.signal }), stop.signal);
      quiet = setTimeout(settle, QUIET_MS);
      let sliceAt = performance.now();
      for await (const { event } of followWhileSeen(client, sessionId, stop.signal)) {
        log.add(event);
        drawSoon();
        if (performance.now() - sliceAt < SLICE_MS) continue;
        clearTimeout(quiet);
        quiet = setTimeout(settle, QUIET_MS);
        await nextTask(); // otherwise events that were received already are read in a single task
        sliceAt = performance.now();
      }
    };
    setState(emptyLog(log));
    follow().catch((thrown: unknown) => {
      if (!stop.signal.aborted) draw({ failure: failureOf(thrown), isReady: true });
    });
    return () => {
      stop.abort();
      if (frame !== undefined) cancelAnimationFrame(frame);
      if (quiet !== undefined) clearTimeout(quiet);
      if (paused !== undefined) clearTimeout(paused);
    };
  }, [client, sessionId, makeLog]);
  return state;
}

/** How long a stream is kept while the page is hidden, in milliseconds: the reader may look at another page only for a moment. */
const UNSEEN_MS = 2_000;

/**
 * Follows a session while the page is visible, and continues after a pause where it stopped. Browsers open at most six connections to a server for
 * all tabs
 * together, and more pages than that may be open.
 */
async function* followWhileSeen(
  client: HaftClient,
  sessionId: string,
  signal: AbortSignal,
): AsyncGenerator<ReceivedEvent, void, undefined> {
  for (let after = 0; !signal.aborted; await untilSeen(signal)) {
    const unseen = whenUnseen(signal);
    for await (const received of client.follow(sessionId, { after, live: true, signal: unseen })) {
      if (received.position !== undefined) after = received.position;
      yield received;
    }
  }
}

/** Returns a signal that aborts when the page was hidden for `UNSEEN_MS`, and with the given signal. */
function whenUnseen(signal: AbortSignal): AbortSignal {
  const unseen = new AbortController();
  const { signal: either } = unseen;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = (): void => {
    clearTimeout(timer);
    if (document.visibilityState !== "visible") timer = setTimeout(() => unseen.abort(), UNSEEN_MS);
  };
  document.addEventListener("visibilitychange", look, { signal: either });
  signal.addEventListener("abort", () => unseen.abort(), { once: true, signal: either });
  either.addEventListener("abort", () => clearTimeout(timer), { once: true });
  look();
  return either;
}

async function untilSeen(signal: AbortSignal): Promise<void> {
  if (document.visibilityState === "visible" || signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = (): void => {
    if (document.visibilityState === "visible") resolve();
  };
  document.addEventListener("visibilitychange", look);
  signal.addEventListener("abort", () => resolve(), { once: true });
  await promise.finally(() => document.removeEventListener("visibilitychange", look));
}

const ASK_AGAIN_MS = 2_000;
/** Statuses of no response, of a gateway, and of a server that is starting or stopping. */
const AWAY: ReadonlySet<number> = new Set([0, 502, 503, 504]);

/** Repeats a request until the server answers. Streams of events do this themselves. */
async function untilAnswered(ask: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
  for (;;)
    try {
      await ask();
      return;
    } catch (thrown: unknown) {
      if (signal.aborted || !(thrown instanceof ApiError) || !AWAY.has(thrown.status)) throw thrown;
      await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
    }
}

function emptyLog<Log>(log: Log): Followed<Log> {
  return { log, version: 0, isReady: false, failure: undefined };
}
