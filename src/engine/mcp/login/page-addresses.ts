/** The addresses of the pages of logins. Requests to them come without the path of the server. */
import { DOCUMENT_PATH } from "./client-document.ts";
import { quoted } from "../../../core/base/wording.ts";
import { ToolError } from "../../../core/error.ts";
import { checkOrigin } from "./logins-options.ts";

export const LOGIN_PATH = "/upstreams/login";
export const CALLBACK_PATH = "/upstreams/callback";

/** There are none until their origin is known. */
export class PageAddresses {
  #origin: string | undefined;
  #basePath: string | undefined;

  get origin(): string | undefined {
    return this.#origin;
  }

  /** The address of the server. */
  get server(): string | undefined {
    return this.#origin && this.#origin + (this.#basePath ?? "");
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
    return `Path=${this.#basePath ?? ""}/upstreams/; HttpOnly; SameSite=Lax${this.#origin?.startsWith("https:") === true ? "; Secure" : ""}`;
  }

  /** The first one counts. @throws ToolError `invalid_argument` for an origin that is none */
  serveAt(origin: string): void {
    checkOrigin(origin);
    this.#origin ??= origin;
  }

  /** @throws ToolError `invalid_argument` for another path than before: the pages of each login have one address */
  serveBelow(basePath: string): void {
    this.#basePath ??= basePath;
    if (this.#basePath === basePath) return;
    throw new ToolError(
      "invalid_argument",
      `These logins have their pages ${placeOf(this.#basePath)}, and cannot have them ${placeOf(basePath)} as well.`,
      { hint: "Give them to one of the servers, which has the pages for all. Leave logins out of the others." },
    );
  }

  /** The page that asks whether to go on with a login, from the host on. */
  loginPath(id: string): string {
    return `${this.#basePath ?? ""}${LOGIN_PATH}?id=${id}`;
  }
}

function placeOf(basePath: string): string {
  return basePath === "" ? "at the root of their host" : `below ${quoted(basePath)}`;
}
