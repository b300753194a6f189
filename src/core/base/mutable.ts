/** The fields of an object that is still being made. */
export type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
