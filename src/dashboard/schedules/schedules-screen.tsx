/** The schedules that wake agents, with the next time of each in the reader's time zone. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { useNow } from "../server/use-now.ts";
import { ReadState } from "../server/read-failure.tsx";
import { useConnection } from "../server/use-connection.ts";
import { schedulePath, useQueryValue } from "../show/address.ts";
import { UntrustedText } from "../show/untrusted-text.tsx";
import { Notice, ScreenHeader } from "../show/basic-components.tsx";
import { formatFullTime, formatShortTime, formatDuration } from "../show/format.ts";
import { ListTable } from "../show/list-table.tsx";
import { useTitle } from "../show/use-title.ts";
import { formatNoNextTime, readPrompt, formatRule, type Schedule } from "./schedule.ts";
import { SchedulePanel } from "./schedule-panel.tsx";
import { ScheduleState } from "./schedule-state.tsx";

const EVERY_MS = 5_000;

export function SchedulesScreen({ scheduleId }: { readonly scheduleId: string | undefined }): ReactNode {
  const { client } = useConnection();
  const [sessionId] = useQueryValue("session");
  const { data, error } = useQuery({
    queryKey: ["schedules"],
    queryFn: ({ signal }) => client.call("listSchedules", { signal }),
    refetchInterval: EVERY_MS,
  });
  useTitle("Schedules · Haft");
  const schedules = data?.schedules ?? [];
  const isChosen = scheduleId !== undefined && scheduleId !== "";
  const chosen = schedules.find((one) => one.id === scheduleId && (sessionId === "" || one.sessionId === sessionId));
  return (
    <div className={isChosen ? "split with-panel" : "split"}>
      <div className="split-main">
        <ScreenHeader title="Schedules">
          <span className="muted">Times are in {Intl.DateTimeFormat().resolvedOptions().timeZone}.</span>
        </ScreenHeader>
        <ReadState title="The schedules could not be read." error={error} data={data} />
        {data !== undefined && schedules.length === 0 && (
          <Notice title="No schedule is set.">Schedules of sessions that the server has open appear here.</Notice>
        )}
        {schedules.length > 0 && <ScheduleTable schedules={schedules} chosen={chosen} />}
      </div>
      {isChosen && data !== undefined && <SchedulePanel key={`${sessionId} ${scheduleId}`} schedule={chosen} />}
    </div>
  );
}

function ScheduleTable({
  schedules,
  chosen,
}: {
  readonly schedules: readonly Schedule[];
  readonly chosen: Schedule | undefined;
}): ReactNode {
  const now = useNow(1_000);
  return (
    <ListTable columns={[["Schedule"], ["State"], ["Session", "wide-only"], ["Next"]]}>
      {schedules.map((one) => (
        <tr key={`${one.sessionId} ${one.id}`} className={one === chosen ? "chosen" : undefined}>
          <td className="main-cell">
            <Link href={schedulePath(one.id, one.sessionId)} className="row-link" data-row="">
              <UntrustedText text={one.id} maxLength={80} />
            </Link>
            <span className="sub-line">
              <UntrustedText text={`${formatRule(one)} · ${readPrompt(one)}`} maxLength={140} />
            </span>
          </td>
          <td>
            <ScheduleState schedule={one} />
          </td>
          <td className="wide-only muted">
            <UntrustedText text={one.sessionId} maxLength={60} />
          </td>
          <td className="number">
            <NextTime schedule={one} now={now} />
          </td>
        </tr>
      ))}
    </ListTable>
  );
}

function NextTime({ schedule, now }: { readonly schedule: Schedule; readonly now: number }): ReactNode {
  const { nextAt: at } = schedule;
  if (at === undefined) return <span className="muted">{formatNoNextTime(schedule)}</span>;
  return (
    <time dateTime={new Date(at).toISOString()} title={formatFullTime(at)}>
      {formatShortTime(at, now)}
      <span className="sub-line">{at > now ? `in ${formatDuration(at - now)}` : "now"}</span>
    </time>
  );
}
