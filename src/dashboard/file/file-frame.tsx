/** The page around a file if no key was given: for `haft open`, or before a server is asked for anything. */
import type { ReactNode } from "react";
import { Link } from "wouter";
import { Icon } from "../show/basic-components.tsx";
import { HaftLogo } from "../shell/key-screen.tsx";
import { ThemeButton } from "../shell/theme.tsx";

export function FileFrame({ children }: { readonly children: ReactNode }): ReactNode {
  return (
    <div className="shell">
      <nav className="menu" aria-label="Screens">
        <div className="brand">
          <HaftLogo />
          <span>Haft</span>
        </div>
        <ul className="menu-list">
          <li>
            <Link href="/file" className="menu-item" aria-current="page">
              <Icon name="file" />
              <span>File</span>
            </Link>
          </li>
        </ul>
        <div className="menu-foot">
          <div className="menu-tools">
            <ThemeButton />
          </div>
        </div>
      </nav>
      <main className="screen" id="screen" tabIndex={0} aria-label="Screen">
        {children}
      </main>
    </div>
  );
}
