/** The rights of a server beyond those that servers have by themselves. */
import { canonicalAddress, isPublicAddress } from "../../net/public-address.ts";

/** A key, and what it allows. */
export type Right = readonly [key: string, what: string];

/** The keys of a server that take caution away, in a configuration as in a descriptor. */
export function serverRights(server: object): readonly Right[] {
  const { allowPrivate, verifyTls, trustAnnotations, trustExtensions, effects = {} } = server as ServerKeys; // each is looked at below
  return [
    ...addressRights(server),
    ...privateRights(allowPrivate),
    ...rightIf(verifyTls === false, "verifyTls", "accepts any certificate"),
    ...rightIf(trustAnnotations === true, "trustAnnotations", "believes what the server says of its tools"),
    ...rightIf(trustExtensions === true, "trustExtensions", "believes what the document says of its operations"),
    ...rightIf(
      takesCautionAway(effects),
      "effects",
      `says what tools do, so that they may not be asked about: ${Object.keys(effects).join(", ")}`,
    ),
  ];
}

/** The right that a key gives where it is set so; none otherwise. */
export function rightIf(isGiven: boolean, key: string, what: string): readonly Right[] {
  return isGiven ? [[key, what]] : [];
}

export function privateRights(allowPrivate: readonly string[] = []): readonly Right[] {
  return rightIf(allowPrivate.length > 0, "allowPrivate", `reaches private addresses: ${allowPrivate.join(", ")}`);
}

/** A private address that is written as it is needs no `allowPrivate`: naming it is the same right. */
function addressRights(server: object): readonly Right[] {
  return ["url", "baseUrl", "document"].flatMap((key) => {
    const address: unknown = Reflect.get(server, key);
    const host = typeof address === "string" ? privateHost(address) : undefined;
    return host === undefined ? [] : [[key, `reaches the private address ${host}`] as const];
  });
}

/** The host of an address that neither is public, as far as that shows, nor this machine. */
function privateHost(address: string): string | undefined {
  if (!/^https?:/iu.test(address) || !URL.canParse(address) || isLoopback(address)) return undefined;
  const { hostname } = new URL(address);
  const literal = canonicalAddress(withoutBrackets(hostname));
  return literal === undefined || isPublicAddress(literal) ? undefined : hostname;
}

/** @param address of http or https */
export function isLoopback(address: string): boolean {
  const { hostname } = new URL(address);
  if (hostname === "localhost" || hostname.endsWith(".localhost")) return true;
  const literal = canonicalAddress(withoutBrackets(hostname));
  return literal === "::1" || literal?.startsWith("127.") === true;
}

function withoutBrackets(hostname: string): string {
  return hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
}

interface ServerKeys {
  readonly allowPrivate?: readonly string[];
  readonly verifyTls?: boolean;
  readonly trustAnnotations?: boolean;
  readonly trustExtensions?: boolean;
  readonly effects?: Readonly<Record<string, { readonly destructive?: boolean }>>;
}

function takesCautionAway(effects: NonNullable<ServerKeys["effects"]>): boolean {
  return Object.values(effects).some(({ destructive }) => destructive !== true);
}
