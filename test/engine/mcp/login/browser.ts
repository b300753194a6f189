/** A browser as far as a login needs one: it follows redirects, keeps cookies by host, and sends the origin of its pages. */

export interface Page {
  readonly status: number;
  readonly url: URL;
  readonly text: string;
}

export class Browser {
  readonly #cookies = new Map<string, Map<string, string>>();
  /** Every address that was visited. */
  readonly visited: URL[] = [];

  readonly #account: string;

  readonly #places: Readonly<Record<string, string>>;

  /**
   * @param account who logs in where an authorization server asks
   * @param places the origins that others are reached at, as a proxy in front of them would
   */
  constructor(account: string, places: Readonly<Record<string, string>> = {}) {
    this.#account = account;
    this.#places = places;
  }

  /** Opens a page and follows redirects, until `stop` says not to visit an address. */
  async open(
    address: string | URL,
    options: { readonly method?: string; readonly origin?: string; readonly stop?: (url: URL) => boolean } = {},
  ): Promise<Page> {
    let url = new URL(address);
    let { method = "GET" } = options;
    for (let hop = 0; hop < 20; hop++) {
      if (options.stop?.(url) === true) return { status: 0, url, text: "" };
      this.visited.push(url);
      const headers: Record<string, string> = { cookie: this.#cookieFor(url) };
      if (method === "POST" && hop === 0) headers["origin"] = options.origin ?? url.origin;
      const response = await fetch(new URL(url.href.replace(url.origin, this.#places[url.origin] ?? url.origin)), {
        method,
        headers,
        redirect: "manual",
      });
      this.#keep(url, response.headers.getSetCookie());
      const location = response.headers.get("location");
      if (location === null) return { status: response.status, url, text: await response.text() };
      await response.body?.cancel();
      url = new URL(location, url);
      method = "GET";
    }
    throw new Error(`redirected for ever: ${this.visited.map(String).join("\n")}`);
  }

  /** Opens the page of a login and presses its button. */
  async logIn(address: string, options: { readonly stop?: (url: URL) => boolean } = {}): Promise<Page> {
    const page = await this.open(address);
    const action = /<form method="post" action="([^"]+)"/u.exec(page.text)?.[1];
    if (action === undefined) return page;
    return await this.open(new URL(action.replaceAll("&amp;", "&"), page.url), { method: "POST", ...options });
  }

  #cookieFor({ host }: URL): string {
    const own = [...(this.#cookies.get(host) ?? [])].map(([name, value]) => `${name}=${value}`);
    return [...own, `account=${this.#account}`].join("; ");
  }

  #keep({ host }: URL, given: readonly string[]): void {
    const own = this.#cookies.get(host) ?? new Map<string, string>();
    for (const each of given) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/u.exec(each) ?? [];
      if (value === "" || /expires=Thu, 01 Jan 1970/iu.test(each)) own.delete(name);
      else own.set(name, value);
    }
    this.#cookies.set(host, own);
  }
}
