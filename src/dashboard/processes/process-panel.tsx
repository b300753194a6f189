/** One process: its address, its version and places, and the sessions that it has open. */
import type { ReactNode } from "react";
import { Link } from "wouter";
import { sessionPath, useGo } from "../show/address.ts";
import { UntrustedText } from "../show/untrusted-text.tsx";
import { Panel } from "../show/panel.tsx";
import { Fact, Notice, Section } from "../show/basic-components.tsx";
import { formatCount, formatFullTime } from "../show/format.ts";
import { ProcessState } from "./process-state.tsx";
import { formatProcessName, type Process } from "./use-fleet.ts";

export function ProcessPanel({ process }: { readonly process: Process | undefined }): ReactNode {
  const go = useGo();
  const close = (): void => go("/processes");
  return (
    <Panel
      label="Process"
      subject="process"
      title={process === undefined ? "Process" : <UntrustedText text={formatProcessName(process)} maxLength={80} />}
      onClose={close}
    >
      {process === undefined ? (
        <Notice isFailure title="There is no such process.">
          It has ended, or has not reported for a day.
        </Notice>
      ) : (
        <Details process={process} />
      )}
    </Panel>
  );
}

function Details({ process }: { readonly process: Process }): ReactNode {
  const { role, version, host, pid, address, places = [], startedAt, seenAt, sessions, sessionIds } = process;
  return (
    <>
      <div className="panel-state">
        <ProcessState process={process} />
      </div>
      <dl className="facts">
        {role !== undefined && (
          <Fact name="Role">
            <UntrustedText text={role} maxLength={80} />
          </Fact>
        )}
        {version !== undefined && (
          <Fact name="Version">
            <UntrustedText text={version} maxLength={80} />
          </Fact>
        )}
        <Fact name="Runs as">
          <UntrustedText text={`process ${pid} on host ${host}`} maxLength={120} />
        </Fact>
        <Fact name="Address">
          {address === undefined ? "none: others forward nothing to it" : <UntrustedText text={address} maxLength={200} />}
        </Fact>
        {places.length > 0 && (
          <Fact name="Places">
            <UntrustedText text={places.join(", ")} maxLength={300} />
          </Fact>
        )}
        {startedAt !== undefined && <Fact name="Began">{formatFullTime(startedAt)}</Fact>}
        <Fact name="Last seen">{formatFullTime(seenAt)}</Fact>
        <Fact name="Sessions open">{formatCount(sessions)}</Fact>
      </dl>
      {sessionIds.length > 0 && (
        <Section title={sessions > sessionIds.length ? `Sessions used last, ${sessionIds.length} of ${formatCount(sessions)}` : "Sessions"}>
          <ul className="plain-list">
            {sessionIds.map((id) => (
              <li key={id}>
                <Link href={sessionPath(id)}>
                  <UntrustedText text={id} maxLength={120} />
                </Link>
              </li>
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}
