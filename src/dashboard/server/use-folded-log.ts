/** Follows a session's events, folds them into a log for a screen, and renders at most once a frame, large logs less often. */
import { useEffect, useState } from "react";
import { ApiError, type HaftClient, type ReceivedEvent } from "../../client/client.ts";
import { renderPauseMs } from "../show/render-pause.ts";
import { waitForNextTask, SLICE_MS } from "../show/next-task.ts";
import { describeFailure } from "./describe-failure.ts";
import type { LogEvent } from "./log-event.ts";
import { useConnection } from "./use-connection.ts";

interface Foldable {
  /** Grows with each event. */
  readonly version: number;
  add(event: LogEvent): void;
}

export interface FollowedState<Log> {
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
export function useFoldedLog<Log extends Foldable>(sessionId: string, makeLog: () => Log): FollowedState<Log> {
  const { client } = useConnection();
  const [state, setState] = useState<FollowedState<Log>>(() => emptyLog(makeLog()));
  useEffect(() => {
    const stop = new AbortController();
    const log = makeLog();
    let frame: number | undefined;
    let pauseTimer: ReturnType<typeof setTimeout> | undefined;
    let quietTimer: ReturnType<typeof setTimeout> | undefined;
    const render = (change: Partial<FollowedState<Log>> = {}): void => {
      frame = undefined;
      if (!stop.signal.aborted) setState((last) => ({ ...last, log, version: log.version, ...change }));
    };
    const scheduleRender = (): void => {
      if (frame !== undefined || pauseTimer !== undefined) return;
      const pauseMs = renderPauseMs(log.version);
      if (pauseMs === 0) frame = requestAnimationFrame(() => render());
      else
        pauseTimer = setTimeout(() => {
          pauseTimer = undefined;
          render();
        }, pauseMs);
    };
    const markReady = (): void => render({ isReady: true });
    const follow = async (): Promise<void> => {
      await waitUntilVisible(stop.signal);
      await retryUntilAnswered(() => client.call("getSession", { params: { sessionId }, signal: stop.signal }), stop.signal);
      quietTimer = setTimeout(markReady, QUIET_MS);
      let sliceAt = performance.now();
      for await (const { event } of followWhileVisible(client, sessionId, stop.signal)) {
        log.add(event);
        scheduleRender();
        if (performance.now() - sliceAt < SLICE_MS) continue;
        clearTimeout(quietTimer);
        quietTimer = setTimeout(markReady, QUIET_MS);
        await waitForNextTask(); // otherwise events that were received already are read in a single task
        sliceAt = performance.now();
      }
    };
    setState(emptyLog(log));
    follow().catch((thrown: unknown) => {
      if (!stop.signal.aborted) render({ failure: describeFailure(thrown), isReady: true });
    });
    return () => {
      stop.abort();
      if (frame !== undefined) cancelAnimationFrame(frame);
      if (quietTimer !== undefined) clearTimeout(quietTimer);
      if (pauseTimer !== undefined) clearTimeout(pauseTimer);
    };
  }, [client, sessionId, makeLog]);
  return state;
}

/** How long a stream is kept while the page is hidden, in milliseconds: the reader may look at another page only for a moment. */
const HIDDEN_MS = 2_000;

/**
 * Follows a session while the page is visible, and continues after a pause where it stopped. Browsers open at most six connections to a server for
 * all tabs together, and more pages than that may be open.
 */
async function* followWhileVisible(
  client: HaftClient,
  sessionId: string,
  signal: AbortSignal,
): AsyncGenerator<ReceivedEvent, void, undefined> {
  for (let after = 0; !signal.aborted; await waitUntilVisible(signal)) {
    const hidden = abortWhenHidden(signal);
    for await (const received of client.follow(sessionId, { after, live: true, signal: hidden })) {
      if (received.position !== undefined) after = received.position;
      yield received;
    }
  }
}

/** Returns a signal that aborts when the page was hidden for `HIDDEN_MS`, and with the given signal. */
function abortWhenHidden(signal: AbortSignal): AbortSignal {
  const hidden = new AbortController();
  const { signal: either } = hidden;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const onVisibilityChange = (): void => {
    clearTimeout(timer);
    if (document.visibilityState !== "visible") timer = setTimeout(() => hidden.abort(), HIDDEN_MS);
  };
  document.addEventListener("visibilitychange", onVisibilityChange, { signal: either });
  signal.addEventListener("abort", () => hidden.abort(), { once: true, signal: either });
  either.addEventListener("abort", () => clearTimeout(timer), { once: true });
  onVisibilityChange();
  return either;
}

async function waitUntilVisible(signal: AbortSignal): Promise<void> {
  if (document.visibilityState === "visible" || signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const onVisibilityChange = (): void => {
    if (document.visibilityState === "visible") resolve();
  };
  document.addEventListener("visibilitychange", onVisibilityChange);
  signal.addEventListener("abort", () => resolve(), { once: true });
  await promise.finally(() => document.removeEventListener("visibilitychange", onVisibilityChange));
}

const RETRY_MS = 2_000;
/** Statuses of no response, of a gateway, and of a server that is starting or stopping. */
const UNAVAILABLE_STATUSES: ReadonlySet<number> = new Set([0, 502, 503, 504]);

/** Repeats a request until the server answers. Streams of events do this themselves. */
async function retryUntilAnswered(request: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
  for (;;)
    try {
      await request();
      return;
    } catch (thrown: unknown) {
      if (signal.aborted || !(thrown instanceof ApiError) || !UNAVAILABLE_STATUSES.has(thrown.status)) throw thrown;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
}

function emptyLog<Log>(log: Log): FollowedState<Log> {
  return { log, version: 0, isReady: false, failure: undefined };
}
