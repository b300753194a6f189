/** What a server is allowed beyond what servers may do by themselves. */

/** A key, and what it allows. */
export type Right = readonly [key: string, what: string];

/** The keys of a server that take caution away, in a configuration as in a descriptor. */
export function serverRights(server: object): readonly Right[] {
  const { allowPrivate, verifyTls, trustAnnotations, trustExtensions, effects } = server as ServerKeys; // each is looked at below
  return [
    ...((allowPrivate ?? []).length === 0 ? [] : [["allowPrivate", `reaches private addresses: ${allowPrivate?.join(", ")}`] as const]),
    ...(verifyTls === false ? [["verifyTls", "accepts any certificate"] as const] : []),
    ...(trustAnnotations === true ? [["trustAnnotations", "believes what the server says of its tools"] as const] : []),
    ...(trustExtensions === true ? [["trustExtensions", "believes what the document says of its operations"] as const] : []),
    ...(takesCautionAway(effects)
      ? [["effects", `says what tools do, so that they may not be asked about: ${Object.keys(effects ?? {}).join(", ")}`] as const]
      : []),
  ];
}

interface ServerKeys {
  readonly allowPrivate?: readonly string[];
  readonly verifyTls?: boolean;
  readonly trustAnnotations?: boolean;
  readonly trustExtensions?: boolean;
  readonly effects?: Readonly<Record<string, { readonly destructive?: boolean }>>;
}

function takesCautionAway(effects: ServerKeys["effects"]): boolean {
  return Object.values(effects ?? {}).some(({ destructive }) => destructive !== true);
}
