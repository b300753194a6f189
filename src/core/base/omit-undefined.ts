type OmitUndefined<T> = { [Key in keyof T as undefined extends T[Key] ? never : Key]: T[Key] } & {
  [Key in keyof T as undefined extends T[Key] ? Key : never]?: Exclude<T[Key], undefined>;
};

/** The members that are set, in their order. For members that the code names, not for names from outside: `__proto__` is not kept. */
export function omitUndefined<T extends object>(members: T): OmitUndefined<T> {
  const set: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(members)) if (value !== undefined) set[key] = value;
  return set as OmitUndefined<T>; // what was undefined is left out
}
