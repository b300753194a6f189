/** Finds the private addresses that the program allows by writing them in its options. */
import { isIP } from "node:net";
import { formatForOperator } from "../../core/error.ts";
import { AddressGuard } from "../../net/address-guard.ts";
import { authEntries, type RestOptions } from "./rest-options.ts";

/**
 * `host:port` of every address in the options whose host is an IP address or localhost. Hosts that only a document names are not included, and
 * neither are names that have to be resolved.
 */
export function configuredHosts({
  baseUrl,
  document,
  auth,
}: Pick<RestOptions, "baseUrl" | "auth"> & Partial<Pick<RestOptions, "document">>): readonly string[] {
  const tokens = authEntries(auth).map(([, each]) => (each.type === "oauth2" ? each.tokenUrl : undefined));
  const written = [baseUrl, typeof document === "string" ? document : undefined, ...tokens];
  return written.flatMap((address) => {
    const url = address !== undefined && URL.canParse(address) ? new URL(address) : undefined;
    if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:") || !isAddressLiteral(url.hostname)) return [];
    return [`${url.hostname}:${url.port === "" ? (url.protocol === "https:" ? 443 : 80) : url.port}`];
  });
}

/** Whether the host is an IP address or localhost. */
export function isAddressLiteral(hostname: string): boolean {
  const host = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  return isIP(host) !== 0 || host === "localhost" || host.endsWith(".localhost");
}

/**
 * Warns of each server whose calls would all be refused, as far as this is known without resolving a name.
 *
 * @param bases the base addresses of the operations
 */
export function refusedServers(bases: Iterable<string>, allowPrivate: readonly string[]): readonly string[] {
  const guard = new AddressGuard(allowPrivate, async () => []);
  const origins = new Set(Array.from(bases, (base) => new URL(base).origin));
  return [...origins].flatMap((origin) => {
    try {
      guard.checkUrl(new URL(origin));
      return [];
    } catch (thrown: unknown) {
      return [`Every call of its operations will be refused: ${formatForOperator(thrown)}`];
    }
  });
}
