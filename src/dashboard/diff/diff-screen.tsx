/** The differences between two sessions, or two points of sessions: their state, and the calls that only one of them has. */
import { useQuery } from "@tanstack/react-query";
import { useId, useState, type ReactNode } from "react";
import { Link } from "wouter";
import { describeFailure } from "../server/describe-failure.ts";
import { useConnection } from "../server/use-connection.ts";
import { diffPath, sessionPath, useQueryValue, useGo, type DiffQuery } from "../show/address.ts";
import { UntrustedText } from "../show/untrusted-text.tsx";
import { showHiddenCharacters } from "../show/text-pieces.ts";
import { Icon, Loading, Notice, Section } from "../show/basic-components.tsx";
import { useTitle } from "../show/use-title.ts";
import type { Diff } from "../replay/run-replay.ts";
import { alignCalls, type ComparedCall } from "./align-calls.ts";
import { CompareList } from "./compare-list.tsx";
import { StateChanges } from "./state-changes.tsx";

export function DiffScreen({ sessionId }: { readonly sessionId: string }): ReactNode {
  const { client } = useConnection();
  const [named] = useQueryValue("with");
  const at = useEventCount("at");
  const withAt = useEventCount("withAt");
  const session = useQuery({
    queryKey: ["session", sessionId],
    queryFn: ({ signal }) => client.call("getSession", { params: { sessionId }, signal }),
  });
  useTitle(`Differences of ${showHiddenCharacters(sessionId, 60)} · Haft`);
  const other = named === "" ? (session.data?.parent?.sessionId ?? "") : named;
  const { error } = session;
  return (
    <>
      <header className="screen-head">
        <Link href={sessionPath(sessionId)} className="button button-icon" aria-label="The session">
          <Icon name="back" />
        </Link>
        <h1>
          Differences of <UntrustedText text={sessionId} maxLength={60} />
        </h1>
      </header>
      {session.data === undefined && error === null && <Loading />}
      {error !== null && session.data === undefined && (
        <Notice isFailure title={describeFailure(error).isGone ? "There is no such session." : "The session could not be read."}>
          <p>{describeFailure(error).text}</p>
          <Link href="/sessions">All sessions</Link>
        </Notice>
      )}
      {session.data !== undefined && (
        <div className="replay">
          <PlaceForm
            key={`${other} ${at} ${withAt}`}
            sessionId={sessionId}
            query={{ with: other, ...(at === undefined ? {} : { at }), ...(withAt === undefined ? {} : { withAt }) }}
          />
          {other === "" ? (
            <p className="muted">Name a session to compare this one with. It may be the same one at another point.</p>
          ) : (
            <Differences sessionId={sessionId} other={other} at={at} withAt={withAt} />
          )}
        </div>
      )}
    </>
  );
}

/** Returns a number of events of the address; undefined = all. */
function useEventCount(name: string): number | undefined {
  const [text] = useQueryValue(name);
  return /^\d{1,15}$/u.test(text) ? Number(text) : undefined;
}

function PlaceForm({ sessionId, query }: { readonly sessionId: string; readonly query: DiffQuery }): ReactNode {
  const { client } = useConnection();
  const go = useGo();
  const id = useId();
  const [other, setOther] = useState(query.with ?? "");
  const [at, setAt] = useState(query.at === undefined ? "" : String(query.at));
  const [withAt, setWithAt] = useState(query.withAt === undefined ? "" : String(query.withAt));
  const { data } = useQuery({
    queryKey: ["session-names"],
    queryFn: ({ signal }) => client.call("listSessions", { query: { limit: 100 }, signal }),
    staleTime: 10_000,
  });
  const isEventCount = (text: string): boolean => text === "" || /^\d{1,15}$/u.test(text);
  const isReadable = isEventCount(at) && isEventCount(withAt) && other !== "";
  const eventCounts = { ...(at === "" ? {} : { at: Number(at) }), ...(withAt === "" ? {} : { withAt: Number(withAt) }) };
  return (
    <form
      className="diff-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (isReadable) go(diffPath(sessionId, { with: other, ...eventCounts }));
      }}
    >
      <Field id={`${id}-with`} name="Before: session" value={other} onChange={setOther} list={`${id}-names`} />
      <datalist id={`${id}-names`}>
        {data?.sessions.map((session) => (
          <option key={session.id} value={session.id} />
        ))}
      </datalist>
      <Field id={`${id}-withAt`} name="Its first events" value={withAt} onChange={setWithAt} isBad={!isEventCount(withAt)} />
      <Field id={`${id}-at`} name="After: first events of this one" value={at} onChange={setAt} isBad={!isEventCount(at)} />
      <div className="button-row">
        <button type="submit" className="button button-main" disabled={!isReadable}>
          Compare
        </button>
        <button
          type="button"
          className="button"
          disabled={!isReadable}
          onClick={() =>
            go(
              diffPath(other, {
                with: sessionId,
                ...(withAt === "" ? {} : { at: Number(withAt) }),
                ...(at === "" ? {} : { withAt: Number(at) }),
              }),
            )
          }
        >
          Swap sides
        </button>
      </div>
    </form>
  );
}

interface FieldProps {
  readonly id: string;
  readonly name: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly list?: string;
  readonly isBad?: boolean;
}

function Field({ id, name, value, onChange, list, isBad = false }: FieldProps): ReactNode {
  return (
    <label className="field" htmlFor={id}>
      <span className="field-name">{name}</span>
      <input
        id={id}
        type="text"
        autoComplete="off"
        spellCheck={false}
        placeholder={list === undefined ? "all" : ""}
        inputMode={list === undefined ? "numeric" : "text"}
        list={list}
        value={value}
        aria-invalid={isBad}
        onChange={({ target }) => onChange(target.value)}
      />
    </label>
  );
}

interface DifferencesProps {
  readonly sessionId: string;
  readonly other: string;
  readonly at: number | undefined;
  readonly withAt: number | undefined;
}

function Differences({ sessionId, other, at, withAt }: DifferencesProps): ReactNode {
  const forth = useDiff({ sessionId, other, at, withAt });
  const back = useDiff({ sessionId: other, other: sessionId, at: withAt, withAt: at });
  const error = forth.error ?? back.error;
  if (error !== null)
    return (
      <Notice isFailure title={describeFailure(error).isGone ? "There is no such session to compare with." : "They could not be compared."}>
        <UntrustedText text={describeFailure(error).text} maxLength={1_000} />
      </Notice>
    );
  if (forth.data === undefined || back.data === undefined) return <Loading />;
  const pairs = alignCalls(listCalls(back.data, other), listCalls(forth.data, sessionId));
  return (
    <>
      <Section title="State">
        <StateChanges state={forth.data.state} />
      </Section>
      <Section title="Calls that only one has">
        {pairs.length === 0 ? (
          <p className="muted">Both have the same calls.</p>
        ) : (
          <CompareList pairs={pairs} sides={[showHiddenCharacters(other, 40), showHiddenCharacters(sessionId, 40)]} linksAfter />
        )}
      </Section>
    </>
  );
}

function useDiff({ sessionId, other, at, withAt }: DifferencesProps) {
  const { client } = useConnection();
  return useQuery({
    queryKey: ["diff", sessionId, other, at, withAt],
    queryFn: ({ signal }) =>
      client.call("getDiff", {
        params: { sessionId },
        query: { with: other, ...(at === undefined ? {} : { at }), ...(withAt === undefined ? {} : { withAt }) },
        signal,
      }),
  });
}

function listCalls({ calls }: Diff, sessionId: string): readonly ComparedCall[] {
  return calls.map(({ callId, call, input, result }) => ({
    callId,
    sessionId,
    name: result?.name ?? call.name,
    input: input ?? call.input ?? {},
    result,
  }));
}
