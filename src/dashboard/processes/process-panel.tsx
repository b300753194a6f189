/** One process: its address, its version and places, and the sessions that it has open. */
import type { ReactNode } from "react";
import { Link } from "wouter";
import { sessionPath, useGo } from "../show/address.ts";
import { Inert } from "../show/inert.tsx";
import { Panel } from "../show/panel.tsx";
import { Fact, Notice, Section } from "../show/parts.tsx";
import { count, fullTime } from "../show/words.ts";
import { ProcessState } from "./process-state.tsx";
import { nameOfProcess, type Process } from "./use-fleet.ts";

export function ProcessPanel({ process }: { readonly process: Process | undefined }): ReactNode {
  const go = useGo();
  const close = (): void => go("/processes");
  return (
    <Panel
      label="Process"
      closes="process"
      title={process === undefined ? "Process" : <Inert text={nameOfProcess(process)} maxLength={80} />}
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
            <Inert text={role} maxLength={80} />
          </Fact>
        )}
        {version !== undefined && (
          <Fact name="Version">
            <Inert text={version} maxLength={80} />
          </Fact>
        )}
        <Fact name="Runs as">
          <Inert text={`process ${pid} on host ${host}`} maxLength={120} />
        </Fact>
        <Fact name="Address">
          {address === undefined ? "none: others forward nothing to it" : <Inert text={address} maxLength={200} />}
        </Fact>
        {places.length > 0 && (
          <Fact name="Places">
            <Inert text={places.join(", ")} maxLength={300} />
          </Fact>
        )}
        {startedAt !== undefined && <Fact name="Began">{fullTime(startedAt)}</Fact>}
        <Fact name="Last seen">{fullTime(seenAt)}</Fact>
        <Fact name="Sessions open">{count(sessions)}</Fact>
      </dl>
      {sessionIds.length > 0 && (
        <Section title={sessions > sessionIds.length ? `Sessions used last, ${sessionIds.length} of ${count(sessions)}` : "Sessions"}>
          <ul className="plain-list">
            {sessionIds.map((id) => (
              <li key={id}>
                <Link href={sessionPath(id)}>
                  <Inert text={id} maxLength={120} />
                </Link>
              </li>
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}
