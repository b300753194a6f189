/** The audit: for a key with the scope admin the entries of all principals, for another key its own. */
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { AnswerOf, QueryInput } from "../../client/client.ts";
import { ReadState } from "../server/read-failure.tsx";
import { useConnection, useInfo } from "../server/use-connection.ts";
import { ActionButton } from "../show/action-button.tsx";
import { useQueryValue } from "../show/address.ts";
import { SelectField } from "../show/select-field.tsx";
import { UntrustedText } from "../show/untrusted-text.tsx";
import { Notice, ScreenHeader, SearchField } from "../show/basic-components.tsx";
import { formatPlural } from "../show/format.ts";
import { useDebounced } from "../show/use-debounced.ts";
import { useTitle } from "../show/use-title.ts";
import { AuditTable } from "./audit-table.tsx";

const PAGE = 100;
const HOUR_MS = 3_600_000;

/** Periods, by their word in the address. */
const PERIODS = [
  ["1h", "Last hour", HOUR_MS],
  ["", "Last 24 hours", 24 * HOUR_MS],
  ["7d", "Last 7 days", 7 * 24 * HOUR_MS],
  ["30d", "Last 30 days", 30 * 24 * HOUR_MS],
  ["all", "Any time", Infinity],
] as const;

const OUTCOMES = ["ok", "partial", "error", "cancelled", "skipped", "open", "permission_denied", "approval_denied"] as const;

type Answer = AnswerOf<"listAudit">;

export function AuditScreen(): ReactNode {
  const connection = useConnection();
  const [principal, setPrincipal] = useQueryValue("principal");
  const [tool, setTool] = useQueryValue("tool");
  const [outcome, setOutcome] = useQueryValue("outcome");
  const [period, setPeriod] = useQueryValue("since");
  const wanted = useDebounced(JSON.stringify({ principal: principal.trim(), tool: tool.trim(), outcome }));
  const [word, , periodMs] = PERIODS.find(([one]) => one === period) ?? PERIODS[1];
  const { data, error, hasNextPage, fetchNextPage, isFetching, refetch } = useInfiniteQuery({
    queryKey: ["audit", wanted, word],
    placeholderData: keepPreviousData,
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam, signal }) => {
      const since = periodMs === Infinity ? undefined : (await connection.readNow(signal)) - periodMs;
      return connection.client.call("listAudit", { query: createQuery(wanted, since, pageParam), signal });
    },
    getNextPageParam: ({ next }) => next,
  });
  useTitle("Audit · Haft");
  const entries = data?.pages.flatMap((page) => page.entries) ?? [];
  return (
    <>
      <ScreenHeader title="Audit">
        <SearchField label="Principal, such as key:*" value={principal} onChange={setPrincipal} />
        <SearchField label="Tool, such as files::*" value={tool} onChange={setTool} />
        <OutcomeChoice value={outcome} onChange={setOutcome} />
        <SelectField
          label="Time range"
          value={word}
          onChange={setPeriod}
          options={PERIODS.map(([value, says]) => [value, says] as const)}
        />
        <ActionButton isOff={isFetching} onClick={() => void refetch()}>
          Refresh
        </ActionButton>
      </ScreenHeader>
      <ScopeNotice />
      <ReadState title="The audit could not be read." error={error} data={data} />
      <DamagedSessions pages={data?.pages ?? []} />
      {data !== undefined && entries.length === 0 && <NoEntries />}
      {entries.length > 0 && <AuditTable entries={entries} />}
      {hasNextPage && (
        <ActionButton kind="list-more" isOff={isFetching} onClick={() => void fetchNextPage()}>
          Older entries
        </ActionButton>
      )}
    </>
  );
}

function createQuery(wanted: string, since: number | undefined, cursor: string | undefined): QueryInput<"listAudit"> {
  // written in AuditScreen
  const filters = Object.entries(JSON.parse(wanted) as Readonly<Record<string, string>>).filter(([, value]) => value !== "");
  return {
    ...Object.fromEntries(filters),
    limit: PAGE,
    ...(since === undefined ? {} : { since }),
    ...(cursor === undefined ? {} : { cursor }),
  };
}

/** A choice of outcomes. Also offers the outcome of the address if it is another one, such as an error code. */
function OutcomeChoice({ value, onChange }: { readonly value: string; readonly onChange: (value: string) => void }): ReactNode {
  const words = value === "" || OUTCOMES.some((one) => one === value) ? OUTCOMES : [...OUTCOMES, value];
  return (
    <SelectField
      label="Which outcome"
      value={value}
      onChange={onChange}
      options={[["", "Any outcome"], ...words.map((word) => [word, word.replaceAll("_", " ")] as const)]}
    />
  );
}

/** Says whose entries are shown, unless all are. */
function ScopeNotice(): ReactNode {
  const info = useInfo();
  if (info === undefined || info.principal.scopes.includes("admin")) return null;
  return (
    <p className="older muted">
      These are the entries of <UntrustedText text={info.principal.name} maxLength={80} />. A key with the scope admin sees those of all
      principals.
    </p>
  );
}

function DamagedSessions({ pages }: { readonly pages: readonly Answer[] }): ReactNode {
  const ids = [...new Set(pages.flatMap(({ damaged }) => damaged.map(({ sessionId }) => sessionId)))];
  if (ids.length === 0) return null;
  return (
    <p className="older" role="alert">
      The {ids.length === 1 ? "log" : "logs"} of {formatPlural(ids.length, "session")} could not be read to the end:{" "}
      <UntrustedText text={ids.slice(0, 10).join(", ")} maxLength={600} />
    </p>
  );
}

function NoEntries(): ReactNode {
  const info = useInfo();
  if (info !== undefined && info.store === undefined)
    return <Notice title="This server keeps no audit.">Start it with a store to keep an audit.</Notice>;
  return <Notice title="Nothing was found.">Change the filters or the time above.</Notice>;
}
