/** The state that a view keeps in its address, so that a link opens the same. */
import { useLocation, useSearch } from "wouter";

/** The path of the server on its host, as its page says it: empty at the root. */
export function basePath(): string {
  const { content = "" } = document.querySelector<HTMLMetaElement>("meta[name=haft-server]") ?? {};
  return content.replace(/\/$/u, "");
}

/** The name of a value that the tab keeps: a server below another path of the host has its own. */
export function keptName(name: string): string {
  return name + basePath();
}

/** Whether a path of the host is one of the server. */
function isBelow(path: string): boolean {
  return path === basePath() || path.startsWith(`${basePath()}/`);
}

/** A path as it is at the root of a host. @default that of the address */
export function ownPath(pathname: string = window.location.pathname): string {
  return isBelow(pathname) ? pathname.slice(basePath().length) : pathname;
}

/** Puts the base path into the address of a page that was asked for without it, such as at the port of the server behind a proxy. */
export function completeAddress(): void {
  const { pathname, search, hash } = window.location;
  if (!isBelow(pathname)) window.history.replaceState(null, "", basePath() + pathname + search + hash);
}

/** The decoded parts of the path. The router decodes whole paths, which an id with a percent sign does not survive. */
export function usePathParts(): readonly string[] {
  useLocation(); // draws again when it changes
  return ownPath().split("/").slice(1).map(decoded);
}

/** One value of the query; an empty one is left out. */
export function useAddressValue(name: string): readonly [string, (value: string) => void] {
  const [, navigate] = useLocation();
  useSearch();
  const set = (value: string): void => {
    const next = new URLSearchParams(window.location.search);
    if (value === "") next.delete(name);
    else next.set(name, value);
    const query = next.toString();
    navigate(ownPath() + (query === "" ? "" : `?${query}`), { replace: true });
  };
  return [new URLSearchParams(window.location.search).get(name) ?? "", set];
}

/** Goes to an address. */
export function useGo(): (path: string, options?: { readonly replace?: boolean; readonly keepQuery?: boolean }) => void {
  const [, navigate] = useLocation();
  return (path, { replace = false, keepQuery = false } = {}) => navigate(keepQuery ? path + window.location.search : path, { replace });
}

let sessionsQuery = "";

/** The list of sessions as it was left: its words and its choice. */
export function lastSessionsPath(): string {
  return `/sessions${sessionsQuery}`;
}

/** @param query with its question mark; empty = the whole list */
export function keepSessionsQuery(query: string): void {
  sessionsQuery = query;
}

/** The list of sessions that hold these words. */
export function sessionsPath(words: string): string {
  return `/sessions?${new URLSearchParams({ q: words }).toString()}`;
}

export function sessionPath(sessionId: string, callId?: string): string {
  const session = `/sessions/${encoded(sessionId)}`;
  return callId === undefined ? session : `${session}/calls/${encoded(callId)}`;
}

/** The screen that makes calls of a session again, from one of them on. */
export function replayPath(sessionId: string, callId?: string): string {
  const screen = `/sessions/${encoded(sessionId)}/replay`;
  return callId === undefined ? screen : `${screen}?call=${encoded(callId)}`;
}

export interface DiffPlace {
  readonly with?: string;
  /** How many events count, of each side. */
  readonly at?: number;
  readonly withAt?: number;
}

export function diffPath(sessionId: string, place: DiffPlace = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(place)) if (value !== undefined) query.set(name, String(value));
  const text = query.toString();
  return `/sessions/${encoded(sessionId)}/diff${text === "" ? "" : `?${text}`}`;
}

export function toolPath(name: string): string {
  return `/tools/${encoded(name)}`;
}

export function agentPath(name: string): string {
  return `/agents/${encoded(name)}`;
}

export function schedulePath(id: string, sessionId: string): string {
  return `/schedules/${encoded(id)}?session=${encoded(sessionId)}`;
}

export function approvalPath(callId: string): string {
  return `/approvals/${encoded(callId)}`;
}

export function processPath(processId: string): string {
  return `/processes/${encoded(processId)}`;
}

export function jobPath(jobId: string): string {
  return `/jobs/${encoded(jobId)}`;
}

/** Names and ids may hold halves of characters, which no address can: those lead to a place where nothing is. */
export function encoded(part: string): string {
  return encodeURIComponent(part.toWellFormed());
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // nothing has this name
  }
}
