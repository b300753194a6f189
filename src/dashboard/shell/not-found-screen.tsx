/** Says that the address has no page, with or without a key. */
import type { ReactNode } from "react";
import { Link } from "wouter";
import { basePath } from "../show/address.ts";
import { HaftLogo } from "./key-screen.tsx";

export function NotFoundScreen(): ReactNode {
  return (
    <main className="key-screen">
      <div className="key-card">
        <div className="brand">
          <HaftLogo />
          <span>Haft</span>
        </div>
        <h1>There is nothing at this address</h1>
        <p className="muted">
          This server has no page <code>{window.location.pathname}</code>. Its API is below <code>{basePath()}/v1</code>, and{" "}
          <a href={`${basePath()}/openapi.json`}>openapi.json</a> describes it.
        </p>
        <Link href="/" className="button button-main">
          Go to the dashboard
        </Link>
      </div>
    </main>
  );
}
