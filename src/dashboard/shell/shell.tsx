/** The frame of all screens: the menu, the state of the connection, the keyboard shortcuts. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, type ReactNode } from "react";
import { Link } from "wouter";
import { pollIntervalMs, useLiveLists } from "../server/use-live-lists.ts";
import { useNow } from "../server/use-now.ts";
import { useConnection, useConnectionState, useInfo } from "../server/use-connection.ts";
import { usePathParts } from "../show/address.ts";
import { UntrustedText } from "../show/untrusted-text.tsx";
import { Icon, type IconName } from "../show/basic-components.tsx";
import { HaftLogo } from "./key-screen.tsx";
import { Palette } from "./palette.tsx"; // not lazy: keys typed while it loads would be lost
import { KeysDialog, SCREEN_ID, useShellKeys } from "./shell-keys.tsx";
import { ThemeButton } from "./theme.tsx";

const SCREENS: readonly { readonly path: string; readonly name: string; readonly icon: IconName }[] = [
  { path: "sessions", name: "Sessions", icon: "sessions" },
  { path: "approvals", name: "Approvals", icon: "approvals" },
  { path: "tools", name: "Tools", icon: "tools" },
  { path: "jobs", name: "Jobs", icon: "jobs" },
  { path: "agents", name: "Agents", icon: "agents" },
  { path: "schedules", name: "Schedules", icon: "schedules" },
  { path: "processes", name: "Processes", icon: "processes" },
  { path: "audit", name: "Audit", icon: "audit" },
  { path: "health", name: "Health", icon: "health" },
  { path: "file", name: "File", icon: "file" },
];

const PALETTE_SCREENS = SCREENS.map(({ name, path }) => [name, `/${path}`] as const);

const APPROVALS_EVERY_MS = 3_000;
/** How often the scopes of the key are read again: a server may be given other ones while the page is open. */
const INFO_EVERY_MS = 60_000;

export function Shell({ children }: { readonly children: ReactNode }): ReactNode {
  const [shown, setShown] = useShellKeys();
  const [name, id = ""] = usePathParts();
  useFocusOnScreen(`${name}/${id}`);
  useLiveLists((name !== "sessions" && name !== "agents") || id === ""); // a timeline and a conversation have a stream of their own
  return (
    <div className="shell">
      <a className="skip-link" href={`#${SCREEN_ID}`}>
        Skip to the screen
      </a>
      <nav className="menu" aria-label="Screens">
        <div className="brand">
          <HaftLogo />
          <span>Haft</span>
        </div>
        <ul className="menu-list">
          {SCREENS.map((screen) => (
            <MenuItem key={screen.path} {...screen} />
          ))}
        </ul>
        <MenuFoot onKeys={() => setShown("keys")} onPalette={() => setShown("palette")} />
      </nav>
      <main className="screen" id={SCREEN_ID} tabIndex={0} aria-label="Screen">
        <ConnectionStatus />
        {children}
      </main>
      {shown === "keys" && <KeysDialog onClose={() => setShown("none")} />}
      {shown === "palette" && <Palette screens={PALETTE_SCREENS} onClose={() => setShown("none")} />}
    </div>
  );
}

/** Moves the focus to another screen when the link that led to it is gone: otherwise keys would scroll nothing, and a screen reader be nowhere. */
function useFocusOnScreen(place: string): void {
  const last = useRef(place);
  useEffect(() => {
    if (last.current === place) return;
    last.current = place;
    if (document.activeElement === document.body) document.getElementById(SCREEN_ID)?.focus({ preventScroll: true });
  }, [place]);
}

function MenuItem({ path, name, icon }: (typeof SCREENS)[number]): ReactNode {
  const [current] = usePathParts();
  return (
    <li>
      <Link href={`/${path}`} className="menu-item" aria-current={current === path ? "page" : undefined}>
        <Icon name={icon} />
        <span>{name}</span>
        {path === "approvals" && <WaitingCount />}
      </Link>
    </li>
  );
}

function WaitingCount(): ReactNode {
  const { client } = useConnection();
  const { isLive } = useConnectionState();
  const { data } = useQuery({
    queryKey: ["approvals"],
    queryFn: ({ signal }) => client.call("listApprovals", { signal }),
    refetchInterval: pollIntervalMs(isLive, APPROVALS_EVERY_MS),
  });
  const waiting = data?.approvals.length ?? 0;
  return waiting === 0 ? null : (
    <span className="menu-count">
      {waiting}
      {data?.next !== undefined && "+"}
      <span className="visually-hidden"> waiting</span>
    </span>
  );
}

function MenuFoot({ onKeys, onPalette }: { readonly onKeys: () => void; readonly onPalette: () => void }): ReactNode {
  const connection = useConnection();
  const { readOnly } = useConnectionState();
  const info = useInfo(INFO_EVERY_MS);
  useInfoOfNewKey();
  return (
    <div className="menu-foot">
      <label className="switch">
        <input type="checkbox" role="switch" checked={readOnly} onChange={({ target }) => connection.setReadOnly(target.checked)} />
        <span className="switch-track" aria-hidden="true" />
        <span>Read-only</span>
      </label>
      <div className="menu-tools">
        <ThemeButton />
        <button type="button" className="button button-icon" onClick={onPalette} title="Go to (Ctrl-K)" aria-label="Go to">
          <Icon name="search" />
        </button>
        <button type="button" className="button button-icon" onClick={onKeys} title="Keys (?)" aria-label="Show the keys">
          ?
        </button>
        <button
          type="button"
          className="button button-icon"
          onClick={() => connection.forgetKey()}
          title="Forget the key"
          aria-label="Forget the key and leave"
        >
          <Icon name="key" />
        </button>
      </div>
      {info !== undefined && (
        <p className="menu-about">
          <UntrustedText text={info.principal.name} maxLength={40} />
          <br />
          {info.name} {info.version}
        </p>
      )}
    </div>
  );
}

/** Reads the scopes again when another key of the same principal is used: it may have others. */
function useInfoOfNewKey(): void {
  const queries = useQueryClient();
  const { key } = useConnectionState();
  const last = useRef(key);
  useEffect(() => {
    if (key === undefined || key === last.current) return;
    last.current = key;
    void queries.invalidateQueries({ queryKey: ["info"] });
  }, [key, queries]);
}

const RETURN_SHOWN_MS = 6_000;

/** Says that the connection is lost, and for a while that it is back. */
function ConnectionStatus(): ReactNode {
  const { reachable, returnedAt } = useConnectionState();
  const now = useNow(returnedAt === undefined ? undefined : 1_000);
  const isBack = reachable && returnedAt !== undefined && now - returnedAt < RETURN_SHOWN_MS;
  return (
    <div role="status" className={reachable ? (isBack ? "connection connection-back" : "connection") : "connection connection-lost"}>
      {!reachable && "The server does not answer. The page continues where it was as soon as it does."}
      {isBack && "The server answers again. No events were missed."}
    </div>
  );
}
