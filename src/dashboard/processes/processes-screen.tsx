/** The processes that use the store, with the sessions that each has open, and how the processes differ. */
import type { ReactNode } from "react";
import { Link } from "wouter";
import { ReadState } from "../server/read-failure.tsx";
import { processPath } from "../show/address.ts";
import { UntrustedText } from "../show/untrusted-text.tsx";
import { ListTable } from "../show/list-table.tsx";
import { Notice, ScreenHeader } from "../show/basic-components.tsx";
import { formatCount, formatDuration } from "../show/format.ts";
import { useTitle } from "../show/use-title.ts";
import { ProcessPanel } from "./process-panel.tsx";
import { ProcessState } from "./process-state.tsx";
import { formatProcessName, useFleet, type Process } from "./use-fleet.ts";

export function ProcessesScreen({ processId }: { readonly processId: string | undefined }): ReactNode {
  const { data, error } = useFleet();
  useTitle("Processes · Haft");
  const processes = data?.processes ?? [];
  const isChosen = processId !== undefined && processId !== "";
  const chosen = processes.find(({ id }) => id === processId);
  return (
    <div className={isChosen ? "split with-panel" : "split"}>
      <div className="split-main">
        <ScreenHeader title="Processes" />
        <ReadState title="The processes could not be read." error={error} data={data} />
        {data !== undefined && data.differences.length > 0 && <Differences lines={data.differences} />}
        {data !== undefined && processes.length === 0 && (
          <Notice title="No process is listed.">Processes that share a store are listed here: start the server with one.</Notice>
        )}
        {processes.length > 0 && <ProcessTable processes={processes} chosen={chosen} />}
      </div>
      {isChosen && data !== undefined && <ProcessPanel key={processId} process={chosen} />}
    </div>
  );
}

function Differences({ lines }: { readonly lines: readonly string[] }): ReactNode {
  return (
    <Notice isFailure title="The processes differ.">
      {lines.map((line) => (
        <p key={line}>
          <UntrustedText text={line} maxLength={600} />
        </p>
      ))}
    </Notice>
  );
}

function ProcessTable({ processes, chosen }: { readonly processes: readonly Process[]; readonly chosen: Process | undefined }): ReactNode {
  return (
    <ListTable
      columns={[["Process"], ["State"], ["Sessions", "number wide-only"], ["Events behind", "number wide-only"], ["Last seen", "number"]]}
    >
      {processes.map((one) => (
        <tr key={one.id} className={one === chosen ? "chosen" : undefined}>
          <td className="main-cell">
            <Link href={processPath(one.id)} className="row-link" data-row="">
              <UntrustedText text={formatProcessName(one)} maxLength={80} />
            </Link>
            <span className="sub-line">
              <UntrustedText text={describeProcess(one)} maxLength={140} />
            </span>
          </td>
          <td>
            <ProcessState process={one} />
          </td>
          <td className="number wide-only">{formatCount(one.sessions)}</td>
          <td className="number wide-only">{one.eventsBehind === undefined ? "–" : formatCount(one.eventsBehind)}</td>
          <td className="number muted">{formatDuration(one.silentMs)} ago</td>
        </tr>
      ))}
    </ListTable>
  );
}

function describeProcess({ role = "program", version, address, host, pid }: Process): string {
  return [role, ...(version === undefined ? [] : [version]), address ?? `process ${pid} on ${host}`].join(" · ");
}
