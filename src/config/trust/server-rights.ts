/** The rights of a server beyond the default ones. */
import { canonicalAddress, isPublicAddress } from "../../net/public-address.ts";

/** A key, and the right that it gives. */
export type Right = readonly [key: string, what: string];

/** Returns the rights that keys of a server in a configuration or descriptor give. */
export function serverRights(server: object): readonly Right[] {
  const { allowPrivate, verifyTls, trustAnnotations, trustExtensions, effects = {} } = server as ServerKeys; // each is checked below
  return [
    ...addressRights(server),
    ...privateRights(allowPrivate),
    ...rightIf(verifyTls === false, "verifyTls", "accepts any certificate"),
    ...rightIf(trustAnnotations === true, "trustAnnotations", "trusts what the server says about its tools"),
    ...rightIf(trustExtensions === true, "trustExtensions", "trusts what the document says about its operations"),
    ...rightIf(
      reducesCaution(effects),
      "effects",
      `says what tools do, so that they may not be asked about: ${Object.keys(effects).join(", ")}`,
    ),
  ];
}

/** Returns the right that a key gives, or none if it is not given. */
export function rightIf(isGiven: boolean, key: string, what: string): readonly Right[] {
  return isGiven ? [[key, what]] : [];
}

export function privateRights(allowPrivate: readonly string[] = []): readonly Right[] {
  return rightIf(allowPrivate.length > 0, "allowPrivate", `reaches private addresses: ${allowPrivate.join(", ")}`);
}

/** A private address that is written out needs no `allowPrivate`, so it counts as the same right. */
function addressRights(server: object): readonly Right[] {
  return ["url", "baseUrl", "document"].flatMap((key) => {
    const address: unknown = Reflect.get(server, key);
    const host = typeof address === "string" ? privateHost(address) : undefined;
    return host === undefined ? [] : [[key, `reaches the private address ${host}`] as const];
  });
}

/** Returns the host of an address that is known to be neither public nor this machine. */
function privateHost(address: string): string | undefined {
  if (!/^https?:/iu.test(address) || !URL.canParse(address) || isLoopback(address)) return undefined;
  const { hostname } = new URL(address);
  const literal = canonicalAddress(withoutBrackets(hostname));
  return literal === undefined || isPublicAddress(literal) ? undefined : hostname;
}

/** @param address an http or https address */
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

function reducesCaution(effects: NonNullable<ServerKeys["effects"]>): boolean {
  return Object.values(effects).some(({ destructive }) => destructive !== true);
}
