/** The part of the logins of users to the MCP servers behind a server that the server uses. */
import type { LoginPages } from "../mcp/listen.ts";

/** The logins of users to the MCP servers behind a server, and their pages. */
export interface UpstreamLogins extends LoginPages {
  /**
   * Called by each `createServer` that is given the logins, with its `basePath` or an empty text: the addresses of the pages begin with it. Requests come
   * without it. What it throws for a second path, `createServer` throws.
   */
  serveBelow(basePath: string): void;
  /** The servers, and whether this user is logged in. */
  list(user: string): Promise<readonly { readonly server: string; readonly loggedIn: boolean; readonly endsAt?: number }[]>;
  /** Begins a login, or finds the one that has begun. Resolves to the address that the user opens in a browser. */
  begin(server: string, user: string): Promise<string>;
  /** Resolves to whether the user was logged in. */
  logout(server: string, user: string): Promise<boolean>;
}
