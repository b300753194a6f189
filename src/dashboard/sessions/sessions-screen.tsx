/** All sessions: open ones first, branches below their parents. */
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, type ReactNode } from "react";
import { Link } from "wouter";
import type { AnswerOf } from "../../client/client.ts";
import { pollIntervalMs } from "../server/use-live-lists.ts";
import { useNow } from "../server/use-now.ts";
import { ReadState } from "../server/read-failure.tsx";
import { useConnection, useConnectionState } from "../server/use-connection.ts";
import { ActionButton } from "../show/action-button.tsx";
import { rememberSessionsQuery, sessionPath, useQueryValue } from "../show/address.ts";
import { SelectField } from "../show/select-field.tsx";
import { UntrustedText } from "../show/untrusted-text.tsx";
import { Badge, TimeAgo, Notice, ScreenHeader, SearchField } from "../show/basic-components.tsx";
import { formatCount, formatFullTime, containsWords, MAX_SEARCH_CHARS, formatShortTime } from "../show/format.ts";
import { useDebounced } from "../show/use-debounced.ts";
import { ListTable } from "../show/list-table.tsx";
import { useTitle } from "../show/use-title.ts";
import { isOpen } from "./is-open.ts";

type Session = AnswerOf<"getSession">;

const EVERY_MS = 2_500;
const PAGE = 200;

const FILTER_OPTIONS = [
  ["", "All"],
  ["open", "Open"],
  ["branches", "Branches"],
  ["damaged", "Damaged"],
] as const;

export function SessionsScreen(): ReactNode {
  const { client } = useConnection();
  const { isLive } = useConnectionState();
  const [words, setWords] = useQueryValue("q");
  const searched = useDebounced(words.trim().slice(0, MAX_SEARCH_CHARS));
  const [show, setShow] = useQueryValue("show");
  const { data, error, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ["sessions", searched],
    placeholderData: keepPreviousData,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      client.call("listSessions", {
        query: { limit: PAGE, ...(searched === "" ? {} : { q: searched }), ...(pageParam === undefined ? {} : { cursor: pageParam }) },
        signal,
      }),
    getNextPageParam: ({ next }) => next,
    refetchInterval: pollIntervalMs(isLive, EVERY_MS),
  });
  useTitle("Sessions · Haft");
  useEffect(() => rememberSessionsQuery(window.location.search), [words, show]);
  const all = data?.pages.flatMap(({ sessions }) => sessions) ?? [];
  const searchedCount = data?.pages.at(-1)?.searched;
  const found = toTreeOrder(all.filter((session) => matchesFilter(session, words, show)));
  return (
    <>
      <ScreenHeader title="Sessions">
        <SearchField label="Find by id or title" value={words} onChange={setWords} />
        <SelectField label="Which sessions" value={show} onChange={setShow} options={FILTER_OPTIONS} />
      </ScreenHeader>
      <ReadState title="The sessions could not be read." error={error} data={data} />
      {data !== undefined && found.length === 0 && (
        <NoSessions isFiltered={all.length > 0 || searched !== ""} latest={hasNextPage ? (searchedCount ?? all.length) : undefined} />
      )}
      {found.length > 0 && <SessionTable sessions={found} />}
      {hasNextPage && (
        <div className="list-more">
          {searchedCount !== undefined && <p className="muted">Searched the latest {formatCount(searchedCount)} sessions.</p>}
          <ActionButton isOff={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            {searchedCount === undefined ? "Older sessions" : "Search older sessions"}
          </ActionButton>
        </div>
      )}
    </>
  );
}

/** @param latest how many sessions were looked at, if there are older ones */
function NoSessions({ isFiltered, latest }: { readonly isFiltered: boolean; readonly latest: number | undefined }): ReactNode {
  if (latest !== undefined)
    return <Notice title={`None of the latest ${formatCount(latest)} sessions match.`}>Older ones may: see below.</Notice>;
  if (isFiltered) return <Notice title="No sessions match.">Change the words or the choice above.</Notice>;
  return (
    <Notice title="There are no sessions yet.">
      A session begins with the first call in it. <Link href="/tools">Try a tool</Link>, or send calls to the API.
    </Notice>
  );
}

interface SessionRow {
  readonly session: Session;
  readonly depth: number;
}

function SessionTable({ sessions }: { readonly sessions: readonly SessionRow[] }): ReactNode {
  const now = useNow(5_000);
  return (
    <ListTable columns={[["Session"], ["State"], ["Events", "number"], ["Began", "wide-only"], ["Last event"]]}>
      {sessions.map(({ session, depth }) => (
        <tr key={session.id}>
          <td className={`main-cell indent-${Math.min(depth, 4)}`}>
            <Link href={sessionPath(session.id)} className="row-link" data-row="">
              {depth > 0 && <span aria-label="branch">↳ </span>}
              <UntrustedText text={session.id} maxLength={120} />
            </Link>
            {session.title !== undefined && (
              <span className="sub-line">
                <UntrustedText text={session.title} maxLength={140} />
              </span>
            )}
          </td>
          <td>
            <SessionState session={session} now={now} />
          </td>
          <td className="number">{formatCount(session.length)}</td>
          <td className="wide-only muted">
            {session.createdAt !== undefined && (
              <time dateTime={new Date(session.createdAt).toISOString()} title={formatFullTime(session.createdAt)}>
                {formatShortTime(session.createdAt, now)}
              </time>
            )}
          </td>
          <td className="muted">{session.updatedAt !== undefined && <TimeAgo at={session.updatedAt} now={now} />}</td>
        </tr>
      ))}
    </ListTable>
  );
}

const LIVE_MS = 10_000;

function SessionState({ session, now }: { readonly session: Session; readonly now: number }): ReactNode {
  const isLive = isOpen(session) && session.updatedAt !== undefined && now - session.updatedAt < LIVE_MS;
  return (
    <span className="badges">
      {session.damage !== undefined && <Badge tone="bad">damaged</Badge>}
      {isLive ? <Badge tone="busy">live</Badge> : isOpen(session) ? <Badge tone="good">open</Badge> : <Badge>kept</Badge>}
      {session.simulated === true && <Badge tone="warn">simulated</Badge>}
    </span>
  );
}

function matchesFilter(session: Session, words: string, show: string): boolean {
  if (show === "open" && !isOpen(session)) return false;
  if (show === "branches" && session.parent === undefined) return false;
  if (show === "damaged" && session.damage === undefined) return false;
  return containsWords(`${session.id}\n${session.title ?? ""}`, words);
}

/** Orders sessions: open ones first, otherwise as given. Branches come below their parents if those are shown. */
function toTreeOrder(sessions: readonly Session[]): readonly SessionRow[] {
  const ids = new Set(sessions.map(({ id }) => id));
  const branches = Map.groupBy(sessions, ({ id, parent }) =>
    parent !== undefined && parent.sessionId !== id && ids.has(parent.sessionId) ? parent.sessionId : "",
  );
  const rows: SessionRow[] = [];
  const roots = branches.get("") ?? [];
  // A stack with the next row last. Not a recursion, since branches may be nested as deep as there are sessions.
  const stack = [...roots.filter(isOpen), ...roots.filter((session) => !isOpen(session))]
    .map((session) => ({ session, depth: 0 }))
    .reverse();
  for (let row = stack.pop(); row !== undefined; row = stack.pop()) {
    rows.push(row);
    for (const session of branches.get(row.session.id)?.toReversed() ?? []) stack.push({ session, depth: row.depth + 1 });
  }
  return rows;
}
