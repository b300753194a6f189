/** The tools of the server, and a form to try the chosen one. */
import { useInfiniteQuery, keepPreviousData } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { ReadState } from "../server/read-failure.tsx";
import { useConnection } from "../server/use-connection.ts";
import { toolPath, useQueryValue } from "../show/address.ts";
import { UntrustedText, ToolName } from "../show/untrusted-text.tsx";
import { Notice, ScreenHeader, SearchField } from "../show/basic-components.tsx";
import { MAX_SEARCH_CHARS } from "../show/format.ts";
import { useListKeys } from "../show/use-list-keys.ts";
import { useDebounced } from "../show/use-debounced.ts";
import { useTitle } from "../show/use-title.ts";
import { Hints, type Tool } from "./tool-hints.tsx";
import { ToolPanel } from "./tool-panel.tsx";

const PAGE = 100;

export function ToolsScreen({ toolName }: { readonly toolName: string | undefined }): ReactNode {
  const { client } = useConnection();
  const [words, setWords] = useQueryValue("q");
  const searched = useDebounced(words.trim().slice(0, MAX_SEARCH_CHARS));
  const { data, error, hasNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: ["tools", searched],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      client.call("listTools", {
        query: { limit: PAGE, ...(searched === "" ? {} : { q: searched }), ...(pageParam === undefined ? {} : { cursor: pageParam }) },
        signal,
      }),
    getNextPageParam: ({ next }) => next,
    placeholderData: keepPreviousData,
  });
  useTitle("Tools · Haft");
  const tools = data?.pages.flatMap((page) => page.tools) ?? [];
  const isChosen = toolName !== undefined && toolName !== "";
  return (
    <div className={isChosen ? "split with-panel with-wide-panel" : "split"}>
      <div className="split-main">
        <ScreenHeader title="Tools">
          <SearchField label="Search name and description" value={words} onChange={setWords} />
        </ScreenHeader>
        <ReadState title="The tools could not be read." error={error} data={data} />
        {data !== undefined && tools.length === 0 && (
          <Notice title={searched === "" ? "There are no tools." : "No tools match."}>
            {searched === "" ? "Add toolsets to the configuration of the server." : "Try other words."}
          </Notice>
        )}
        {tools.length > 0 && <ToolList tools={tools} toolName={toolName} />}
        {hasNextPage && (
          <button type="button" className="button list-more" onClick={() => void fetchNextPage()}>
            More tools
          </button>
        )}
      </div>
      {isChosen && <ToolPanel key={toolName} toolName={toolName} />}
    </div>
  );
}

function ToolList({ tools, toolName }: { readonly tools: readonly Tool[]; readonly toolName: string | undefined }): ReactNode {
  const keys = useListKeys();
  return (
    <ul className="cards" onKeyDown={keys}>
      {tools.map((tool) => (
        <li key={tool.name}>
          <Link
            href={toolPath(tool.name) + window.location.search}
            className="card"
            data-row=""
            aria-current={tool.name === toolName ? "true" : undefined}
          >
            <span className="card-title">
              <ToolName name={tool.name} />
              <Hints tool={tool} />
            </span>
            <span className="card-text muted">
              <UntrustedText text={tool.description} maxLength={140} />
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}
