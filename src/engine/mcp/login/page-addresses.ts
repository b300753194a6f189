/** The addresses of the login pages. Requests arrive without the base path of the server. */
import { DOCUMENT_PATH } from "./client-document.ts";
import { quoteValue } from "../../../core/base/wording.ts";
import { ToolError } from "../../../core/error.ts";
import { checkOrigin } from "./logins-options.ts";

export const LOGIN_PATH = "/upstreams/login";
export const CALLBACK_PATH = "/upstreams/callback";

/** The addresses of the pages, undefined until their origin is known. */
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

  /** The redirect address for authorization servers. */
  get callback(): string | undefined {
    return this.server && this.server + CALLBACK_PATH;
  }

  /** The address of the document of the pages' own client. */
  get document(): string | undefined {
    return this.server && this.server + DOCUMENT_PATH;
  }

  /** The attributes of a cookie that is sent only to the pages. */
  get cookieAttributes(): string {
    return `Path=${this.#basePath ?? ""}/upstreams/; HttpOnly; SameSite=Lax${this.#origin?.startsWith("https:") === true ? "; Secure" : ""}`;
  }

  /** Sets the origin, if none was set before. @throws ToolError `invalid_argument` if the text is not an origin */
  setOrigin(origin: string): void {
    checkOrigin(origin);
    this.#origin ??= origin;
  }

  /** @throws ToolError `invalid_argument` for another path than before: the pages of each login have one address */
  setBasePath(basePath: string): void {
    this.#basePath ??= basePath;
    if (this.#basePath === basePath) return;
    throw new ToolError(
      "invalid_argument",
      `These logins have their pages ${describePlace(this.#basePath)}, so they cannot also have them ${describePlace(basePath)}.`,
      { hint: "Pass them to one of the servers, which serves the pages for all, and omit logins from the others." },
    );
  }

  /** The path and query of the page that asks whether to continue with a login. */
  loginPath(id: string): string {
    return `${this.#basePath ?? ""}${LOGIN_PATH}?id=${id}`;
  }
}

function describePlace(basePath: string): string {
  return basePath === "" ? "at the root of their host" : `below ${quoteValue(basePath)}`;
}
