/** Handlers of the routes for the server itself: information, health, metrics and the OpenAPI document. */
import { ToolError, describeThrown } from "../../../core/error.ts";
import type { Clock } from "../../../core/ports.ts";
import type { Store } from "../../../core/store/store.ts";
import { rejectOnAbort } from "../../../core/base/reject-on-abort.ts";
import { withTimeLimit } from "../../../processes/sleep.ts";
import { visibleTools } from "../../../policy/visibility.ts";
import { jsonResponse } from "./responses.ts";
import { openApiDocument } from "../openapi/openapi.ts";
import { failureLog } from "../../store-failures.ts";
import type { Handlers } from "../services.ts";
import { refuseSessionKey } from "../sessions/session-ids.ts";

const API_VERSION = "1";

/** @param about the server's name, and the version of the package */
export function serverHandlers(about: {
  readonly name: string;
  readonly version: string;
}): Handlers<"getInfo" | "getHealth" | "getReadiness" | "getMetrics" | "getOpenApi"> {
  const checkStore = createStoreProbe();
  return {
    getInfo: ({ principal, runtime: { registry } }, { store, settings, access }) => ({
      ...about,
      api: API_VERSION,
      tools: visibleTools(registry, access.visibilityOf(principal)).length,
      ...(store === undefined ? {} : { store: store.kind }),
      limits: { ...settings },
      principal: { id: principal.id, name: principal.name, scopes: [...principal.scopes] },
    }),

    getHealth: () => ({ status: "ok" }),

    async getReadiness({ runtime }, { store, stopping, log, clock }) {
      if (stopping()) throw new ToolError("unavailable", "The server is stopping.", { retryable: true });
      try {
        await checkStore(store, clock);
      } catch (thrown: unknown) {
        failureLog({ log, clock }).warn(`The server is not ready: ${describeThrown(thrown)}`);
        throw new ToolError("unavailable", "The store cannot be used.", { retryable: true });
      }
      const { queue } = runtime.jobs;
      if (queue.limit > 0 && queue.length >= queue.limit)
        throw new ToolError("unavailable", `The queue is full: ${queue.length} background jobs wait.`, { retryable: true });
      return { ready: true, queue };
    },

    getMetrics({ principal }, services) {
      refuseSessionKey(principal); // metrics cover all sessions
      return new Response(services.metrics.format(services), {
        headers: { "content-type": "text/plain; version=0.0.4", "cache-control": "no-store" },
      });
    },

    getOpenApi: (_request, { basePath }) => jsonResponse(openApiDocument({ ...about, basePath })),
  };
}

/** Minimum time between two probes of the store, in milliseconds, since readiness needs no credentials. No probe starts while one is pending. */
const PROBE_INTERVAL_MS = 1_000;
/** A store that takes longer than this to answer counts as not writable, in milliseconds. */
const PROBE_TIMEOUT_MS = 5_000;

interface Probe {
  readonly at: number;
  readonly ended: Promise<void>;
  hasEnded: boolean;
}

/** Returns a function that rejects if the store cannot be written, or does not answer in time. */
function createStoreProbe(): (store: Store | undefined, clock: Clock) => Promise<void> {
  let probe: Probe | undefined;
  return async (store, clock) => {
    const now = clock.now();
    if (probe === undefined || (probe.hasEnded && now - probe.at >= PROBE_INTERVAL_MS)) probe = startProbe(store, now);
    const { at, ended } = probe;
    await withTimeLimit({ clock, limitMs: Math.max(0, at + PROBE_TIMEOUT_MS - now) }, (signal) => rejectOnAbort(ended, signal));
  };
}

function startProbe(store: Store | undefined, at: number): Probe {
  const ask = async (): Promise<void> => await (store?.writable?.() ?? store?.access.forgetRequests(0));
  const probe: Probe = { at, ended: ask(), hasEnded: false };
  const end = (): void => void (probe.hasEnded = true);
  probe.ended.then(end, end);
  return probe;
}
