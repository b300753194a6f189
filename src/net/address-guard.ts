/** Decides which servers may be called: by address, after the name was resolved, and never by name alone. */
import type { LookupAddress } from "node:dns";
import { BlockList, isIP, isIPv4, type LookupFunction } from "node:net";
import { callbackify } from "node:util";
import { ToolError } from "../core/error.ts";
import { canonicalAddress, isPublicAddress } from "./public-address.ts";

/** Returns all addresses of a name. Rejects with an error whose `code` is `ENOTFOUND` or similar. */
export type ResolveName = (name: string) => Promise<readonly string[]>;

const ENTRY_FAULT =
  'neither a host ("billing.corp.example"), a host with its port ("localhost:8080", "[::1]:8080") nor a network ("10.0.0.0/8")';

/** Returns what is wrong with an entry of `allowPrivate`; undefined = it is a host, a host with its port or a network. */
export function findAllowPrivateFault(entry: string): string | undefined {
  try {
    parseEntry(entry);
    return undefined;
  } catch {
    return `is ${ENTRY_FAULT}.`;
  }
}

/** Allows public addresses, and those that `allowPrivate` lists; see `HttpClientOptions`. */
export class AddressGuard {
  readonly #resolve: ResolveName;
  /** `host` or `host:port`; an IPv6 address has brackets only before a port. */
  readonly #hosts = new Set<string>();
  readonly #networks = new BlockList();

  /** @throws ToolError `invalid_argument` for an entry that is not a host, a host with port or a network */
  constructor(allowPrivate: readonly string[], resolve: ResolveName) {
    this.#resolve = resolve;
    for (const entry of allowPrivate) this.#allow(entry);
  }

  /**
   * Checks everything that needs no name resolution: scheme, user info, a literal address, names of the machine itself.
   *
   * @throws ToolError `permission_denied`
   */
  checkUrl(url: URL): void {
    if (url.protocol !== "http:" && url.protocol !== "https:") {
      throw addressError(`URLs with the scheme "${url.protocol}" are not supported; only http: and https: are.`);
    }
    if (url.username !== "" || url.password !== "") {
      throw addressError(`The URL of ${url.host} contains a user name or password.`, "Send credentials in a header.");
    }
    const host = hostOf(url);
    if (isIP(host) !== 0) this.#checkAddress(url, host);
    else if (isInternalName(host) && !this.#isListed(url) && this.#networks.rules.length === 0)
      throw hostError(url, "is not a public name");
  }

  /**
   * Resolves the name of `url` and returns its addresses if all of them may be called.
   *
   * @throws ToolError `permission_denied`, as a rejection, or the error of the name resolution
   */
  async resolve(url: URL): Promise<readonly string[]> {
    this.checkUrl(url);
    const host = hostOf(url);
    if (isIP(host) !== 0) return [host];
    const addresses = await this.#resolve(host);
    for (const address of addresses) this.#checkAddress(url, address);
    return addresses;
  }

  /**
   * Returns the `lookup` of a socket to `url`. The socket connects to the addresses that were checked, since the name is not resolved a second
   * time. Returns all addresses, as a socket with `autoSelectFamily` expects.
   */
  lookup(url: URL): LookupFunction {
    return (_name, _options, done) => callbackify(() => this.#find(url))(done);
  }

  async #find(url: URL): Promise<LookupAddress[]> {
    const addresses = await this.resolve(url);
    if (addresses.length === 0) throw new ToolError("network_error", `The name ${hostOf(url)} has no address.`, { outcome: "not_started" });
    return addresses.map((address) => ({ address, family: isIP(address) }));
  }

  #checkAddress(url: URL, address: string): void {
    if (this.#isListed(url) || this.#isInNetwork(address)) return;
    const host = hostOf(url);
    if (isInternalName(host)) throw hostError(url, "is not a public name");
    if (!isPublicAddress(address))
      throw hostError(url, host === address ? "is not a public address" : `resolves to ${address}, which is not public`);
  }

  #isListed(url: URL): boolean {
    const host = hostOf(url);
    return this.#hosts.has(host) || this.#hosts.has(withPort(host, portOf(url)));
  }

  #isInNetwork(text: string): boolean {
    const address = canonicalAddress(text);
    return address !== undefined && this.#networks.check(address, isIPv4(address) ? "ipv4" : "ipv6");
  }

  #allow(entry: string): void {
    const parsed = parseEntry(entry);
    if (typeof parsed === "string") this.#hosts.add(parsed);
    else this.#networks.addSubnet(parsed.address, parsed.prefix, isIPv4(parsed.address) ? "ipv4" : "ipv6");
  }
}

interface Network {
  readonly address: string;
  readonly prefix: number;
}

/** Returns a host, with its port where it has one, or a network. @throws ToolError `invalid_argument` */
function parseEntry(entry: string): string | Network {
  const text = entry.trim();
  return text.includes("/") ? parseNetwork(text) : parseHost(text);
}

function parseNetwork(text: string): Network {
  const [address = "", prefix = "", ...rest] = text.split("/");
  const bits = isIPv4(address) ? 32 : 128;
  if (isIP(address) === 0 || !/^\d{1,3}$/u.test(prefix) || Number(prefix) > bits || rest.length > 0) throw invalidEntryError(text);
  return { address, prefix: Number(prefix) };
}

function parseHost(text: string): string {
  if (isIP(text) !== 0) return canonicalAddress(text) ?? text;
  const [, host = "", port] = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/u.exec(text) ?? [];
  const url = URL.canParse(`http://${host}/`) ? new URL(`http://${host}/`) : undefined;
  const name = url === undefined ? "" : hostOf(url);
  // URL accepts characters that no host name has, such as a wildcard, which would never match
  const isHost = isIP(name) !== 0 || /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/u.test(name);
  if (!isHost || (port !== undefined && (Number(port) < 1 || Number(port) > 65_535))) throw invalidEntryError(text);
  return port === undefined ? name : withPort(name, Number(port));
}

/** Returns the host in its canonical form: lower case, without brackets and trailing dots; an address in its canonical spelling. */
function hostOf(url: URL): string {
  const { hostname } = url;
  if (hostname.startsWith("[")) return canonicalAddress(hostname.slice(1, -1)) ?? hostname;
  let end = hostname.length;
  while (hostname.endsWith(".", end)) end--;
  return hostname.slice(0, end).toLowerCase();
}

function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" ? 443 : 80;
}

function withPort(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** True for names of the machine itself or of its metadata service, no matter what a resolver returns for them. */
function isInternalName(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost") || host === "metadata.google.internal";
}

/** Returns `host:port`, as messages name a server. */
export function formatServerName(url: URL): string {
  return withPort(hostOf(url), portOf(url));
}

function hostError(url: URL, why: string): ToolError {
  const server = formatServerName(url);
  return addressError(
    `Calls to ${server} are not allowed: ${hostOf(url)} ${why}.`,
    `To allow this server, list "${server}" in allowPrivate.`,
  );
}

function addressError(message: string, hint?: string): ToolError {
  return new ToolError("permission_denied", message, hint === undefined ? {} : { operatorHint: hint });
}

function invalidEntryError(entry: string): ToolError {
  return new ToolError("invalid_argument", `allowPrivate has ${JSON.stringify(entry)}, which is ${ENTRY_FAULT}.`);
}
