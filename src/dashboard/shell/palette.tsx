/** The command palette: opens any screen, session or tool, or runs an action of the current screen. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useId, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { InlineFailure } from "../server/inline-failure.tsx";
import { useConnection, useConnectionState } from "../server/use-connection.ts";
import { sessionPath, sessionsPath, toolPath, useGo } from "../show/address.ts";
import { UntrustedText } from "../show/untrusted-text.tsx";
import { listScreenActions } from "../show/screen-actions.ts";
import { containsWords, MAX_SEARCH_CHARS } from "../show/format.ts";
import { useDebounced } from "../show/use-debounced.ts";

interface Entry {
  readonly kind: string;
  readonly name: string;
  readonly title?: string | undefined;
  readonly run: () => void;
}

const FOUND = 8;

export function Palette({
  screens,
  onClose,
}: {
  readonly screens: readonly (readonly [name: string, path: string])[];
  readonly onClose: () => void;
}): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [words, setWords] = useState("");
  const [chosen, setChosen] = useState(0);
  const { entries, error, isSearching } = useEntries(words, screens);
  const active = Math.min(chosen, entries.length - 1);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  const run = (entry: Entry | undefined): void => {
    if (entry === undefined) return;
    dialog.current?.close(); // first, as closing restores the focus
    entry.run();
  };
  const handleKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (step !== undefined && entries.length > 0) {
      event.preventDefault();
      const next = active + step;
      const isStep = Math.abs(step) === 1;
      setChosen(isStep ? (next + entries.length) % entries.length : Math.max(0, Math.min(entries.length - 1, next)));
    } else if (event.key === "Enter" && !event.nativeEvent.isComposing) {
      event.preventDefault();
      run(entries[active]);
    }
  };
  return (
    <dialog
      ref={dialog}
      className="dialog palette"
      aria-label="Go to"
      onClose={onClose}
      onClick={({ target }) => target === dialog.current && dialog.current.close()}
    >
      <input
        type="text"
        role="combobox"
        aria-label="Screen, session, tool or action"
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={active < 0 ? undefined : `${id}-${active}`}
        aria-autocomplete="list"
        placeholder="Screen, session, tool or action"
        value={words}
        autoComplete="off"
        spellCheck={false}
        autoFocus
        onKeyDown={handleKeyDown}
        onChange={({ target }) => {
          setWords(target.value);
          setChosen(0);
        }}
      />
      <FoundList id={id} entries={entries} active={active} onActive={setChosen} onRun={run} />
      <p className="palette-none muted" role="status">
        {error === null && !isSearching && entries.length === 0 ? "Nothing with this name was found." : ""}
        <InlineFailure error={error} />
      </p>
    </dialog>
  );
}

interface FoundProps {
  readonly id: string;
  readonly entries: readonly Entry[];
  readonly active: number;
  readonly onActive: (index: number) => void;
  readonly onRun: (entry: Entry) => void;
}

function FoundList({ id, entries, active, onActive, onRun }: FoundProps): ReactNode {
  useEffect(() => {
    document.getElementById(`${id}-${active}`)?.scrollIntoView({ block: "nearest" });
  }, [active, id]);
  return (
    <ul id={id} role="listbox" aria-label="Found" className="palette-list">
      {entries.map((entry, index) => (
        <li
          key={`${entry.kind} ${entry.name}`}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === active}
          className={index === active ? "palette-item palette-chosen" : "palette-item"}
          onPointerMove={() => onActive(index)}
          onClick={() => onRun(entry)}
        >
          <span className="palette-name">
            <UntrustedText text={entry.name} maxLength={120} />
            {entry.title !== undefined && (
              <span className="sub-line">
                <UntrustedText text={entry.title} maxLength={80} />
              </span>
            )}
          </span>
          <span className="muted">{entry.kind}</span>
        </li>
      ))}
    </ul>
  );
}

interface SearchResult {
  readonly entries: readonly Entry[];
  /** Why the server could not be searched. */
  readonly error: Error | null;
  /** Whether the server's results for these words are not known yet. */
  readonly isSearching: boolean;
}

/** Returns the actions of this screen, then the screens, then what the server finds. */
function useEntries(words: string, screens: readonly (readonly [string, string])[]): SearchResult {
  const go = useGo();
  const { client } = useConnection();
  const { key } = useConnectionState();
  const [actions] = useState(listScreenActions);
  const wanted = words.trim().slice(0, MAX_SEARCH_CHARS);
  const q = useDebounced(wanted);
  const { data, error, isFetching } = useQuery({
    queryKey: ["palette", q],
    enabled: key !== undefined,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => {
      const query = { limit: FOUND, ...(q === "" ? {} : { q }) };
      const [{ sessions, searched, next }, { tools }] = await Promise.all([
        client.call("listSessions", { query, signal }),
        client.call("listTools", { query, signal }),
      ]);
      return { sessions, tools: tools.map(({ name }) => name), isMore: searched !== undefined && next !== undefined };
    },
  });
  const matchesWords = ({ name, title = "" }: Pick<Entry, "name" | "title">): boolean => containsWords(`${name}\n${title}`, words);
  const entries = [
    ...actions.map(({ name, run }) => ({ kind: "action", name, run })).filter(matchesWords),
    ...screens.map(([name, path]) => ({ kind: "screen", name, run: () => go(path) })).filter(matchesWords),
    ...(data?.sessions ?? [])
      .map(({ id, title }) => ({ kind: "session", name: id, title, run: () => go(sessionPath(id)) }))
      .filter(matchesWords),
    ...(data?.tools ?? []).map((name) => ({ kind: "tool", name, run: () => go(toolPath(name)) })),
    ...(data?.isMore === true ? [{ kind: "search", name: `More sessions with “${q}”`, run: () => go(sessionsPath(q)) }] : []),
  ];
  return { entries, error, isSearching: isFetching || q !== wanted };
}
