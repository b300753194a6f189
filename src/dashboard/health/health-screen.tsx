/** The health of the server: whether it accepts calls, what runs, how fast, and what was abandoned. */
import { maxOf } from "../../core/collections/push-all.ts";
import { useQuery } from "@tanstack/react-query";
import { useRef, type ReactNode } from "react";
import { Link } from "wouter";
import { formatProcessName, useFleet } from "../processes/use-fleet.ts";
import { ReadState } from "../server/read-failure.tsx";
import { useConnection, useInfo } from "../server/use-connection.ts";
import { processPath } from "../show/address.ts";
import { UntrustedText } from "../show/untrusted-text.tsx";
import { Badge, Fact, ScreenHeader, Section } from "../show/basic-components.tsx";
import { formatCount, formatDuration } from "../show/format.ts";
import { useTitle } from "../show/use-title.ts";
import { quantile, parseMetrics, sumSamples, type Sample } from "./metrics-text.ts";

const EVERY_MS = 2_000;
/** Number of readings that are kept: two minutes. */
const MAX_READINGS = 60;

interface Reading {
  readonly at: number;
  readonly samples: readonly Sample[];
}

export function HealthScreen(): ReactNode {
  const { client } = useConnection();
  const readings = useRef<Reading[]>([]);
  const { data, error } = useQuery({
    queryKey: ["metrics"],
    queryFn: async ({ signal }) => {
      const reading = { at: performance.now(), samples: parseMetrics(await client.call("getMetrics", { signal })) };
      readings.current = [...readings.current.slice(1 - MAX_READINGS), reading];
      return readings.current;
    },
    refetchInterval: EVERY_MS,
    structuralSharing: false,
  });
  useTitle("Health · Haft");
  return (
    <>
      <ScreenHeader title="Health">
        <ReadyBadge />
      </ScreenHeader>
      <ReadState title="The counters could not be read." error={error} data={data} />
      {data !== undefined && <Figures readings={data} />}
      <SessionsByProcess />
      <ServerFacts />
    </>
  );
}

function ReadyBadge(): ReactNode {
  const { client } = useConnection();
  const { data, error } = useQuery({
    queryKey: ["ready"],
    queryFn: ({ signal }) => client.call("getReadiness", { signal }),
    refetchInterval: EVERY_MS * 2,
  });
  if (error !== null) return <Badge tone="bad">takes no calls</Badge>;
  return data?.ready === true ? <Badge tone="good">takes calls</Badge> : null;
}

function Figures({ readings }: { readonly readings: readonly Reading[] }): ReactNode {
  const samples = readings.at(-1)?.samples ?? [];
  const readNow = (name: string): number => sumSamples(samples, name);
  const calls = readNow("haft_calls_total");
  const unsuccessful = calls - readNow("haft_calls_succeeded_total");
  const requests = readNow("haft_http_requests_total");
  return (
    <>
      <div className="figures">
        <Figure
          name="Calls a second"
          value={computeRate(readings, "haft_calls_total").at(-1) ?? 0}
          digits={1}
          series={computeRate(readings, "haft_calls_total")}
        />
        <Figure name="Running now" value={readNow("haft_calls_running")} series={readSeries(readings, "haft_calls_running")} />
        <Figure name="Jobs not ended" value={readNow("haft_jobs_running")} series={readSeries(readings, "haft_jobs_running")} />
        <Figure
          name="Requests a second"
          value={computeRate(readings, "haft_http_requests_total").at(-1) ?? 0}
          digits={1}
          series={computeRate(readings, "haft_http_requests_total")}
        />
      </div>
      <CallTimes readings={readings} />
      <Section title="Since the start">
        <dl className="facts facts-wide">
          <Fact name="Calls">{formatCount(calls)}</Fact>
          <Fact name="Did not succeed">
            {formatCount(unsuccessful)} {calls > 0 && <span className="muted">({((unsuccessful / calls) * 100).toFixed(1)} %)</span>}
          </Fact>
          <Fact name="Attempts">{formatCount(readNow("haft_call_attempts_total"))}</Fact>
          <Fact name="Repairs of inputs">{formatCount(readNow("haft_input_repairs_total"))}</Fact>
          <Fact name="Handlers abandoned">{formatCount(readNow("haft_calls_abandoned_total"))}</Fact>
          <Fact name="Kept running after their call">{formatCount(readNow("haft_calls_orphaned_total"))}</Fact>
          <Fact name="Requests">{formatCount(requests)}</Fact>
          <Fact name="Mean time of a request">
            {formatDuration(requests === 0 ? 0 : (readNow("haft_http_request_seconds_total") / requests) * 1_000)}
          </Fact>
          <Fact name="Sessions open">{formatCount(readNow("haft_sessions_open"))}</Fact>
          <Fact name="Event streams">{formatCount(readNow("haft_streams_open"))}</Fact>
        </dl>
      </Section>
    </>
  );
}

/** Times of the calls that ended while this page was open, in the last two minutes at most; of all calls if none ended. */
function CallTimes({ readings }: { readonly readings: readonly Reading[] }): ReactNode {
  const now = readings.at(-1)?.samples ?? [];
  const first = readings[0]?.samples ?? [];
  const isRecent = sumSamples(now, "haft_call_seconds_count") > sumSamples(first, "haft_call_seconds_count");
  const formatQuantile = (share: number): string => {
    const seconds = quantile(now, isRecent ? first : [], "haft_call_seconds", share);
    return seconds === undefined ? "–" : formatDuration(seconds * 1_000);
  };
  return (
    <Section title={isRecent ? "Time of the latest calls" : "Time of calls"}>
      <dl className="facts facts-wide">
        <Fact name="p50">{formatQuantile(0.5)}</Fact>
        <Fact name="p90">{formatQuantile(0.9)}</Fact>
        <Fact name="p99">{formatQuantile(0.99)}</Fact>
      </dl>
    </Section>
  );
}

/** The number of sessions that each process has open; nothing if the store is not shared. */
function SessionsByProcess(): ReactNode {
  const { data } = useFleet();
  const processes = data?.processes ?? [];
  if (processes.length === 0) return null;
  return (
    <Section title="Sessions by process">
      <dl className="facts facts-wide">
        {processes.map((one) => (
          <Fact
            key={one.id}
            name={
              <Link href={processPath(one.id)}>
                <UntrustedText text={formatProcessName(one)} maxLength={60} />
              </Link>
            }
          >
            {formatCount(one.sessions)} {!one.alive && <Badge tone="bad">gone</Badge>}
          </Fact>
        ))}
      </dl>
    </Section>
  );
}

interface FigureProps {
  readonly name: string;
  readonly value: number;
  readonly series: readonly number[];
  readonly digits?: number;
}

function Figure({ name, value, series, digits = 0 }: FigureProps): ReactNode {
  return (
    <div className="figure">
      <span className="figure-name">{name}</span>
      <span className="figure-value">{value.toFixed(digits)}</span>
      <Sparkline values={series} />
    </div>
  );
}

function readSeries(readings: readonly Reading[], name: string): readonly number[] {
  return readings.map(({ samples }) => sumSamples(samples, name));
}

/** Returns the growth of a counter per second between readings. 0 if the counter fell, because the server was restarted. */
function computeRate(readings: readonly Reading[], name: string): readonly number[] {
  return readings.slice(1).map(({ at, samples }, index) => {
    const before = readings[index];
    if (before === undefined) return 0;
    return Math.max(0, sumSamples(samples, name) - sumSamples(before.samples, name)) / ((at - before.at) / 1_000);
  });
}

function ServerFacts(): ReactNode {
  const info = useInfo();
  if (info === undefined) return null;
  return (
    <Section title="Server">
      <dl className="facts facts-wide">
        <Fact name="Name">
          <UntrustedText text={info.name} />
        </Fact>
        <Fact name="Version">{info.version}</Fact>
        <Fact name="Store">{info.store ?? "none: sessions end with the process"}</Fact>
        <Fact name="Tools">{formatCount(info.tools)}</Fact>
        <Fact name="You are">
          <UntrustedText text={info.principal.name} />
        </Fact>
        <Fact name="You may">{info.principal.scopes.join(", ")}</Fact>
      </dl>
    </Section>
  );
}

const WIDTH = 120;
const HEIGHT = 28;

/** A line of recent values, without axes. */
function Sparkline({ values }: { readonly values: readonly number[] }): ReactNode {
  const most = Math.max(1, maxOf(values));
  const points = values.map((value, index) => {
    const x = WIDTH - ((values.length - 1 - index) / (MAX_READINGS - 1)) * WIDTH;
    return `${x.toFixed(1)},${(HEIGHT - 1 - (value / most) * (HEIGHT - 3)).toFixed(1)}`;
  });
  return (
    <svg className="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true" focusable="false">
      {points.length > 1 && <polyline points={points.join(" ")} />}
    </svg>
  );
}
