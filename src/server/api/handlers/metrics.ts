/** Metrics for Prometheus. Labels come from code alone, to bound their number. @see https://prometheus.io/docs/instrumenting/exposition_formats/ */
import type { OperationId } from "../../api.ts";
import type { Runtime } from "../../../runtime/runtime.ts";
import type { Limits } from "../requests/limits.ts";

/** Parts of the server that have their own counters. */
interface MetricSources {
  readonly runtime: Runtime;
  readonly limits: Limits;
  readonly calls: { readonly missed: number } | undefined;
  readonly sessions: { readonly size: number };
  readonly submissions: { readonly size: number };
  readonly stopping: () => boolean;
  /** Returns the name of this process among those of its store. */
  readonly node: () => string;
}

interface MetricFamily {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly samples: readonly (readonly [labels: string, value: number, ending?: string])[];
}

/** Upper bounds of the call duration histogram, in seconds. */
const CALL_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300] as const;

export class Metrics {
  readonly #requests = new Map<string, number>();
  #seconds = 0;
  /** Number of calls by the first bound that they do not exceed; the last element counts calls longer than all bounds. */
  readonly #calls = new Float64Array(CALL_BOUNDS.length + 1);
  #callSeconds = 0;

  recordCall(durationMs: number): void {
    const seconds = durationMs / 1_000;
    const index = CALL_BOUNDS.findIndex((bound) => seconds <= bound);
    const at = index < 0 ? CALL_BOUNDS.length : index;
    this.#calls[at] = (this.#calls[at] ?? 0) + 1;
    this.#callSeconds += seconds;
  }

  recordRequest(operation: OperationId | "none" | "mcp", status: number, durationMs: number): void {
    const labels = `operation="${operation}",status="${Math.floor(status / 100)}xx"`;
    this.#requests.set(labels, (this.#requests.get(labels) ?? 0) + 1);
    this.#seconds += durationMs / 1_000;
  }

  /** All metrics as text, each with the name of the process as a label. */
  format(counting: MetricSources): string {
    const node = `node="${counting.node().replaceAll(/[\\"\n]/gu, (character) => (character === "\n" ? "\\n" : `\\${character}`))}"`;
    return this.#families(counting)
      .flatMap(({ name, type, help, samples }) => [
        `# HELP ${name} ${help}`,
        `# TYPE ${name} ${type}`,
        ...samples.map(([labels, value, ending = ""]) => `${name}${ending}{${labels === "" ? node : `${labels},${node}`}} ${value}`),
      ])
      .join("\n")
      .concat("\n");
  }

  #families({ runtime, limits, calls: log, sessions, submissions, stopping }: MetricSources): readonly MetricFamily[] {
    const { calls, succeeded, attempts, repairs, orphans, abandoned } = runtime.counters;
    const jobs = runtime.jobs.list({ states: ["queued", "running", "waiting"] }).length;
    return [
      counter("haft_http_requests_total", "Requests by operation and class of status.", [...this.#requests]),
      counter("haft_http_request_seconds_total", "Duration of requests, without streams.", this.#seconds),
      counter("haft_calls_total", "Calls that have ended.", calls),
      counter("haft_calls_succeeded_total", "Calls that succeeded.", succeeded),
      counter("haft_call_attempts_total", "Times a handler was started.", attempts),
      counter("haft_input_repairs_total", "Changes that made inputs fit their schemas.", repairs),
      counter("haft_calls_orphaned_total", "Handlers that kept running after their call had ended.", orphans),
      counter("haft_calls_abandoned_total", "Handlers that were abandoned.", abandoned),
      counter(
        "haft_audit_missed_total",
        "Calls outside sessions that are missing from the audit, because the store did not keep up.",
        log?.missed ?? 0,
      ),
      this.#callDurations(),
      gauge("haft_calls_running", "Calls that are running.", runtime.running.length),
      gauge("haft_jobs_running", "Background jobs that have not ended.", jobs),
      gauge("haft_jobs_queued", "Background jobs that wait to be started.", runtime.jobs.queue.length),
      gauge("haft_sessions_open", "Sessions that are open.", runtime.sessions.list().length),
      gauge("haft_sessions_held", "Sessions that the server holds open.", sessions.size),
      gauge("haft_streams_open", "Event streams.", limits.total("streams")),
      gauge("haft_submissions_open", "Batches whose results are kept to be fetched.", submissions.size),
      gauge("haft_tools", "Tools on offer.", runtime.registry.list().length),
      gauge("haft_stopping", "1 while the server is stopping.", stopping() ? 1 : 0),
    ];
  }

  #callDurations(): MetricFamily {
    let total = 0;
    const buckets = [...this.#calls].map((calls, index) => {
      total += calls;
      return [`le="${CALL_BOUNDS[index] ?? "+Inf"}"`, total, "_bucket"] as const;
    });
    const samples = [...buckets, ["", this.#callSeconds, "_sum"], ["", total, "_count"]] as const;
    return { name: "haft_call_seconds", type: "histogram", help: "Duration of calls, waits included.", samples };
  }
}

function counter(name: string, help: string, value: number | MetricFamily["samples"]): MetricFamily {
  return { name, type: "counter", help, samples: typeof value === "number" ? [["", value]] : value };
}

function gauge(name: string, help: string, value: number): MetricFamily {
  return { name, type: "gauge", help, samples: [["", value]] };
}
