/** The addresses of the pages of logins. Requests to them come without the path of the server. */
import { DOCUMENT_PATH } from "./client-document.ts";
import { checkOrigin } from "./logins-options.ts";

export const LOGIN_PATH = "/upstreams/login";
export const CALLBACK_PATH = "/upstreams/callback";

/** There are none until their origin is known. */
export class PageAddresses {
  #origin: string | undefined;
  #basePath = "";

  get origin(): string | undefined {
    return this.#origin;
  }

  /** The address of the server. */
  get server(): string | undefined {
    return this.#origin && this.#origin + this.#basePath;
  }

  /** Where the authorization server sends people back to. */
  get callback(): string | undefined {
    return this.server && this.server + CALLBACK_PATH;
  }

  /** Of the document of their own client. */
  get document(): string | undefined {
    return this.server && this.server + DOCUMENT_PATH;
  }

  /** The attributes of a cookie that is sent to the pages alone. */
  get cookieAttributes(): string {
    return `Path=${this.#basePath}/upstreams/; HttpOnly; SameSite=Lax${this.#origin?.startsWith("https:") === true ? "; Secure" : ""}`;
  }

  /** The first one counts. @throws ToolError `invalid_argument` for an origin that is none */
  serveAt(origin: string): void {
    checkOrigin(origin);
    this.#origin ??= origin;
  }

  serveBelow(basePath: string): void {
    this.#basePath = basePath;
  }

  /** The page that asks whether to go on with a login, from the host on. */
  loginPath(id: string): string {
    return `${this.#basePath}${LOGIN_PATH}?id=${id}`;
  }
}
