/** Decides which IP addresses are on the public internet. An address that is not known to be public is not. */
import { BlockList, isIP, isIPv4 } from "node:net";

/**
 * Whether an address, such as `8.8.8.8` or `2606:4700::1111`, is on the public internet.
 *
 * False for every special range of the IANA registries (private, loopback, link-local, shared, documentation, multicast, reserved), for the
 * metadata address of Azure machines, and for text that is not an address. An IPv6 address that contains an IPv4 address (mapped, NAT64, 6to4)
 * is judged by the latter.
 *
 * @see https://www.iana.org/assignments/iana-ipv4-special-registry — and iana-ipv6-special-registry
 */
export function isPublicAddress(text: string): boolean {
  const address = canonicalAddress(text);
  if (address === undefined) return false;
  if (isIPv4(address)) return !SPECIAL_IPV4.check(address, "ipv4");
  const groups = groupsOf(address);
  if (isNat64(groups)) return isPublicAddress(toIpv4(groups[6], groups[7]));
  if (groups[0] === 0x2002) return isPublicAddress(toIpv4(groups[1], groups[2]));
  return GLOBAL_UNICAST.check(address, "ipv6") && !SPECIAL_IPV6.check(address, "ipv6");
}

/** Returns the canonical spelling of an address: lower case, compressed, without zone, a mapped IPv4 address as IPv4; undefined for other text. */
export function canonicalAddress(text: string): string | undefined {
  if (isIPv4(text)) return text;
  if (isIP(text) === 0) return undefined;
  const [withoutZone = ""] = text.split("%");
  const address = new URL(`http://[${withoutZone}]/`).hostname.slice(1, -1);
  const groups = groupsOf(address);
  return isMapped(groups) ? toIpv4(groups[6], groups[7]) : address;
}

/** Returns the eight numbers of an IPv6 address as `URL` writes it. */
function groupsOf(address: string): readonly number[] {
  const [head = "", tail] = address.split("::");
  const before = parseGroups(head);
  const after = parseGroups(tail ?? "");
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0);
  return [...before, ...zeros, ...after];
}

function parseGroups(text: string): readonly number[] {
  return text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
}

function isMapped(groups: readonly number[]): boolean {
  return groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
}

/** Only the well-known prefix: addresses under the local one, 64:ff9b:1::/48, may lead anywhere. */
function isNat64(groups: readonly number[]): boolean {
  return groups[0] === 0x64 && groups[1] === 0xff9b && groups.slice(2, 6).every((group) => group === 0);
}

function toIpv4(high = 0, low = 0): string {
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join(".");
}

const SPECIAL_IPV4 = blockList("ipv4", [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "168.63.129.16/32",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
]);

/** Outside of it are loopback, IPv4-compatible, unique local, link-local, site-local, multicast and all unassigned addresses. */
const GLOBAL_UNICAST = blockList("ipv6", ["2000::/3"]);

/** Special ranges of the global unicast range: protocol assignments with Teredo, benchmarks and ORCHID, and the documentation networks. */
const SPECIAL_IPV6 = blockList("ipv6", ["2001::/23", "2001:db8::/32", "3fff::/20"]);

function blockList(family: "ipv4" | "ipv6", networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", prefix = ""] = network.split("/");
    list.addSubnet(address, Number(prefix), family);
  }
  return list;
}
