/** One schedule: its rule, its message, and buttons for its actions. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { Link } from "wouter";
import { InlineFailure } from "../server/inline-failure.tsx";
import { useRequestKeys } from "../server/request-keys.ts";
import { useConnection, useHasScope } from "../server/use-connection.ts";
import { ActionButton } from "../show/action-button.tsx";
import { agentPath, sessionPath, useGo } from "../show/address.ts";
import { UntrustedText, TextBlock } from "../show/untrusted-text.tsx";
import { Panel } from "../show/panel.tsx";
import { Fact, Notice, Section } from "../show/basic-components.tsx";
import { formatCount, formatFullTime } from "../show/format.ts";
import { formatNoNextTime, readPrompt, formatRule, type Schedule } from "./schedule.ts";
import { ScheduleState } from "./schedule-state.tsx";

export function SchedulePanel({ schedule }: { readonly schedule: Schedule | undefined }): ReactNode {
  const go = useGo();
  const close = (): void => go("/schedules");
  return (
    <Panel
      label="Schedule"
      subject="schedule"
      title={schedule === undefined ? "Schedule" : <UntrustedText text={schedule.id} maxLength={80} />}
      onClose={close}
    >
      {schedule === undefined ? (
        <Notice isFailure title="There is no such schedule.">
          It was removed, or the server does not have its session open.
        </Notice>
      ) : (
        <Details schedule={schedule} />
      )}
    </Panel>
  );
}

function Details({ schedule }: { readonly schedule: Schedule }): ReactNode {
  const { sessionId, nextAt, addedAt, sent, error, settings } = schedule;
  const may = useHasScope();
  return (
    <>
      <div className="panel-state">
        <ScheduleState schedule={schedule} />
      </div>
      {error !== undefined && (
        <section className="section failure">
          <UntrustedText text={error} maxLength={1_000} />
        </section>
      )}
      <dl className="facts">
        <Fact name="Rule">
          <UntrustedText text={formatRule(schedule)} />
        </Fact>
        <Fact name="Next">{nextAt === undefined ? formatNoNextTime(schedule) : formatFullTime(nextAt)}</Fact>
        {settings["catchUp"] === true && <Fact name="Missed times">made up for once</Fact>}
        <Fact name="Sent">{formatCount(sent)}</Fact>
        <Fact name="Added">{formatFullTime(addedAt)}</Fact>
        <Fact name="Session">
          <Link href={sessionPath(sessionId)}>
            <UntrustedText text={sessionId} maxLength={120} />
          </Link>
        </Fact>
      </dl>
      <Section title="Message">
        <TextBlock text={readPrompt(schedule)} label="Message of the schedule" />
      </Section>
      {may("execute") && <Actions schedule={schedule} />}
    </>
  );
}

function Actions({ schedule }: { readonly schedule: Schedule }): ReactNode {
  const { client } = useConnection();
  const queries = useQueryClient();
  const go = useGo();
  const keys = useRequestKeys();
  const [asks, setAsks] = useState(false);
  const { id, sessionId } = schedule;
  const agents = useQuery({ queryKey: ["agents"], queryFn: ({ signal }) => client.call("listAgents", { signal }) });
  const agent = agents.data?.agents.find((one) => one.sessionId === sessionId);
  const send = useMutation({
    mutationFn: (agentName: string) =>
      keys.send([agentName, readPrompt(schedule)], (idempotencyKey) =>
        client.call("sendToAgent", {
          params: { agentName },
          body: { content: readPrompt(schedule), sender: id },
          idempotencyKey,
        }),
      ),
    onSuccess: (_, agentName) => go(agentPath(agentName)),
  });
  const remove = useMutation({
    mutationFn: () => client.call("removeSchedule", { params: { scheduleId: id }, query: { sessionId } }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["schedules"] });
      go("/schedules");
    },
  });
  const pause = useMutation({
    mutationFn: () =>
      client.call(schedule.paused === true ? "resumeSchedule" : "pauseSchedule", { params: { scheduleId: id }, query: { sessionId } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["schedules"] }),
  });
  const error = send.error ?? pause.error ?? remove.error;
  return (
    <div className="button-row section">
      {agent !== undefined && (
        <ActionButton kind="button-main" isOff={send.isPending} onClick={() => send.mutate(agent.name)}>
          Send the message now
        </ActionButton>
      )}
      <ActionButton isOff={pause.isPending} onClick={() => pause.mutate()}>
        {schedule.paused === true ? "Resume" : "Pause"}
      </ActionButton>
      <ActionButton
        kind="button-danger"
        isOff={remove.isPending}
        onBlur={() => setAsks(false)}
        onClick={() => (asks ? remove.mutate() : setAsks(true))}
      >
        {asks ? "Remove it for good" : "Remove"}
      </ActionButton>
      <InlineFailure error={error} />
    </div>
  );
}
