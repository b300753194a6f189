/** The state that a screen keeps in its address, so that a link restores it. */
import { useLocation, useSearch } from "wouter";

/** Returns the path of the server on its host, from the page; "" at the root. */
export function basePath(): string {
  const { content = "" } = document.querySelector<HTMLMetaElement>("meta[name=haft-server]") ?? {};
  return content.replace(/\/$/u, "");
}

/** Returns the name under which the tab stores a value. A server below another path of the host has its own values. */
export function storageKey(name: string): string {
  return name + basePath();
}

/** Whether a path of the host belongs to the server. */
function isBelowBasePath(path: string): boolean {
  return path === basePath() || path.startsWith(`${basePath()}/`);
}

/** Returns a path without the base path. @default the path of the address */
export function pathWithoutBase(pathname: string = window.location.pathname): string {
  return isBelowBasePath(pathname) ? pathname.slice(basePath().length) : pathname;
}

/** Adds the base path to the address of a page that was requested without it, such as at the port of a server behind a proxy. */
export function addBasePath(): void {
  const { pathname, search, hash } = window.location;
  if (!isBelowBasePath(pathname)) window.history.replaceState(null, "", basePath() + pathname + search + hash);
}

/** Returns the decoded parts of the path. The router decodes whole paths, which breaks an id with a percent sign. */
export function usePathParts(): readonly string[] {
  useLocation(); // renders again when the address changes
  return pathWithoutBase().split("/").slice(1).map(decodePathPart);
}

/** Returns one value of the query, and a function that sets it; "" removes it. */
export function useQueryValue(name: string): readonly [string, (value: string) => void] {
  const [, navigate] = useLocation();
  useSearch();
  const set = (value: string): void => {
    const next = new URLSearchParams(window.location.search);
    if (value === "") next.delete(name);
    else next.set(name, value);
    const query = next.toString();
    navigate(pathWithoutBase() + (query === "" ? "" : `?${query}`), { replace: true });
  };
  return [new URLSearchParams(window.location.search).get(name) ?? "", set];
}

/** Returns a function that goes to an address. */
export function useGo(): (path: string, options?: { readonly replace?: boolean; readonly keepQuery?: boolean }) => void {
  const [, navigate] = useLocation();
  return (path, { replace = false, keepQuery = false } = {}) => navigate(keepQuery ? path + window.location.search : path, { replace });
}

let sessionsQuery = "";

/** Returns the address of the list of sessions with its last filters. */
export function lastSessionsPath(): string {
  return `/sessions${sessionsQuery}`;
}

/** Remembers the filters of the list of sessions. @param query with its question mark; "" = the whole list */
export function rememberSessionsQuery(query: string): void {
  sessionsQuery = query;
}

/** Returns the address of the list of sessions that contain these words. */
export function sessionsPath(words: string): string {
  return `/sessions?${new URLSearchParams({ q: words }).toString()}`;
}

export function sessionPath(sessionId: string, callId?: string): string {
  const session = `/sessions/${encodePathPart(sessionId)}`;
  return callId === undefined ? session : `${session}/calls/${encodePathPart(callId)}`;
}

/** Returns the address of the screen that replays a session from one of its calls. */
export function replayPath(sessionId: string, callId?: string): string {
  const screen = `/sessions/${encodePathPart(sessionId)}/replay`;
  return callId === undefined ? screen : `${screen}?call=${encodePathPart(callId)}`;
}

export interface DiffQuery {
  readonly with?: string;
  /** Number of events of this side. `withAt`: of the other side. */
  readonly at?: number;
  readonly withAt?: number;
}

export function diffPath(sessionId: string, diffQuery: DiffQuery = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(diffQuery)) if (value !== undefined) query.set(name, String(value));
  const text = query.toString();
  return `/sessions/${encodePathPart(sessionId)}/diff${text === "" ? "" : `?${text}`}`;
}

export function toolPath(name: string): string {
  return `/tools/${encodePathPart(name)}`;
}

export function agentPath(name: string): string {
  return `/agents/${encodePathPart(name)}`;
}

export function schedulePath(id: string, sessionId: string): string {
  return `/schedules/${encodePathPart(id)}?session=${encodePathPart(sessionId)}`;
}

export function approvalPath(callId: string): string {
  return `/approvals/${encodePathPart(callId)}`;
}

export function processPath(processId: string): string {
  return `/processes/${encodePathPart(processId)}`;
}

export function jobPath(jobId: string): string {
  return `/jobs/${encodePathPart(jobId)}`;
}

/** Encodes a part of a path. Lone surrogates, which names and ids may contain, are replaced, so that such an address finds nothing. */
export function encodePathPart(part: string): string {
  return encodeURIComponent(part.toWellFormed());
}

function decodePathPart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // nothing has this name
  }
}
