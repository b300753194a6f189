/** Asks for a key of the server. */
import { useState, type ReactNode } from "react";
import { Link } from "wouter";
import { useConnection, useConnectionState } from "../server/use-connection.ts";
import { Icon } from "../show/basic-components.tsx";
import { useTitle } from "../show/use-title.ts";

export function KeyScreen(): ReactNode {
  const connection = useConnection();
  const { refusal, reachable, keepsScreens } = useConnectionState();
  const [key, setKey] = useState("");
  useTitle("Haft"); // replaces a session's title, which the next person at the page should not see
  return (
    <main className="key-screen">
      <form
        className="key-card"
        onSubmit={(event) => {
          event.preventDefault();
          if (key.trim() !== "") void connection.setKey(key);
        }}
      >
        <div className="brand">
          <HaftLogo />
          <span>Haft</span>
        </div>
        <h1>Enter a key of this server</h1>
        <p className="muted">
          The server prints its token when it starts, and <code>haft keys add</code> makes keys with fewer rights. The key stays in this tab
          and is forgotten when you close it.
        </p>
        {keepsScreens && <p className="muted">Your input is kept for another key of the same principal, as long as this tab is open.</p>}
        {refusal !== undefined && (
          <p className="key-refusal" role="alert">
            {refusal}
          </p>
        )}
        {!reachable && (
          <p className="key-refusal" role="alert">
            The server does not answer.
          </p>
        )}
        <label className="field">
          <span className="field-name">Key or token</span>
          <input
            type="password"
            name="key"
            value={key}
            autoComplete="off"
            spellCheck={false}
            autoFocus
            onChange={({ target }) => setKey(target.value)}
          />
        </label>
        <button type="submit" className="button button-main" disabled={key.trim() === ""}>
          <Icon name="key" />
          {keepsScreens ? "Continue" : "Open the dashboard"}
        </button>
        {keepsScreens && (
          <button type="button" className="button" onClick={() => connection.forgetKey()}>
            Discard your input
          </button>
        )}
        {!keepsScreens && (
          <p className="muted">
            No key is needed to <Link href="/file">open a file</Link>.
          </p>
        )}
      </form>
    </main>
  );
}

export function HaftLogo(): ReactNode {
  return (
    <svg className="mark" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" />
      <path d="M11 7v18M21 7v18M11 16h10" />
    </svg>
  );
}
