/** JSON Schemas of the API, written so that their TypeScript types follow from them. */

/** Schemas by name. */
type Schemas = Readonly<Record<string, unknown>>;

type Names<Fields> = readonly (keyof Fields & string)[];

/** An object of a request, all of whose fields are there by default: a field that it does not have is refused. */
export function object<const Fields extends Schemas, const Required extends Names<Fields> = Names<Fields>>(
  properties: Fields,
  required = Object.keys(properties) as unknown as Required, // its own fields
) {
  return { type: "object", properties, required, additionalProperties: false } as const;
}

/** An object of an answer, all of whose fields are there by default: a later version may add others. */
export function answer<const Fields extends Schemas, const Required extends Names<Fields> = Names<Fields>>(
  properties: Fields,
  required = Object.keys(properties) as unknown as Required, // its own fields
) {
  return { type: "object", properties, required } as const;
}

export function array<const Items, const More extends object>(items: Items, more: More = {} as More) {
  return { type: "array", items, ...more } as const;
}

export function text<const More extends object>(description: string, more: More = {} as More) {
  return { type: "string", description, ...more } as const;
}

/** The longest that an answer is held back. Node's `fetch` gives up after 300 s without a head, that of clients and that between servers. */
export const MAX_WAIT_MS = 240_000;

export function integer<const More extends object>(description: string, minimum: number, maximum: number, more: More = {} as More) {
  return { type: "integer", description, minimum, maximum, ...more } as const;
}

export function flag(description: string) {
  return { type: "boolean", description } as const;
}

export function oneOf<const Words extends readonly string[]>(description: string, words: Words) {
  return { type: "string", description, enum: words } as const;
}

/** One of `COMPONENTS`. */
export function ref<const Name extends string>(name: Name) {
  return { $ref: `#/components/schemas/${name}` } as const satisfies { $ref: string };
}

/** Any JSON value. */
export const anyJson = { description: "Any JSON value." } as const;

/** An object of any keys. */
export function record(description: string) {
  return { type: "object", description, additionalProperties: true } as const;
}

/** An id of a call, session, job and the like. */
export function id(description: string) {
  return { type: "string", description, minLength: 1, maxLength: 1_024 } as const;
}

/** Milliseconds since the epoch. */
export function time(description: string) {
  return { type: "number", description: `${description} Milliseconds since 1970-01-01 UTC.` } as const;
}
