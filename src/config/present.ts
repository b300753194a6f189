type Present<T> = { readonly [Key in keyof T]?: Exclude<T[Key], undefined> };

/** The members that are set. */
export function present<T extends object>(members: T): Present<T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Present<T>; // what is left is set
}
