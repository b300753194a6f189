/** A file in the views of a session: chosen, dropped, or served by `haft open`. It is read in the page and not sent anywhere. */
import { useEffect, useRef, useSyncExternalStore, type ReactNode } from "react";
import { CallPanel } from "../call/call-panel.tsx";
import { useQueryValue } from "../show/address.ts";
import { UntrustedText } from "../show/untrusted-text.tsx";
import { showHiddenCharacters } from "../show/text-pieces.ts";
import { FileProvider } from "../show/log-links.ts";
import { Badge, Loading, Notice, ScreenHeader, SearchField } from "../show/basic-components.tsx";
import { useTitle } from "../show/use-title.ts";
import { SaveMenu } from "../timeline/save-menu.tsx";
import { CallCounts, Timeline } from "../timeline/timeline-screen.tsx";
import { fileStore, openLocalFile, openServedFile } from "./file-store.ts";
import type { FilePart, OpenedFile } from "./open-file.ts";

export function FileScreen({ callId }: { readonly callId: string | undefined }): ReactNode {
  const { file, version } = useSyncExternalStore(fileStore.subscribe, fileStore.getState);
  const [chosen, setChosen] = useQueryValue("part");
  useEffect(() => {
    if (fileStore.getState().file === undefined) openServedFile();
  }, []);
  useTitle(`${file === undefined ? "Open a file" : showHiddenCharacters(file.name, 60)} · Haft`);
  const part = file?.parts[Number(chosen) || 0] ?? file?.parts[0];
  const isPanelOpen = callId !== undefined && part !== undefined;
  return (
    <FileProvider value>
      <div className={isPanelOpen ? "timeline-screen with-panel" : "timeline-screen"}>
        <div className="timeline-main">
          {file === undefined ? (
            <>
              <ScreenHeader title="Open a file" />
              {version > 0 ? <Loading /> : <FileChooser />}
            </>
          ) : (
            <FileView file={file} part={part} version={version} callId={callId} chosen={chosen} onChoose={setChosen} />
          )}
        </div>
        {isPanelOpen && <CallPanel sessionId={part.name} callId={callId} log={part.log} version={version} />}
      </div>
    </FileProvider>
  );
}

interface OpenedProps {
  readonly file: OpenedFile;
  readonly part: FilePart | undefined;
  readonly version: number;
  readonly callId: string | undefined;
  readonly chosen: string;
  readonly onChoose: (part: string) => void;
}

function FileView({ file, part, version, callId, chosen, onChoose }: OpenedProps): ReactNode {
  const [words, setWords] = useQueryValue("q");
  const followed = part === undefined ? undefined : { log: part.log, version, isReady: true, failure: undefined };
  return (
    <>
      <header className="screen-head">
        <h1>
          <UntrustedText text={file.kind === "recording" && part !== undefined ? part.name : file.name} maxLength={80} />
        </h1>
        <Badge>{file.kind}</Badge>
        {!file.isWhole && <Badge tone="busy">reading</Badge>}
        {followed !== undefined && <CallCounts followed={followed} />}
        {file.parts.length > 1 && (
          <label className="choice">
            <span className="visually-hidden">Conversation</span>
            <select value={chosen === "" ? "0" : chosen} onChange={({ target }) => onChoose(target.value === "0" ? "" : target.value)}>
              {file.parts.map(({ name }, index) => (
                <option key={index} value={index}>
                  {showHiddenCharacters(name, 80)}
                </option>
              ))}
            </select>
          </label>
        )}
        {part !== undefined && <SearchField label="Filter calls" value={words} onChange={setWords} />}
        {part !== undefined && <SaveMenu sessionId={part.name} log={part.log} />}
        <FilePickButton label="Open another" />
      </header>
      {file.problems.length > 0 && <FileProblems file={file} />}
      {part !== undefined && part.log.entries().length > 0 && followed !== undefined && (
        <Timeline
          key={chosen}
          sessionId={part.name}
          followed={followed}
          callId={callId}
          words={words}
          isFollowing={false}
          onFollow={() => {}}
        />
      )}
      {file.isWhole && file.problems.length === 0 && (part?.log.entries().length ?? 0) === 0 && (
        <Notice title="There is nothing in this file to show.">It has no messages and no calls.</Notice>
      )}
    </>
  );
}

function FileProblems({ file: { problems, parts } }: { readonly file: OpenedFile }): ReactNode {
  const isSome = parts.some(({ log }) => log.entries().length > 0);
  return (
    <Notice isFailure title={isSome ? "A part of this file could not be read. The rest is shown." : "This file could not be read."}>
      <ul className="lines">
        {problems.map((problem, index) => (
          <li key={index}>
            <UntrustedText text={problem} maxLength={1_000} />
          </li>
        ))}
      </ul>
    </Notice>
  );
}

function FileChooser(): ReactNode {
  return (
    <div className="drop-place">
      <p className="notice-title">Drop a file here, or choose one</p>
      <p className="muted">
        A recording of Haft, or a conversation of OpenAI, Anthropic or Gemini as JSON or JSON Lines. It is read in this page and is sent
        nowhere.
      </p>
      <FilePickButton label="Choose a file" isMain />
    </div>
  );
}

function FilePickButton({ label, isMain = false }: { readonly label: string; readonly isMain?: boolean }): ReactNode {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button type="button" className={isMain ? "button button-main" : "button"} onClick={() => input.current?.click()}>
        {label}
      </button>
      <input
        ref={input}
        type="file"
        hidden
        aria-label="File"
        onChange={({ target }) => {
          const [file] = target.files ?? [];
          target.value = ""; // so that the same file can be chosen again
          if (file !== undefined) void openLocalFile(file);
        }}
      />
    </>
  );
}
