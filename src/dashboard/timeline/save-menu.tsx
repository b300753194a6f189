/** A menu to save the session: as a recording, as Markdown, or as a trace for chrome://tracing and Perfetto. */
import { useRef, useState, type ReactNode } from "react";
import { InlineFailure } from "../server/inline-failure.tsx";
import { useConnection } from "../server/use-connection.ts";
import { download } from "../show/download.ts";
import { fileName } from "../show/file-name.ts";
import { useLogLinks } from "../show/log-links.ts";
import { useScreenActions } from "../show/screen-actions.ts";
import { formatChromeTrace } from "./chrome-trace.ts";
import { formatSessionMarkdown } from "./session-markdown.ts";
import type { SessionLog } from "./session-log.ts";

export function SaveMenu({ sessionId, log }: { readonly sessionId: string; readonly log: SessionLog }): ReactNode {
  const { client } = useConnection();
  const { isFile } = useLogLinks(sessionId);
  const menu = useRef<HTMLDetailsElement>(null);
  const [failure, setFailure] = useState<unknown>();
  /** Closes the menu, and returns the focus to its button if it was in the menu. */
  const close = (): void => {
    if (menu.current === null) return;
    const hadFocus = menu.current.contains(document.activeElement);
    menu.current.open = false;
    if (hadFocus) menu.current.querySelector("summary")?.focus();
  };
  const save = async (ending: string, type: string, text: () => string | Promise<string>): Promise<void> => {
    try {
      download(fileName(sessionId, ending), await text(), type);
      setFailure(undefined);
      close();
    } catch (thrown: unknown) {
      setFailure(thrown);
    }
  };
  const recording = (): Promise<string> => client.call("exportRecording", { params: { sessionId } });
  const markdown = (): Promise<void> => save("md", "text/markdown", () => formatSessionMarkdown(sessionId, log));
  const trace = (): Promise<void> => save("trace.json", "application/json", () => formatChromeTrace(sessionId, log));
  useScreenActions([
    ...(isFile ? [] : [{ name: "Save as recording", run: () => void save("jsonl", "application/jsonl", recording) }]),
    { name: "Save as Markdown", run: () => void markdown() },
    { name: "Save as Chrome trace", run: () => void trace() },
  ]);
  return (
    <details
      ref={menu}
      className="dropdown"
      onKeyDown={(event) => {
        if (event.key !== "Escape" || menu.current?.open !== true) return;
        event.stopPropagation();
        close();
      }}
      onBlur={({ currentTarget, relatedTarget }) => {
        // Without a target the window lost the focus, or the browser gives none to a button that is clicked.
        if (relatedTarget !== null && !currentTarget.contains(relatedTarget)) currentTarget.open = false;
      }}
    >
      <summary className="button">Save as</summary>
      <div className="dropdown-list">
        {!isFile && (
          <button type="button" className="dropdown-item" onClick={() => void save("jsonl", "application/jsonl", recording)}>
            Recording
          </button>
        )}
        <button type="button" className="dropdown-item" onClick={() => void markdown()}>
          Markdown
        </button>
        <button type="button" className="dropdown-item" onClick={() => void trace()}>
          Chrome trace
        </button>
        <InlineFailure error={failure} />
      </div>
    </details>
  );
}
