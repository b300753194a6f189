/** The logins at upstream MCP servers, as far as the server uses them. */
import type { LoginPages } from "../mcp/listen.ts";

/** Logins of users at the MCP servers behind a server, and their pages. */
export interface UpstreamLogins extends LoginPages {
  /**
   * Called by each `createServer` that is given the logins, with its `basePath` or an empty string: the addresses of the pages begin with it.
   * Requests arrive without it. `createServer` passes on the error that is thrown for a second, different path.
   */
  setBasePath(basePath: string): void;
  /** Lists the MCP servers, and whether this user is logged in at each. */
  list(user: string): Promise<readonly { readonly server: string; readonly loggedIn: boolean; readonly endsAt?: number }[]>;
  /** Begins a login, or finds the one in progress. Resolves to the address that the user opens in a browser. */
  begin(server: string, user: string): Promise<string>;
  /** Logs the user out. Resolves to whether the user was logged in. */
  logout(server: string, user: string): Promise<boolean>;
}
