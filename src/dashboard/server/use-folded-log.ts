/** Follows a session's events into what a screen folds them to, and draws at most once a frame, large logs more seldom. */
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
  /** Grows with each drawing. */
  readonly version: number;
  /** The events that were there when the page was opened have come. */
  readonly isReady: boolean;
  readonly failure: { readonly text: string; readonly isGone: boolean } | undefined;
}

/** How long nothing comes before the first part counts as whole. */
const QUIET_MS = 150;

/** @param makeLog the same function at each drawing */
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
        await nextTask(); // events that have come already are read in one task otherwise
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

/** So long is a stream kept that is not seen: a reader may only look at another page for a moment. */
const UNSEEN_MS = 2_000;

/**
 * Browsers open six connections to a server for all of their tabs together, and more pages than that may be open. One that is not seen has no stream,
 * and continues where it was.
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

/** Aborts when the page is not seen any more, and with the signal. */
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
/** No answer, or one of a gateway or of a server that is starting or stopping. */
const AWAY: ReadonlySet<number> = new Set([0, 502, 503, 504]);

/** Asks again until the server answers. Streams of events do so themselves. */
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
